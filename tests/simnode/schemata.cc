#include "schemata.h"

#include <bit>
#include <cstdio>
#include <optional>

namespace nrd::simnode {
namespace {

using Rest = std::optional<std::string_view>;

// "L3CODE" sets the width on machines that could do CDP, also while it is off.
constexpr size_t kNameWidth = 6;

std::string quoted(const char* before, std::string_view word, const char* after = "") {
  return before + std::string(word) + after + "\n";
}

class Parser {
 public:
  Parser(const Machine& machine, const Group& group) : machine_(machine), group_(group) {}

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
      const auto id = parse_number(trimmed(*cut(domain, '=')));
      if (!domain || !id) return refuse("Missing '=' or non-numeric domain\n");
      // The kernel says nothing in last_cmd_status about a domain that is not there.
      if (!known.contains(static_cast<int>(*id))) return false;
      if (!value(static_cast<int>(*id), trimmed(*domain))) return false;
    }
    return true;
  }

  bool mask(const CacheLevel& level, std::map<int, Ways>& wanted, int domain, std::string_view text) {
    const auto parsed = parse_number(text, 16);
    if (!parsed) return refuse(quoted("Non-hex character in the mask ", text));
    const auto ways = static_cast<Ways>(*parsed);
    if (ways == 0 || ways > level.full_mask()) return refuse("Mask out of range\n");
    const Ways run = ways >> std::countr_zero(ways);
    if ((run & (run + 1)) != 0) return refuse(quoted("The mask ", hex(ways), " has non-consecutive 1-bits"));
    const int least = machine_.shape().min_cbm_bits;
    if (std::popcount(ways) < least)
      return refuse(quoted("Need at least ", std::to_string(least), " bits in the mask"));
    if (!wanted.emplace(domain, ways).second) return duplicate(domain);
    return true;
  }

  bool bandwidth(int domain, std::string_view text) {
    const BandwidthUnits& units = machine_.bandwidth();
    const auto parsed = parse_number(text);
    if (!parsed) return refuse(quoted("Non-decimal digit in MB value ", text));
    if (*parsed < units.lowest || *parsed > units.highest) {
      const std::string range = "[" + std::to_string(units.lowest) + "," + std::to_string(units.highest) + "]";
      return refuse(quoted("MB value ", text, (" out of range " + range).c_str()));
    }
    const unsigned long value = (static_cast<unsigned long>(*parsed) + units.step - 1) / units.step * units.step;
    if (!settings_.bandwidth.emplace(domain, static_cast<unsigned>(value)).second) return duplicate(domain);
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
  Settings settings_;
  std::string status_;
};

template <typename Values, typename Render>
std::string row(const std::string& name, const Values& values, Render render) {
  std::string text = std::string(kNameWidth - name.size(), ' ') + name + ":";
  for (const auto& [domain, value] : values) {
    if (text.back() != ':') text += ';';
    text += std::to_string(domain) + "=" + render(value);
  }
  return text + "\n";
}

// A row of each kind of mask there is.
template <typename Render>
std::string cache_rows(const Machine& machine, const Group& group, Render render) {
  std::string text;
  for (const MaskKind& kind : mask_kinds(machine)) {
    const CacheLevel& level = *kind.level;
    text += row(kind.name, group.masks.at(level.number).*kind.masks,
                [&level, render](Ways ways) { return render(level, ways); });
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

Parsed parse_schemata(std::string_view text, const Machine& machine, const Group& group) {
  if (text.empty() || text.back() != '\n') return {};
  text.remove_suffix(1);
  Parser parser(machine, group);
  Rest rest = text;
  while (const auto line = cut(rest, '\n')) {
    if (!parser.line(*line)) return parser.result(false);
  }
  return parser.result(true);
}

std::string show_schemata(const Machine& machine, const Group& group) {
  std::string text;
  if (machine.shape().mb) {
    text += row("MB", group.bandwidth,
                [&machine](unsigned value) { return padded("%*lu", machine.bandwidth().width, value); });
  }
  return text + cache_rows(machine, group, [](const CacheLevel& level, Ways ways) {
           return padded("%0*lx", (level.ways + 3) / 4, ways);
         });
}

std::string show_sizes(const Machine& machine, const Group& group) {
  std::string text;
  if (machine.shape().mb) text += row("MB", group.bandwidth, [](unsigned value) { return std::to_string(value); });
  return text + cache_rows(machine, group, [](const CacheLevel& level, Ways ways) {
           return std::to_string(level.way_bytes * std::popcount(ways));
         });
}

}  // namespace nrd::simnode
