#include "cli/draw.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <vector>

#include "base/joined.h"
#include "base/number.h"
#include "base/way_mask.h"
#include "cli/answer.h"

namespace nrd::cli {

std::string coloured(char glyph, Colour colour, std::string_view grey, std::string_view plain) {
  const std::string text(1, glyph);
  if (colour == Colour::No || plain.find(glyph) != std::string_view::npos) return text;
  const int number = grey.find(glyph) != std::string_view::npos ? 37 : 31 + glyph % 6;
  return "\x1b[" + std::to_string(number) + "m" + text + "\x1b[0m";
}

namespace {

constexpr char kOs = 'O';
constexpr char kInfra = 'I';
constexpr char kIdle = '.';  // neither granted nor filled by the OS
constexpr char kForeign = 'x';
constexpr char kShared = 'S';  // several owners in one class

WayMask mask_of(const json::Value& object, std::string_view key) {
  return WayMask(parse_number<uint32_t>(text_or_nothing(part(object, key), "mask"), 16).value_or(0));
}

// Letters in workload order; they repeat after z, and the legend resolves them.
std::map<std::string, char> letters_of(const json::Value& workloads) {
  constexpr std::string_view kLetters = "ABCDEFGHJKLMNPQRTUVWYZabcdefghijklmnpqrtuvwyz";  // without O, I, S, o, s, x
  std::map<std::string, char> letters;
  size_t next = 0;
  for (const json::Value& workload : workloads.items()) {
    const bool shared = text_or_nothing(workload, "pool") == "shared";
    letters[text_or_nothing(workload, "id")] = shared ? kShared : kLetters[next++ % kLetters.size()];
  }
  return letters;
}

std::string coloured_way(char glyph, Colour colour) {
  return coloured(glyph, colour, std::string_view(&kOs, 1), std::string_view(&kIdle, 1));
}

struct Row {
  std::vector<char> cells;
  void paint(WayMask ways, char glyph) {
    for (unsigned way = 0; way < cells.size(); ++way) {
      if (ways.contains(WayMask::run(way, 1))) cells[way] = glyph;
    }
  }
  std::string drawn(Colour colour) const {
    std::string line;
    for (unsigned way = 0; way < cells.size(); ++way) {
      // Pad to the width of the way number above.
      line += fmt::format(" {}{}", coloured_way(cells[way], colour), way >= 10 ? " " : "");
    }
    return line.substr(0, line.find_last_not_of(' ') + 1);
  }
};

std::string numbers(size_t ways) {
  std::string line;
  for (size_t way = 0; way < ways; ++way) line += fmt::format(" {}", way);
  return line;
}

Row owners(const json::Value& cache, size_t ways, const std::map<std::string, char>& letters) {
  Row row{std::vector<char>(ways, kIdle)};
  row.paint(mask_of(cache, "os"), kOs);
  row.paint(mask_of(cache, "infra"), kInfra);
  for (const json::Value& group : part(cache, "foreign").items()) {
    if (is_true(group, "holds_ways")) row.paint(mask_of(group, "ways"), kForeign);
  }
  for (const json::Value& workload : part(cache, "workloads").items()) {
    const auto letter = letters.find(text_or_nothing(workload, "id"));
    row.paint(mask_of(workload, "ways"), letter == letters.end() ? '?' : letter->second);
  }
  return row;
}

Row pools(const json::Value& layout, size_t ways) {
  Row row{std::vector<char>(ways, '-')};
  for (const auto& [pool, glyph] : {std::pair{"os", 'o'}, std::pair{"guarantee", 'g'}, std::pair{"besteffort", 'b'},
                                    std::pair{"shared", 's'}, std::pair{"infra", 'i'}}) {
    row.paint(mask_of(layout, pool), glyph);
  }
  return row;
}

std::string legend(const json::Value& workloads, const std::map<std::string, char>& letters, Colour colour) {
  std::string text = fmt::format("  {}  OS: the longest run of free ways (COS0)      .  idle      x  foreign\n",
                                 coloured_way(kOs, colour));
  for (const json::Value& workload : workloads.items()) {
    const std::string id = text_or_nothing(workload, "id");
    const std::string uuid = text_or_nothing(workload, "uuid");
    const std::string name = text_or_nothing(workload, "name");
    const std::string labels = labels_of(workload);
    text += fmt::format(
        "  {}  workload {}: {}, {}{}{}{}{}{}{}\n", coloured_way(letters.at(id), colour), id,
        text_or_nothing(workload, "pool"),
        text_or_nothing(workload, "cos_name").empty() ? "" : text_or_nothing(workload, "cos_name") + ", ",
        whom(workload), ratios_of(workload) == "-" ? "" : ", ratio " + ratios_of(workload),
        name.empty() ? "" : ", name " + name, labels.empty() ? "" : ", " + labels, uuid.empty() ? "" : ", uuid " + uuid,
        text_or_nothing(workload, "status") == "Successful" ? "" : ", " + text_or_nothing(workload, "status"));
  }
  return text + "  pools: o OS floor, g guarantee, b best effort, s shared, i infra\n";
}

}  // namespace

std::string whom(const json::Value& workload) {
  const json::Value& cpu = part(workload, "cpu");
  const std::string cpus = cpu.is_object() ? text_at(cpu, "cpus") : texts_of(part(workload, "core_ids"));
  const std::string pools = joined(cpu.items(), ", ", [](const json::Value& each) {
    return fmt::format("{} of pool {}", text_at(each, "cpus"), text_at(each, "pool"));
  });
  const std::string tasks = texts_of(part(workload, "task_ids"));
  std::string text = !pools.empty() ? "CPUs " + pools : cpus == "-" ? "" : "CPUs " + cpus;
  if (cpu.is_object()) text += " of pool " + text_at(cpu, "pool");
  if (tasks != "-") text += (text.empty() ? "tasks " : ", tasks ") + tasks;
  for (const char* group : {"unit", "cgroup"}) {
    if (const std::string name = text_or_nothing(workload, group); !name.empty())
      text += (text.empty() ? "" : ", ") + name;
  }
  return text;
}

std::string labels_of(const json::Value& workload) {
  return joined(part(workload, "labels").members(), ",", [](const json::Member& label) {
    return text_in(json::Value::string(label.key)) + "=" + text_in(label.value);
  });
}

std::string ratios_of(const json::Value& workload) {
  const auto& granted = part(workload, "granted_frequencies").members();
  if (granted.empty()) return "-";
  // All CPUs of a request get the same window, unless their hardware differs.
  const json::Value& first = granted.front().value;
  const auto bound = [&first](const char* key) {
    const json::Value& value = part(first, key);
    return value.literal() != nullptr ? *value.literal() : std::string("?");
  };
  const std::string min = bound("min_ratio");
  const std::string max = bound("max_ratio");
  return min == max ? min : min + "-" + max;
}

namespace {

// One of `caches` or of `l2_caches`.
std::string draw_cache(const json::Value& cache, const char* name, const Row& owner, const Row& pool, Colour colour) {
  std::string text = fmt::format("{} {}   socket {}   CPUs {}\n", name, text_or_nothing(cache, "id"),
                                 text_or_nothing(cache, "socket"), text_or_nothing(cache, "cpus"));
  text += fmt::format("   way {}\n", numbers(owner.cells.size()));
  text += fmt::format(" owner {}\n", owner.drawn(colour));
  return fmt::format("{}  pool {}\n\n", text, pool.drawn(Colour::No));
}

// Of "l3_cat" or "l2_cat"; 0: these caches are not allocated.
size_t ways_of(const json::Value& capabilities, const char* level) {
  return std::min<uint64_t>(part(part(capabilities, level), "ways").as_unsigned().value_or(0), WayMask::kMaxWays);
}

}  // namespace

std::string draw_ways(const json::Value& node, const json::Value& workloads, Colour colour) {
  const json::Value& capabilities = part(node, "capabilities");
  const size_t l2_ways = ways_of(capabilities, "l2_cat");
  const size_t l3_ways = ways_of(capabilities, "l3_cat");
  const size_t ways = l3_ways > 0 ? l3_ways : l2_ways;
  if (ways == 0) {
    std::string text = "This node has no allocatable cache ways.\n";
    for (const json::Value& missing : part(capabilities, "missing").items())
      text += fmt::format("  {}\n", text_in(missing));
    return text;
  }
  const std::map<std::string, char> letters = letters_of(workloads);
  std::string text;
  for (const json::Value& cache : part(node, "caches").items()) {
    text += draw_cache(cache, "cache", owners(cache, ways, letters), pools(part(node, "layout"), ways), colour);
  }
  // There is one L2 cache per core; skip unused ones.
  for (const json::Value& cache : part(node, "l2_caches").items()) {
    if (part(cache, "workloads").items().empty() && part(cache, "foreign").items().empty()) continue;
    text +=
        draw_cache(cache, "L2 cache", owners(cache, l2_ways, letters), pools(part(node, "l2_layout"), l2_ways), colour);
  }
  return text + legend(workloads, letters, colour);
}

}  // namespace nrd::cli
