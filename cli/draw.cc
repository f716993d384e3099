#include "cli/draw.h"

#include <algorithm>
#include <map>
#include <vector>

#include "base/control.h"
#include "base/number.h"
#include "base/way_mask.h"

namespace nrd::cli {
namespace {

constexpr char kOs = 'O';
constexpr char kInfra = 'I';
constexpr char kIdle = '.';  // neither granted nor filled by the OS
constexpr char kForeign = 'x';
constexpr char kShared = 'S';  // several owners in one class

std::string text_of(const json::Value* value) {
  if (value == nullptr) return {};
  if (const std::string* text = value->as_string()) return without_controls(*text);
  return value->literal() != nullptr ? *value->literal() : std::string();
}

std::string text_of(const json::Value& object, std::string_view key) { return text_of(object.find(key)); }

WayMask mask_of(const json::Value* ways) {
  return WayMask(ways == nullptr ? 0 : parse_number<uint32_t>(text_of(*ways, "mask"), 16).value_or(0));
}

const std::vector<json::Value>& list_of(const json::Value& object, std::string_view key) {
  static const std::vector<json::Value> kNone;
  const json::Value* list = object.find(key);
  return list == nullptr ? kNone : list->items();
}

// Letters in workload order; they repeat after z, and the legend resolves them.
std::map<std::string, char> letters_of(const json::Value& workloads) {
  constexpr std::string_view kLetters = "ABCDEFGHJKLMNPQRTUVWYZabcdefghijklmnpqrtuvwyz";  // without O, I, S, o, s, x
  std::map<std::string, char> letters;
  size_t next = 0;
  for (const json::Value& workload : workloads.items()) {
    const bool shared = text_of(workload, "pool") == "shared";
    letters[text_of(workload, "id")] = shared ? kShared : kLetters[next++ % kLetters.size()];
  }
  return letters;
}

std::string coloured(char glyph, Colour colour) {
  const std::string text(1, glyph);
  if (colour == Colour::No || glyph == kIdle) return text;
  // Six terminal colours, chosen by letter so that neighbours differ.
  const int number = glyph == kOs ? 37 : 31 + glyph % 6;
  return "\x1b[" + std::to_string(number) + "m" + text + "\x1b[0m";
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
      line += " " + coloured(cells[way], colour) + (way >= 10 ? " " : "");
    }
    return line.substr(0, line.find_last_not_of(' ') + 1);
  }
};

std::string numbers(size_t ways) {
  std::string line;
  for (size_t way = 0; way < ways; ++way) line += " " + std::to_string(way);
  return line;
}

Row owners(const json::Value& cache, size_t ways, const std::map<std::string, char>& letters) {
  Row row{std::vector<char>(ways, kIdle)};
  row.paint(mask_of(cache.find("os")), kOs);
  row.paint(mask_of(cache.find("infra")), kInfra);
  for (const json::Value& group : list_of(cache, "foreign")) {
    const json::Value* const holds = group.find("holds_ways");
    if (holds != nullptr && holds->as_bool() == true) row.paint(mask_of(group.find("ways")), kForeign);
  }
  for (const json::Value& workload : list_of(cache, "workloads")) {
    const auto letter = letters.find(text_of(workload, "id"));
    row.paint(mask_of(workload.find("ways")), letter == letters.end() ? '?' : letter->second);
  }
  return row;
}

Row pools(const json::Value* layout, size_t ways) {
  Row row{std::vector<char>(ways, '-')};
  if (layout == nullptr) return row;
  for (const auto& [pool, glyph] : {std::pair{"os", 'o'}, std::pair{"guarantee", 'g'}, std::pair{"besteffort", 'b'},
                                    std::pair{"shared", 's'}, std::pair{"infra", 'i'}}) {
    row.paint(mask_of(layout->find(pool)), glyph);
  }
  return row;
}

std::string joined_items(const json::Value& workload, const char* key) {
  std::string text;
  for (const json::Value& item : list_of(workload, key)) text += (text.empty() ? "" : ",") + text_of(&item);
  return text;
}

