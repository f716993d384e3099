#include "schemata.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <optional>

namespace nrd::simnode {
namespace {

using Rest = std::optional<std::string_view>;

// A machine that could do CDP leaves room for "L3CODE" while it is off.
size_t name_width(const Machine& machine) {
  size_t width = machine.shape().mb ? 2 : 0;
  for (const MaskKind& kind : mask_kinds(machine))
    width = std::max(width, kind.name.size() + (machine.shape().cdp_support && !kind.level->cdp ? 4 : 0));
  return width;
}

// Until 6.14 all numbers are as wide as the widest of any resource.
int value_width(const Machine& machine) {
  if (machine.shape().kernel >= Kernel{6, 15}) return 0;
  int width = machine.shape().mb ? machine.bandwidth().width : 0;
  for (const CacheLevel& level : machine.allocated_levels()) width = std::max(width, (level.ways + 3) / 4);
  return width;
}

std::string quoted(const char* before, std::string_view word, const char* after = "") {
  return before + std::string(word) + after + "\n";
}

class Parser {
 public:
  Parser(const Machine& machine, const Group& group, const Clash& clash)
      : machine_(machine), group_(group), clash_(clash) {}

  bool line(std::string_view text) {
    Rest rest = text;
    const std::string_view name = trimmed(*cut(rest, ':'));
    if (!rest) return refuse("Missing ':'\n");
    if (rest->empty()) return refuse(quoted("Missing '", name, "' value"));
    for (const MaskKind& kind : mask_kinds(machine_)) {
      if (name != kind.name) continue;
      const auto& known = group_.masks.at(kind.level->number).*kind.masks;
      auto& wanted = settings_.masks[kind.level->number].*kind.masks;
      return domains(rest, known, [this, &kind, &wanted](int domain, std::string_view value) {
        return mask(*kind.level, wanted, domain, value);
      });
    }
    if (name == "MB" && machine_.shape().mb) {
      if (group_.mode == Mode::LockSetup) return refuse("Cannot pseudo-lock MBA resource\n");
      return domains(rest, group_.bandwidth,
                     [this](int domain, std::string_view value) { return bandwidth(domain, value); });
    }
    return refuse(quoted("Unknown or unsupported resource name '", name, "'"));
  }

  Parsed result(bool valid) { return {valid, status_, settings_}; }

 private:
  template <typename Known, typename Value>
  bool domains(Rest rest, const Known& known, Value value) {
    while (rest && !rest->empty()) {
      Rest domain = cut(rest, ';');
      const auto id = parse_unsigned(*cut(domain, '='));
      if (!domain || !id) return refuse("Missing '=' or non-numeric domain\n");
      // The kernel says nothing in last_cmd_status about a domain that is not there.
      if (!known.contains(static_cast<int>(*id))) return false;
      if (!value(static_cast<int>(*id), trimmed(*domain))) return false;
      if (group_.mode == Mode::LockSetup) return true;  // one region a group, so the rest is not read
    }
    return true;
  }

  bool mask(const CacheLevel& level, std::map<int, Ways>& wanted, int domain, std::string_view text) {
    if (wanted.contains(domain)) return duplicate(domain);
    const auto parsed = parse_unsigned(text, 16);
    if (!parsed) return refuse(quoted("Non-hex character in the mask ", text));
    const auto ways = static_cast<Ways>(*parsed);
    const int least = machine_.min_cbm_bits();
    if ((ways == 0 && least > 0) || ways > level.full_mask()) return refuse("Mask out of range\n");
    const int run = ways == 0 ? 0 : std::countr_one(ways >> std::countr_zero(ways));
    if (run < std::popcount(ways) && !machine_.is_sparse())
      return refuse(quoted("The mask ", hex(ways), " has non-consecutive 1-bits"));
    if (run < least) return refuse(quoted("Need at least ", std::to_string(least), " bits in the mask"));
    if (std::string why = clash_(level, domain, ways); !why.empty()) return refuse(std::move(why));
    wanted[domain] = ways;
    return true;
  }

  bool bandwidth(int domain, std::string_view text) {
    if (settings_.bandwidth.contains(domain)) return duplicate(domain);
    const BandwidthUnits& units = machine_.bandwidth();
    const auto parsed = parse_unsigned(text);
    constexpr unsigned long kMost = 0xffffffff;
    if (!parsed || *parsed > kMost) return refuse(quoted("Invalid MB value ", text));
    const bool is_mbps = units.highest == kMost;
    if (!is_mbps && (*parsed < units.lowest || *parsed > units.highest)) {
      const std::string range = "[" + std::to_string(units.lowest) + "," + std::to_string(units.highest) + "]";
      return refuse(quoted("MB value ", text, (" out of range " + range).c_str()));
    }
    const unsigned long value = is_mbps ? *parsed : (*parsed + units.step - 1) / units.step * units.step;
    settings_.bandwidth[domain] = static_cast<unsigned>(value);
    return true;
  }

