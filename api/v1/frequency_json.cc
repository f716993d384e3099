#include "api/v1/frequency_json.h"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>

#include "api/rmd/texts.h"
#include "api/v1/json_validation.h"

namespace nrd::v1 {
namespace {

using json::Value;
using Unit = FrequencyRequest::Unit;
using SharedDomain = FrequencyRequest::SharedDomain;

constexpr std::string_view kExample = "an object such as {\"min_ratio\": 22, \"max_ratio\": 30}";
constexpr size_t kMaxName = 64;  // of a governor or a preference

Result<std::optional<uint32_t>> parse_number(const Value& object, const std::string& parent, std::string_view key) {
  const Value* value = object.find(key);
  if (!value) return std::optional<uint32_t>();
  const std::optional<uint64_t> number = value->as_unsigned();
  if (!number || *number == 0 || *number > std::numeric_limits<uint32_t>::max()) {
    return fail_at(ErrorCode::BadRequest, json::pointer(parent, key),
                   "expected a whole number above 0, found " + shown(*value), "1 to 4294967295");
  }
  return std::optional(static_cast<uint32_t>(*number));
}

Result<std::string> parse_name(const Value& object, const std::string& parent, std::string_view key) {
  const Value* value = object.find(key);
  if (!value || value->is_null()) return std::string();
  const std::string* text = value->as_string();
  if (text && text->size() <= kMaxName) return *text;
  return wrong_type(json::pointer(parent, key), *value, "a string of at most 64 bytes");
}

Result<bool> parse_turbo(const Value& object, const std::string& parent) {
  const Value* value = object.find("turbo");
  if (!value) return true;
  if (const std::optional<bool> turbo = value->as_bool()) return *turbo;
  return wrong_type(json::pointer(parent, "turbo"), *value, "true or false");
}

Result<SharedDomain> parse_shared_domain(const Value& object, const std::string& parent) {
  const std::string text = TRY(parse_name(object, parent, "shared_domain"));
  if (text.empty() || text == "refuse") return SharedDomain::Refuse;
  if (text == "allow") return SharedDomain::Allow;
  return fail_at(ErrorCode::BadRequest, json::pointer(parent, "shared_domain"), "expected \"allow\" or \"refuse\"",
                 "\"allow\" or \"refuse\"");
}

// Bounds in ratios or MHz, not both.
Result<void> parse_bounds(const Value& object, const std::string& parent, FrequencyRequest& request) {
  const bool in_ratio = object.find("min_ratio") || object.find("max_ratio");
  const bool in_mhz = object.find("min_mhz") || object.find("max_mhz");
  if (in_ratio && in_mhz) {
    return fail_at(ErrorCode::BadRequest, parent, "has bounds in two units",
                   "min_ratio and max_ratio, or min_mhz and max_mhz");
  }
  request.unit = in_mhz ? Unit::Mhz : Unit::Ratio;
  const auto min = TRY(parse_number(object, parent, in_mhz ? "min_mhz" : "min_ratio"));
  const auto max = TRY(parse_number(object, parent, in_mhz ? "max_mhz" : "max_ratio"));
  request.min = min;
  request.max = max;
  return {};
}

// Some clients of RMD's operator send the number as a string.
std::optional<double> number_of(const Value& value) {
  if (const std::string* text = value.as_string()) {
    double number = 0;
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
    const bool is_whole = error == std::errc() && end == text->data() + text->size();
    return is_whole && std::isfinite(number) ? std::optional(number) : std::nullopt;
  }
  return value.as_double();
}

// RMD's branch-miss threshold. Encoders write 0 or "" if it is unset.
Result<std::optional<BranchMissThreshold>> parse_threshold(const Value& object, const std::string& parent) {
  const Value* value = object.find("ratio");
  if (!value || is_absent(*value)) return std::optional<BranchMissThreshold>();
  const std::optional<double> percent = number_of(*value);
  if (percent && *percent > 0) return std::optional(BranchMissThreshold{*percent});
  return fail_at(ErrorCode::BadRequest, json::pointer(parent, "ratio"),
                 "expected a number above 0 (branch misses in percent of hits), found " + shown(*value), "above 0");
}

Result<bool> parse_monitoring(const Value& object, const std::string& parent) {
  const std::string text = TRY(parse_name(object, parent, "monitoring"));
  if (text.empty() || text == "on") return true;
  if (text == "off") return false;
  return fail_at(ErrorCode::BadRequest, json::pointer(parent, "monitoring"), "expected \"on\" or \"off\"",
                 "\"on\" or \"off\"");
}

Result<FrequencyFields> parse_pstate(const Value& object, const std::string& parent, Null null) {
  if (object.is_null()) return FrequencyFields{.is_named = null == Null::Removes, .request = {}};
  TRY(require_object(parent, object, kExample));
  TRY(check_keys(object, parent,
                 {"min_ratio", "max_ratio", "min_mhz", "max_mhz", "governor", "epp", "turbo", "shared_domain", "ratio",
                  "monitoring"}));
  FrequencyRequest request;
  TRY(parse_bounds(object, parent, request));
  const std::string governor = TRY(parse_name(object, parent, "governor"));
  const std::string epp = TRY(parse_name(object, parent, "epp"));
  const bool turbo = TRY(parse_turbo(object, parent));
  const SharedDomain shared_domain = TRY(parse_shared_domain(object, parent));
  request.governor = governor;
  request.epp = epp;
  request.turbo = turbo;
  request.shared_domain = shared_domain;
  const auto threshold = TRY(parse_threshold(object, parent));
  const bool monitoring = TRY(parse_monitoring(object, parent));
  const Value* word = object.find("monitoring");
  if (!threshold && word && !is_absent(*word)) {
    return fail_at(ErrorCode::BadRequest, json::pointer(parent, "monitoring"),
                   "requires ratio, the threshold to compare with", "\"ratio\" in the same object");
  }
  request.threshold = threshold;
  request.is_monitored = monitoring || !request.threshold;
  // Encoders write an object of empty values if it is unset.
  if (is_absent(object)) return FrequencyFields{};
  const bool has_request = request.min || request.max || !request.governor.empty() || !request.epp.empty() ||
                           !request.turbo || request.threshold;
  return FrequencyFields{.is_named = true, .request = has_request ? std::optional(std::move(request)) : std::nullopt};
}

// `pstate` of `plugins`; other plugins must be empty.
Result<FrequencyFields> parse_plugins(const Value& plugins, Null null) {
  if (plugins.is_null()) return FrequencyFields{.is_named = null == Null::Removes, .request = {}};
  if (is_absent(plugins) && !plugins.find("pstate")) return FrequencyFields{};
  if (const auto object = require_object("/plugins", plugins, "an object such as {\"pstate\": {\"max_ratio\": 30}}");
      !object) {
    return Failure(object.error());
  }
  for (const json::Member& member : plugins.members()) {
    if (member.key == "pstate" || is_absent(member.value)) continue;
    return rmd::no_such_plugin(json::pointer("/plugins", member.key.substr(0, json::kQuoted)));
  }
  const Value* pstate = plugins.find("pstate");
  return pstate ? parse_pstate(*pstate, "/plugins/pstate", null) : FrequencyFields{};
}

}  // namespace

std::string text_of(BranchMissThreshold threshold) {
  std::array<char, 32> text{};
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), threshold.percent);
  return error == std::errc() ? std::string(text.data(), end) : "0";
}