std::string legend(const json::Value& workloads, const std::map<std::string, char>& letters, Colour colour) {
  std::string text =
      "  " + coloured(kOs, colour) + "  OS: the longest run of free ways (COS0)      .  idle      x  foreign\n";
  for (const json::Value& workload : workloads.items()) {
    const std::string id = text_of(workload, "id");
    const std::string uuid = text_of(workload, "uuid");
    text += "  " + coloured(letters.at(id), colour) + "  workload " + id + ": " + text_of(workload, "pool") + ", " +
            (text_of(workload, "cos_name").empty() ? "" : text_of(workload, "cos_name") + ", ") + whom(workload) +
            (ratios_of(workload) == "-" ? "" : ", ratio " + ratios_of(workload)) +
            (uuid.empty() ? "" : ", uuid " + uuid) +
            (text_of(workload, "status") == "Successful" ? "" : ", " + text_of(workload, "status")) + "\n";
  }
  return text + "  pools: o OS floor, g guarantee, b best effort, s shared, i infra\n";
}

}  // namespace

std::string whom(const json::Value& workload) {
  const std::string cpus = joined_items(workload, "core_ids");
  const std::string tasks = joined_items(workload, "task_ids");
  std::string text = cpus.empty() ? "" : "CPUs " + cpus;
  if (!tasks.empty()) text += (text.empty() ? "tasks " : ", tasks ") + tasks;
  return text;
}

std::string ratios_of(const json::Value& workload) {
  const json::Value* granted = workload.find("granted_frequencies");
  if (granted == nullptr || granted->members().empty()) return "-";
  // All CPUs of a request get the same window, unless their hardware differs.
  const json::Value& first = granted->members().front().value;
  const auto bound = [&first](const char* key) {
    const json::Value* value = first.find(key);
    return value != nullptr && value->literal() != nullptr ? *value->literal() : std::string("?");
  };
  const std::string min = bound("min_ratio");
  const std::string max = bound("max_ratio");
  return min == max ? min : min + "-" + max;
}

namespace {

// One of `caches` or of `l2_caches`.
std::string draw_cache(const json::Value& cache, const char* name, const Row& owner, const Row& pool, Colour colour) {
  std::string text = std::string(name) + " " + text_of(cache, "id") + "   socket " + text_of(cache, "socket") +
                     "   CPUs " + text_of(cache, "cpus") + "\n";
  text += "   way " + numbers(owner.cells.size()) + "\n";
  text += " owner " + owner.drawn(colour) + "\n";
  return text + "  pool " + pool.drawn(Colour::No) + "\n\n";
}

// Of "l3_cat" or "l2_cat"; 0: these caches are not allocated.
size_t ways_of(const json::Value* capabilities, const char* level) {
  const json::Value* cat = capabilities == nullptr ? nullptr : capabilities->find(level);
  const json::Value* count = cat == nullptr ? nullptr : cat->find("ways");
  return count == nullptr ? 0 : count->as_unsigned().value_or(0);
}

}  // namespace

std::string draw_ways(const json::Value& node, const json::Value& workloads, Colour colour) {
  const json::Value* capabilities = node.find("capabilities");
  const size_t l2_ways = ways_of(capabilities, "l2_cat");
  const size_t l3_ways = ways_of(capabilities, "l3_cat");
  const size_t ways = l3_ways > 0 ? l3_ways : l2_ways;
  if (ways == 0) {
    std::string text = "This node has no allocatable cache ways.\n";
    if (capabilities == nullptr) return text;
    for (const json::Value& missing : list_of(*capabilities, "missing")) text += "  " + text_of(&missing) + "\n";
    return text;
  }
  const std::map<std::string, char> letters = letters_of(workloads);
  std::string text;
  for (const json::Value& cache : list_of(node, "caches")) {
    text += draw_cache(cache, "cache", owners(cache, ways, letters), pools(node.find("layout"), ways), colour);
  }
  // There is one L2 cache per core; skip unused ones.
  for (const json::Value& cache : list_of(node, "l2_caches")) {
    if (list_of(cache, "workloads").empty() && list_of(cache, "foreign").empty()) continue;
    text +=
        draw_cache(cache, "L2 cache", owners(cache, l2_ways, letters), pools(node.find("l2_layout"), l2_ways), colour);
  }
  return text + legend(workloads, letters, colour);
}

}  // namespace nrd::cli