  static std::string hex(Ways ways) {
    char text[20];
    std::snprintf(text, sizeof text, "%llx", static_cast<unsigned long long>(ways));
    return text;
  }

  bool duplicate(int domain) { return refuse(quoted("Duplicate domain ", std::to_string(domain))); }

  bool refuse(std::string status) {
    status_ = std::move(status);
    return false;
  }

  const Machine& machine_;
  const Group& group_;
  const Clash& clash_;
  Settings settings_;
  std::string status_;
};

template <typename Values, typename Format>
std::string joined(const Values& values, Format format) {
  std::string text;
  for (const auto& [domain, value] : values)
    text += (text.empty() ? "" : ";") + std::to_string(domain) + "=" + format(value);
  return text;
}

template <typename Values, typename Format>
std::string row(const Machine& machine, const std::string& name, const Values& values, Format format) {
  return std::string(name_width(machine) - name.size(), ' ') + name + ":" + joined(values, format) + "\n";
}

// A row of each kind of mask there is.
template <typename Format>
std::string cache_rows(const Machine& machine, const Group& group, Format format) {
  std::string text;
  for (const MaskKind& kind : mask_kinds(machine)) {
    const CacheLevel& level = *kind.level;
    text += row(machine, kind.name, group.masks.at(level.number).*kind.masks,
                [&level, format](Ways ways) { return format(level, ways); });
  }
  return text;
}

std::string padded(const char* format, int width, unsigned long value) {
  char text[32];
  std::snprintf(text, sizeof text, format, width, value);
  return text;
}

}  // namespace

std::vector<MaskKind> mask_kinds(const Machine& machine) {
  std::vector<MaskKind> kinds;
  for (const CacheLevel& level : machine.allocated_levels()) {
    kinds.push_back({level.name() + (level.cdp ? "DATA" : ""), &level, &Masks::ways});
    if (level.cdp) kinds.push_back({level.name() + "CODE", &level, &Masks::code});
  }
  return kinds;
}

Parsed parse_schemata(std::string_view text, const Machine& machine, const Group& group, const Clash& clash) {
  text.remove_suffix(1);  // the line end
  Parser parser(machine, group, clash);
  Rest rest = text;
  while (const auto line = cut(rest, '\n')) {
    if (!parser.line(*line)) return parser.result(false);
  }
  return parser.result(true);
}

void apply(const Settings& settings, Group& group) {
  for (const auto& [level, masks] : settings.masks) {
    for (const auto& [cache, ways] : masks.ways) group.masks.at(level).ways[cache] = ways;
    for (const auto& [cache, ways] : masks.code) group.masks.at(level).code[cache] = ways;
  }
  for (const auto& [cache, value] : settings.bandwidth) group.bandwidth[cache] = value;
}

std::string mode_name(Mode mode) {
  switch (mode) {
    case Mode::Shareable: return "shareable";
    case Mode::Exclusive: return "exclusive";
    case Mode::LockSetup: return "pseudo-locksetup";
    case Mode::Locked: break;
  }
  return "pseudo-locked";
}

std::string show_masks(const std::map<int, Ways>& masks) {
  return joined(masks, [](Ways ways) { return padded("%*lx", 0, ways); });
}

std::string show_schemata(const Machine& machine, const Group& group) {
  if (group.region) {
    return "L" + std::to_string(group.region->level) + ":" + std::to_string(group.region->cache) + "=" +
           padded("%*lx", 0, group.region->ways) + "\n";
  }
  std::string text;
  const bool is_lock_setup = group.mode == Mode::LockSetup;
  if (is_lock_setup && machine.shape().mb) text += "MB:uninitialized\n";
  for (const MaskKind& kind : mask_kinds(machine)) {
    if (is_lock_setup) text += kind.name + ":uninitialized\n";
  }
  if (is_lock_setup) return text;
  const int width = value_width(machine);
  if (machine.shape().mb) {
    text += row(machine, "MB", group.bandwidth, [width](unsigned value) { return padded("%*lu", width, value); });
  }
  return text +
         cache_rows(machine, group, [width](const CacheLevel&, Ways ways) { return padded("%0*lx", width, ways); });
}

std::string show_sizes(const Machine& machine, const Group& group) {
  if (const auto& region = group.region) {
    const CacheLevel& level = *std::ranges::find(machine.levels(), region->level, &CacheLevel::number);
    const std::map<int, long> size = {{region->cache, level.bytes_of(std::popcount(region->ways))}};
    return row(machine, level.name(), size, [](long bytes) { return std::to_string(bytes); });
  }
  const bool is_lock_setup = group.mode == Mode::LockSetup;
  std::string text;
  if (machine.shape().mb) {
    text += row(machine, "MB", group.bandwidth,
                [is_lock_setup](unsigned value) { return std::to_string(is_lock_setup ? 0 : value); });
  }
  return text + cache_rows(machine, group, [is_lock_setup](const CacheLevel& level, Ways ways) {
           return std::to_string(is_lock_setup ? 0 : level.bytes_of(std::popcount(ways)));
         });
}

}  // namespace nrd::simnode
