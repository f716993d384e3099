#include "schemata.h"

#include <bit>
#include <cstdio>
#include <optional>

namespace nrd::simnode {
namespace {

using Rest = std::optional<std::string_view>;

// "L3CODE" sets the width on machines that could do CDP, also while it is off.
constexpr size_t kNameWidth = 6;
constexpr const char* kMbLabel = "    MB:";

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
    const std::string cache = machine_.cache_name();
    if (!machine_.shape().cdp && name == cache) return domains(rest, &Parser::cache_mask);
    if (machine_.shape().cdp && name == cache + "DATA") return domains(rest, &Parser::cache_mask);
    if (machine_.shape().cdp && name == cache + "CODE") return domains(rest, &Parser::code_mask);
    if (name == "MB" && machine_.shape().mb) return domains(rest, &Parser::bandwidth);
    return refuse(quoted("Unknown or unsupported resource name '", name, "'"));
  }

  Parsed result(bool valid) { return {valid, status_, settings_}; }

 private:
  using Value = bool (Parser::*)(int domain, std::string_view text);

  bool domains(Rest rest, Value value) {
    while (rest && !rest->empty()) {
      Rest domain = cut(rest, ';');
      const auto id = parse_number(trimmed(*cut(domain, '=')));
      if (!domain || !id) return refuse("Missing '=' or non-numeric domain\n");
      // The kernel says nothing in last_cmd_status about a domain that is not there.
      if (!group_.ways.contains(static_cast<int>(*id))) return false;
      if (!(this->*value)(static_cast<int>(*id), trimmed(*domain))) return false;
    }
    return true;
  }

  bool cache_mask(int domain, std::string_view text) { return mask_into(settings_.ways, domain, text); }
  bool code_mask(int domain, std::string_view text) { return mask_into(settings_.code, domain, text); }

  bool mask_into(std::map<int, Ways>& masks, int domain, std::string_view text) {
    const auto parsed = parse_number(text, 16);
    if (!parsed) return refuse(quoted("Non-hex character in the mask ", text));
    const auto mask = static_cast<Ways>(*parsed);
    if (mask == 0 || mask > full_mask(machine_)) return refuse("Mask out of range\n");
    const Ways run = mask >> std::countr_zero(mask);
    if ((run & (run + 1)) != 0) return refuse(quoted("The mask ", hex(mask), " has non-consecutive 1-bits"));
    const int least = machine_.shape().min_cbm_bits;
    if (std::popcount(mask) < least)
      return refuse(quoted("Need at least ", std::to_string(least), " bits in the mask"));
    if (!masks.emplace(domain, mask).second) return duplicate(domain);
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

  static std::string hex(Ways mask) {
    char text[20];
    std::snprintf(text, sizeof text, "%llx", static_cast<unsigned long long>(mask));
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
std::string row(const char* label, const Values& values, Render render) {
  std::string text = label;
  for (const auto& [domain, value] : values) {
    if (text.back() != ':') text += ';';
    text += std::to_string(domain) + "=" + render(value);
  }
  return text + "\n";
}

std::string label_of(const Machine& machine, const char* kind) {
  const std::string name = machine.cache_name() + kind;
  return std::string(kNameWidth - name.size(), ' ') + name + ":";
}

// A row of each kind of mask there is.
template <typename Render>
std::string cache_rows(const Machine& machine, const Group& group, Render render) {
  if (!machine.shape().cdp) return row(label_of(machine, "").c_str(), group.ways, render);
  return row(label_of(machine, "DATA").c_str(), group.ways, render) +
         row(label_of(machine, "CODE").c_str(), group.code, render);
}

std::string padded(const char* format, int width, unsigned long value) {
  char text[32];
  std::snprintf(text, sizeof text, format, width, value);
  return text;
}

}  // namespace

Ways full_mask(const Machine& machine) { return (Ways{1} << machine.shape().ways) - 1; }

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
  const int digits = (machine.shape().ways + 3) / 4;
  std::string text;
  if (machine.shape().mb) {
    text += row(kMbLabel, group.bandwidth,
                [&machine](unsigned value) { return padded("%*lu", machine.bandwidth().width, value); });
  }
  return text + cache_rows(machine, group, [digits](Ways mask) { return padded("%0*lx", digits, mask); });
}

std::string show_sizes(const Machine& machine, const Group& group) {
  const long way_bytes = machine.cache_bytes() / machine.shape().ways;
  std::string text;
  if (machine.shape().mb) text += row(kMbLabel, group.bandwidth, [](unsigned value) { return std::to_string(value); });
  return text +
         cache_rows(machine, group, [way_bytes](Ways mask) { return std::to_string(way_bytes * std::popcount(mask)); });
}

}  // namespace nrd::simnode
