#include "cli/new_workload.h"

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "base/json/writer.h"
#include "base/number.h"
#include "engine/model/workload_fields.h"

namespace nrd::cli {
namespace {

constexpr std::string_view kMba = "mba";  // below `rdt`
constexpr const char* kCpu = "cpu";

template <typename T>
ResourceOption::Argument argument_of(const json::Option& option) {
  if (option.value != nullptr) return ResourceOption::Argument::None;
  if (std::is_same_v<T, std::vector<std::string>>) return ResourceOption::Argument::Texts;
  // The threshold as the user wrote it: a double would be rounded.
  const bool is_text = std::is_same_v<T, std::string> || std::is_same_v<T, CpuSet> || std::is_enum_v<T> ||
                       std::is_same_v<T, std::optional<BranchMissThreshold>>;
  return is_text ? ResourceOption::Argument::Text : ResourceOption::Argument::Number;
}

template <typename Part>
void add_options(std::vector<ResourceOption>& options, const char* part) {
  const auto add = [&](const auto& field) {
    using Type = typename std::remove_cvref_t<decltype(field)>::Type;
    if (field.option.flag == nullptr) return;
    options.push_back({part, field.name, field.option, argument_of<Type>(field.option)});
  };
  std::apply([&](const auto&... field) { (add(field), ...); }, json::kFields<Part>);
}

// "500m" are thousandths of a CPU, "2" are CPUs.
struct PoolRequest {
  std::string pool{};
  std::string member{};  // empty: no number
  std::string number{};
};

std::optional<PoolRequest> parse_pool(const std::string& text) {
  const size_t equals = text.find('=');
  PoolRequest request{.pool = text.substr(0, equals)};
  if (equals == std::string::npos) return request;
  request.number = text.substr(equals + 1);
  request.member = request.number.ends_with('m') ? "request_milli" : "count";
  if (request.number.ends_with('m')) request.number.pop_back();
  const bool is_valid = !request.pool.empty() && parse_number<uint32_t>(request.number);
  return is_valid ? std::optional(request) : std::nullopt;
}

// The members of an item of `cpu`; `options`: JSON by member, of the first.
void write_pool(json::Writer& w, const std::optional<PoolRequest>& request,
                const std::map<std::string, std::string>& options) {
  w.begin_object();
  if (request) w.key("pool").string(request->pool);
  if (request && !request->member.empty()) w.key(request->member).raw(request->number);
  for (const auto& [member, value] : options) w.key(member).raw(value);
  w.end_object();
}

// An object, or a list of one for each pool.
void write_cpu(json::Writer& w, const NewWorkload& wanted) {
  static const std::map<std::string, std::string> kNone;
  const auto found = wanted.resources.find(kCpu);
  const auto& options = found == wanted.resources.end() ? kNone : found->second;
  if (wanted.pools.size() > 1) w.begin_array();
  if (wanted.pools.empty()) write_pool(w, std::nullopt, options);
  for (size_t i = 0; i < wanted.pools.size(); ++i) write_pool(w, parse_pool(wanted.pools[i]), i == 0 ? options : kNone);
  if (wanted.pools.size() > 1) w.end_array();
}

// The last value of a key counts.
void write_labels(json::Writer& w, const NewWorkload& wanted) {
  std::map<std::string, std::optional<std::string>> labels;
  for (const std::string& label : wanted.labels) {
    const size_t equals = label.find('=');
    labels[label.substr(0, equals)] = equals == std::string::npos ? "" : label.substr(equals + 1);
  }
  for (const std::string& key : wanted.removed_labels) labels[key] = std::nullopt;
  w.begin_object();
  for (const auto& [key, value] : labels) value ? w.key(key).string(*value) : w.key(key).null();
  w.end_object();
}

}  // namespace

const std::vector<ResourceOption>& resource_options() {
  static const std::vector<ResourceOption> options = [] {
    std::vector<ResourceOption> made;
    add_options<CpuRequest>(made, "cpu");
    add_options<CacheRequest>(made, "cache");
    add_options<L2Request>(made, "l2");
    add_options<MbaRequest>(made, "mba");
    add_options<FrequencyRequest>(made, "pstate");
    return made;
  }();
  return options;
}

bool is_pool_request(const std::string& text) { return parse_pool(text).has_value(); }

bool asks_for_pooled_cpus(const NewWorkload& wanted) {
  return !wanted.pools.empty() || wanted.resources.contains(kCpu);
}

// Memory bandwidth requires ways; `shared_domain` requires another member of `pstate`.
bool asks_something(const NewWorkload& wanted) {
  if (!wanted.policy.empty()) return true;
  if (!wanted.pools.empty()) return true;
  return std::ranges::any_of(wanted.resources, [](const auto& part) {
    const auto& [name, members] = part;
    return name != kMba && (members.size() > 1 || !members.contains("shared_domain"));
  });
}

std::string workload_request(const NewWorkload& wanted, const std::string& owner) {
  json::Writer w;
  w.begin_object();
  if (!wanted.cpus.empty()) w.key("core_ids").begin_array().string(wanted.cpus).end_array();
  if (!wanted.tasks.empty()) json::write(w.key("task_ids"), wanted.tasks);
  if (asks_for_pooled_cpus(wanted)) write_cpu(w.key(kCpu), wanted);
  for (const auto& [part, members] : wanted.resources) {
    if (part == kCpu) continue;
    if (part == kMba) w.key("rdt").begin_object();
    w.key(part).begin_object();
    for (const auto& [member, value] : members) w.key(member).raw(value);
    w.end_object();
    if (part == kMba) w.end_object();
  }
  for (const std::string& part : wanted.removed) {
    if (part == kMba) {
      w.key("rdt").begin_object().key(part).null().end_object();
    } else {
      w.key(part).null();
    }
  }
  for (const auto& [key, text] :
       {std::pair{"id", &wanted.id}, std::pair{"uuid", &wanted.uuid}, std::pair{"policy", &wanted.policy},
        std::pair{"name", &wanted.name}, std::pair{"unit", &wanted.unit}, std::pair{"cgroup", &wanted.cgroup}}) {
    if (!text->empty()) w.key(key).string(*text);
  }
  if (!wanted.labels.empty() || !wanted.removed_labels.empty()) write_labels(w.key("labels"), wanted);
  if (wanted.owner == kCgroupOwner) {
    w.key("owner").begin_object().key("cgroup").boolean(true);
    if (wanted.within_seconds) w.key("within_seconds").number(*wanted.within_seconds);
    w.end_object();
  } else if (!wanted.owner.empty()) {
    w.key("owner").begin_object().key("pid").raw(wanted.owner).end_object();
  } else if (!owner.empty()) {
    w.key("owner").raw(owner);
  }
  w.end_object();
  return w.take();
}

}  // namespace nrd::cli