Result<FrequencyFields> parse_frequency(const Value& body, Null null) {
  const Value* plugins = body.find("plugins");
  Result<FrequencyFields> nested = plugins ? parse_plugins(*plugins, null) : FrequencyFields{};
  if (!nested) return nested;
  const Value* pstate = body.find("pstate");
  Result<FrequencyFields> top = pstate ? parse_pstate(*pstate, "/pstate", null) : FrequencyFields{};
  if (!top || !nested->is_named) return top;
  if (top->is_named && top->request != nested->request) {
    return fail_at(ErrorCode::BadRequest, "/plugins/pstate", "differs from /pstate",
                   "either one, or both with the same value");
  }
  return nested;
}

std::string ratio_literal(const Value& body) {
  const auto in = [](const Value* object, std::string_view key) { return object ? object->find(key) : nullptr; };
  for (const Value* pstate : {in(body.find("plugins"), "pstate"), body.find("pstate")}) {
    const Value* ratio = in(pstate, "ratio");
    if (ratio && ratio->literal() && !is_absent(*ratio)) return *ratio->literal();
  }
  return {};
}

void render_pstate(json::Writer& w, const FrequencyRequest& request, const std::string& ratio) {
  const bool is_ratio = request.unit == Unit::Ratio;
  w.key("pstate").begin_object();
  if (request.min) w.key(is_ratio ? "min_ratio" : "min_mhz").number(*request.min);
  if (request.max) w.key(is_ratio ? "max_ratio" : "max_mhz").number(*request.max);
  if (!request.governor.empty()) w.key("governor").string(request.governor);
  if (!request.epp.empty()) w.key("epp").string(request.epp);
  if (request.threshold) {
    w.key("ratio").raw(ratio.empty() ? text_of(*request.threshold) : ratio);
    w.key("monitoring").string(request.is_monitored ? "on" : "off");
  }
  if (!request.turbo) w.key("turbo").boolean(false);
  if (request.shared_domain == SharedDomain::Allow) w.key("shared_domain").string("allow");
  w.end_object();
}

void render_plugins(json::Writer& w, const Workload& workload, const std::string& ratio) {
  if (!workload.spec.frequency) return;
  w.key("plugins").begin_object();
  render_pstate(w, *workload.spec.frequency, ratio);
  w.end_object();
}

void render_frequency(json::Writer& w, const Workload& workload, const std::string& ratio) {
  if (workload.spec.frequency) render_pstate(w, *workload.spec.frequency, ratio);
}

void render_window(json::Writer& w, KHz min, KHz max) {
  w.key("min_khz").number(min.value);
  w.key("max_khz").number(max.value);
  w.key("min_ratio").number(ratio_of(min).value);
  w.key("max_ratio").number(ratio_of(max).value);
}

void render_granted_frequencies(json::Writer& w, const Workload& workload) {
  if (!workload.spec.frequency) return;
  w.key("granted_frequencies").begin_object();
  for (const auto& [cpu, knobs] : workload.grant.frequencies) {
    w.key(std::to_string(cpu.value)).begin_object();
    render_window(w, knobs.min, knobs.max);
    w.end_object();
  }
  w.end_object();
}

}  // namespace nrd::v1
