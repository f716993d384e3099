#include "daemon/policy_file.h"

#include <fmt/core.h>

#include <limits>
#include <optional>
#include <utility>

#include "api/tree/tree.h"
#include "api/v1/frequency_json.h"
#include "base/control.h"
#include "base/file.h"
#include "base/json/validation.h"
#include "daemon/config.h"
#include "engine/plan/spec.h"

namespace nrd::daemon {
namespace {

using json::Value;

constexpr const char* kPolicies = "/etc/nrd/policy.toml";
constexpr const char* kCpuMap = "/etc/nrd/cpu_map.toml";
constexpr const char* kDefault = "default";
constexpr size_t kPolicyBytes = size_t{256} << 10;
constexpr size_t kMostPolicies = 64;  // of one section
constexpr size_t kMaxName = 64;
constexpr uint32_t kMost = std::numeric_limits<uint32_t>::max();

Result<uint32_t> parse_number(const Value& object, const std::string& parent, std::string_view key, uint32_t least,
                              uint32_t most) {
  const std::string field = json::pointer(parent, key);
  const Value* value = object.find(key);
  if (!value) return fail_at(ErrorCode::BadRequest, field, "is missing");
  const std::optional<uint64_t> number = value->as_unsigned();
  if (number && least <= *number && *number <= most) return static_cast<uint32_t>(*number);
  return fail_at(ErrorCode::BadRequest, field,
                 fmt::format("expected a whole number from {} to {}, found {}", least, most, json::shown(*value)));
}

Result<void> check_object(const Value& value, const std::string& field, const std::vector<std::string_view>& keys) {
  return json::require_object(field, value, "a section").and_then([&] { return json::check_keys(value, field, keys); });
}

Result<CacheRequest> parse_cache(const Value& value, const std::string& field) {
  TRY(check_object(value, field, {"max", "min"}));
  const auto max = TRY(parse_number(value, field, "max", 0, kMost));
  const auto min = TRY(parse_number(value, field, "min", 0, kMost));
  const CacheRequest cache{.max = max, .min = min};
  if (const Result<Pool> pool = plan::pool_of(cache); !pool) {
    return fail_at(ErrorCode::BadRequest, field, pool.error().message);
  }
  return cache;
}

Result<MbaRequest> parse_mba(const Value& value, const std::string& field) {
  TRY(check_object(value, field, {"percentage", "mbps"}));
  const bool in_mbps = value.find("mbps") != nullptr;
  if (in_mbps == (value.find("percentage") != nullptr)) {
    return fail_at(ErrorCode::BadRequest, field, "expected one of percentage and mbps");
  }
  const uint32_t amount = TRY(in_mbps ? parse_number(value, field, "mbps", 1, MbaRequest::kMostMbps)
                                      : parse_number(value, field, "percentage", 1, MbaRequest::kMostPercent));
  return MbaRequest{.unit = in_mbps ? MbaRequest::Unit::Mbps : MbaRequest::Unit::Percentage, .value = amount};
}

Result<Policy> parse_policy(const Value& value, const std::string& field) {
  TRY(check_object(value, field, {"cache", "mba", "pstate"}));
  Policy policy;
  if (const Value* cache = value.find("cache")) {
    policy.cache = TRY(parse_cache(*cache, json::pointer(field, "cache")));
  }
  if (const Value* mba = value.find("mba")) {
    policy.mba = TRY(parse_mba(*mba, json::pointer(field, "mba")));
  }
  if (const Value* pstate = value.find("pstate"); pstate && !pstate->is_null()) {
    const auto frequency = TRY(v1::parse_pstate(*pstate, json::pointer(field, "pstate")));
    policy.frequency = frequency.value_or(std::nullopt);
  }
  if (policy == Policy{})
    return fail_at(ErrorCode::BadRequest, field, "names no resource; expected cache, pstate or mba");
  return policy;
}

bool is_name(const std::string& name) { return !name.empty() && name.size() <= kMaxName && !has_controls(name); }

Result<Policies> parse_section(const Value& section, const std::string& field) {
  TRY(json::require_object(field, section, "a section"));
  if (section.members().size() > kMostPolicies) {
    return fail_at(ErrorCode::BadRequest, field, fmt::format("too many policies; at most {}", kMostPolicies));
  }
  Policies policies;
  for (const json::Member& member : section.members()) {
    const std::string place = json::pointer(field, member.key.substr(0, kMaxName));
    if (!is_name(member.key)) return fail_at(ErrorCode::BadRequest, place, "is not a valid policy name");
    Policy policy = TRY(parse_policy(member.value, place));
    policies.emplace(member.key, std::move(policy));
  }
  return policies;
}

// "/etc/nrd/policy.toml: /skylake/gold/cache/max: ..."
Error in_file(const std::string& name, const Error& error) {
  return {.code = ErrorCode::BadRequest,
          .field = {},
          .message = fmt::format("{}: {}: {}", name, error.field, error.message),
          .detail = {},
          .allowed = {},
          .subject = {}};
}

// Nullopt: not configured, and the default file does not exist.
Result<std::optional<Value>> read_tree(const std::string& named, const char* otherwise) {
  const std::string path = named.empty() ? otherwise : named;
  const Result<std::optional<std::string>> text = read_file(path, kPolicyBytes);
  if (!text) return fail(ErrorCode::BadRequest, fmt::format("{}: cannot read file: {}", path, text.error().detail));
  if (!*text && named.empty()) return std::nullopt;
  if (!*text) return fail(ErrorCode::BadRequest, path + ": file not found");
  const bool is_yaml = path.ends_with(".yaml") || path.ends_with(".yml");
  if (!is_yaml && !path.ends_with(".toml")) {
    return fail(ErrorCode::BadRequest, path + ": expected a file name ending in .toml, .yaml or .yml");
  }
  Value tree = TRY(is_yaml ? tree::of_yaml(**text, path) : tree::of_toml(**text, path));
  return tree;
}

}  // namespace

Result<std::map<std::string, Policies>> parse_policies(const Value& tree, const std::string& name) {
  std::map<std::string, Policies> sections;
  if (!tree.is_object()) return fail(ErrorCode::BadRequest, name + ": expected sections, one for each kind of CPU");
  for (const json::Member& member : tree.members()) {
    Result<Policies> policies = parse_section(member.value, json::pointer("", member.key.substr(0, kMaxName)));
    if (!policies) return Failure(in_file(name, policies.error()));
    sections.emplace(member.key, *std::move(policies));
  }
  return sections;
}

// Ignore `title = "…"`, which RMD's own file contains.
Result<CpuMap> parse_cpu_map(const Value& tree, const std::string& name) {
  CpuMap map;
  for (const json::Member& member : tree.members()) {
    if (member.value.as_string()) continue;
    const std::string field = json::pointer("", member.key.substr(0, kMaxName));
    if (member.value.kind() != Value::Kind::Array) {
      return fail(ErrorCode::BadRequest, fmt::format("{}: {}: expected [[{}]]", name, field, member.key));
    }
    for (size_t i = 0; i < member.value.items().size(); ++i) {
      const Value& item = member.value.items()[i];
      const std::string place = json::pointer(field, i);
      if (const auto checked = check_object(item, place, {"family", "model"}); !checked) {
        return Failure(in_file(name, checked.error()));
      }
      const auto family = parse_number(item, place, "family", 0, kMost);
      if (!family) return Failure(in_file(name, family.error()));
      const auto model = parse_number(item, place, "model", 0, kMost);
      if (!model) return Failure(in_file(name, model.error()));
      const auto [entry, is_new] = map.try_emplace({*family, *model}, member.key);
      if (is_new || entry->second == member.key) continue;
      return fail(ErrorCode::BadRequest, fmt::format("{}: {}: already named {}", name, place, entry->second));
    }
  }
  return map;
}

Result<FoundPolicies> load_policies(const PolicyFiles& files, const Part& part) {
  const auto cpu_map = TRY(read_tree(files.cpu_map, kCpuMap));
  const CpuMap map = TRY(cpu_map ? parse_cpu_map(*cpu_map, files.cpu_map.empty() ? kCpuMap : files.cpu_map) : CpuMap{});
  const auto tree = TRY(read_tree(files.policies, kPolicies));
  if (!tree) return FoundPolicies{};
  const auto sections = TRY(parse_policies(*tree, files.policies.empty() ? kPolicies : files.policies));
  for (const std::string& section : {microarchitecture_of(part, map), std::string(kDefault)}) {
    const auto found = sections.find(section);
    if (found != sections.end()) return FoundPolicies{std::make_shared<const Policies>(found->second), section};
  }
  return FoundPolicies{};
}

Result<Part> read_part() {
  const std::optional<std::string> cpuinfo = TRY(read_file("/proc/cpuinfo", kCpuinfoLimit));
  return part_of(cpuinfo.value_or(""));
}

}  // namespace nrd::daemon
