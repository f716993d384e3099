#include "cli/draw_cpus.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

#include "base/cpu_set.h"
#include "base/find_in.h"
#include "base/number.h"
#include "cli/answer.h"

namespace nrd::cli {
namespace {

constexpr size_t kCoresPerLine = 24;

struct Zone {
  std::string level;
  std::string id;
  CpuSet cpus;
};

CpuSet cpus_in(const json::Value& object, std::string_view key) {
  return CpuSet::parse(text_or_nothing(object, key)).value_or(CpuSet());
}

std::vector<Zone> zones_of(const json::Value& cpus) {
  std::vector<Zone> zones;
  for (const json::Value& zone : part(cpus, "zones").items())
    zones.push_back({text_at(zone, "level"), text_at(zone, "id"), cpus_in(zone, "cpus")});
  return zones;
}

// Letters of the workloads with CPUs, in their order; they repeat after z, and the legend resolves them.
std::map<std::string, char> cpu_letters(const json::Value& cpus) {
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRTUVWXYZabcdefghijklmnpqrstuvwyz";  // without o, S, x
  std::map<std::string, char> letters;
  for (const json::Value& cpu : part(cpus, "cpus").items()) {
    const std::string workload = text_or_nothing(cpu, "workload");
    if (!workload.empty()) letters.try_emplace(workload, kLetters[letters.size() % kLetters.size()]);
  }
  return letters;
}

char glyph_of(const json::Value& cpu, const std::map<std::string, char>& letters) {
  const std::string use = text_at(cpu, "use");
  if (use == "exclusive") {
    const char* letter = find_in(letters, text_or_nothing(cpu, "workload"));
    return letter ? *letter : '?';
  }
  if (use == "idle_sibling") return '-';
  if (use == "shared") return 'S';
  if (use == "free") return '.';
  return use == "offline" ? 'x' : 'o';
}

std::string coloured_cpu(char glyph, Colour colour) { return coloured(glyph, colour, "o-", ".x"); }

std::vector<CpuSet> cores_in(const std::vector<Zone>& zones, const CpuSet& cpus) {
  std::vector<CpuSet> cores;
  CpuSet rest = cpus;
  for (const Zone& zone : zones) {
    if (zone.level != "core" || !zone.cpus.intersects(cpus)) continue;
    cores.push_back(zone.cpus & cpus);
    rest -= zone.cpus;
  }
  for (const CpuId cpu : rest.members()) cores.push_back(CpuSet{cpu.value});
  std::ranges::sort(cores, {}, [](const CpuSet& core) { return core.members().front(); });
  return cores;
}

std::string draw_cores(const std::vector<CpuSet>& cores, const std::map<CpuId, char>& glyphs, Colour colour) {
  std::string text;
  for (size_t i = 0; i < cores.size(); ++i) {
    const std::vector<CpuId> threads = cores[i].members();
    if (i % kCoresPerLine == 0) {
      const std::string number = std::to_string(threads.front().value);
      text += (i == 0 ? "" : "\n") + std::string(8 - std::min<size_t>(number.size(), 7), ' ') + number + " ";
    }
    text += " ";
    for (const CpuId cpu : threads) text += coloured_cpu(glyphs.at(cpu), colour);
  }
  return text + "\n";
}

// "package 0, node 0, L3 1": the coarser zones that have all of these CPUs.
std::string title_of(const std::vector<Zone>& zones, const CpuSet& cpus) {
  std::string title;
  for (const auto& [level, name] :
       {std::pair{"package", "package"}, std::pair{"die", "die"}, std::pair{"node", "node"}, std::pair{"l3", "L3"}}) {
    for (const Zone& zone : zones) {
      if (zone.level != level || !cpus.is_subset_of(zone.cpus)) continue;
      title += fmt::format("{}{} {}", title.empty() ? "" : ", ", name, zone.id);
      break;
    }
  }
  return title.empty() ? "CPUs" : title;
}

// The CPUs that are drawn together: those of an L3 cache, or of a NUMA node, or all.
std::vector<CpuSet> blocks_of(const std::vector<Zone>& zones, CpuSet rest) {
  std::vector<CpuSet> blocks;
  for (const char* level : {"l3", "node"}) {
    for (const Zone& zone : zones) {
      if (zone.level != level || !zone.cpus.intersects(rest)) continue;
      blocks.push_back(zone.cpus & rest);
      rest -= zone.cpus;
    }
  }
  if (!rest.empty()) blocks.push_back(rest);
  return blocks;
}

std::string legend_of(const json::Value& workloads, const std::map<std::string, char>& letters, Colour colour) {
  std::string text;
  for (const json::Value& workload : workloads.items()) {
    const auto letter = letters.find(text_or_nothing(workload, "id"));
    if (letter == letters.end()) continue;
    const json::Value& cpu = part(workload, "cpu");
    const std::string name = text_or_nothing(workload, "name");
    const std::string labels = labels_of(workload);
    const std::string reason = text_or_nothing(cpu.items().empty() ? cpu : cpu.items().front(), "reason");
    text += fmt::format("  {}  workload {}{}: {}{}{}\n", coloured_cpu(letter->second, colour), letter->first,
                        name.empty() ? "" : " (" + name + ")", whom(workload), labels.empty() ? "" : ", " + labels,
                        reason.empty() ? "" : ", " + reason);
  }
  return text + "  o  no pool   .  free in a pool   -  idle sibling   S  shared pool   x  offline\n";
}

std::string text_of_pool(const json::Value& pool) {
  const std::string free = text_or_nothing(pool, "free");
  return fmt::format("  pool {}: {}, CPUs {}{}\n", text_at(pool, "name"), text_at(pool, "kind"), text_at(pool, "cpus"),
                     text_at(pool, "kind") == "shared" ? "" : ", free " + (free.empty() ? "none" : free));
}

// Below their pool: they have no CPUs of their own, and so no letter.
std::string text_of_members(const json::Value& pool, const json::Value& workloads) {
  std::string text;
  if (text_at(pool, "kind") != "shared") return text;
  for (const json::Value& member : part(pool, "workloads").items()) {
    const std::string id = text_in(member);
    const auto workload =
        std::ranges::find(workloads.items(), id, [](const json::Value& each) { return text_or_nothing(each, "id"); });
    const std::string name = workload == workloads.items().end() ? "" : text_or_nothing(*workload, "name");
    text += fmt::format("      workload {}{}\n", id, name.empty() ? "" : " (" + name + ")");
  }
  return text;
}

std::string text_of_conflict(const json::Value& conflict) {
  return fmt::format("  ! {}\n      {}\n", text_at(conflict, "text"), text_at(conflict, "remedy"));
}

std::string text_of_confinement(const json::Value& confine) {
  const std::string kind = text_or_nothing(confine, "kind");
  if (kind.empty() || kind == "none") return {};
  const std::string problem = text_or_nothing(confine, "problem");
  return fmt::format("  rest of the host: CPUs {} ({})\n{}", text_at(confine, "others"), kind,
                     problem.empty() ? "" : "  ! " + problem + "\n");
}

}  // namespace

std::string draw_pool(const json::Value& pool) {
  std::string text = text_of_pool(pool).substr(2);
  for (const json::Member& level : part(pool, "largest").members())
    text += fmt::format("  at most {} CPUs within one {}\n", text_in(level.value), level.key);
  return fmt::format("{}  workloads: {}\n", text, texts_of(part(pool, "workloads")));
}

std::string draw_check(const json::Value& check) {
  std::string text = fmt::format("pool {}, CPUs {}\n", text_at(check, "pool"), text_at(check, "cpus"));
  for (const json::Value& found : part(check, "disturbances").items()) {
    text += fmt::format("  {}, CPUs {}: {}\n      {}\n", text_at(found, "source"), text_at(found, "cpus"),
                        text_at(found, "text"), text_at(found, "remedy"));
  }
  return text + (part(check, "disturbances").items().empty() ? "  nothing found\n" : "");
}

std::string draw_cpus(const CpuDrawing& of, Colour colour) {
  const std::vector<Zone> zones = zones_of(of.cpus);
  const std::map<std::string, char> letters = cpu_letters(of.cpus);
  std::map<CpuId, char> glyphs;
  CpuSet all;
  for (const json::Value& cpu : part(of.cpus, "cpus").items()) {
    const auto number = parse_number<uint32_t>(text_or_nothing(cpu, "cpu"));
    if (!number || *number >= CpuSet::kMaxCpus) continue;
    const CpuId id{*number};
    glyphs[id] = glyph_of(cpu, letters);
    all.add(id);
  }
  std::string text;
  for (const CpuSet& block : blocks_of(zones, all))
    text += title_of(zones, block) + "\n" + draw_cores(cores_in(zones, block), glyphs, colour);
  text += "\n" + legend_of(of.workloads, letters, colour);
  for (const json::Value& pool : of.pools.items()) text += text_of_pool(pool) + text_of_members(pool, of.workloads);
  text += text_of_confinement(part(of.cpus, "confine"));
  for (const json::Value& conflict : part(of.cpus, "conflicts").items()) text += text_of_conflict(conflict);
  return text;
}

}  // namespace nrd::cli
