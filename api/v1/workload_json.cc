#include "api/v1/workload_json.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <string_view>
#include <vector>

#include "api/rmd/texts.h"
#include "api/v1/bandwidth_json.h"
#include "api/v1/frequency_json.h"
#include "api/v1/json_validation.h"
#include "api/v1/l2_json.h"
#include "api/v1/onload/workload_onload.h"
#include "api/v1/owner_json.h"
#include "api/v1/task_json.h"
#include "base/ascii.h"
#include "base/control.h"
#include "engine/model/cpu_list_expression.h"
#include "engine/plan/bandwidth.h"

namespace nrd::v1 {
namespace {

using json::Value;

constexpr size_t kMaxCoreIds = CpuSet::kMaxCpus;
constexpr size_t kMaxUuid = 256;
constexpr size_t kMaxId = 128;
constexpr size_t kMaxPolicy = 64;
constexpr std::string_view kCacheExample = "an object such as {\"max\": 2, \"min\": 2}";
constexpr std::string_view kCoresExample = "a list of CPUs such as [\"0\", \"1-3\"]";

enum class Use {
  Read,
  Text,         // a string set by nrd; the client's value is ignored
  Ignored,      // set by nrd; ignored, so that a response can be sent back
  ReadOnly,     // set by nrd; refused, because it would have no effect
  Unsupported,  // must be empty
};

struct Key {
  std::string_view name;
  Use on_post;
  Use on_patch;
  std::string_view why_not = {};  // for Unsupported and ReadOnly
};

constexpr std::array kKeys = {
    Key{"id", Use::Read, Use::Text},
    Key{"core_ids", Use::Read, Use::Read},
    Key{"task_ids", Use::Read, Use::Read},
    Key{"policy", Use::Read, Use::Read},
    Key{"status", Use::Text, Use::Text},
    Key{"cos_name", Use::Text, Use::Text},
    Key{"rdt", Use::Read, Use::Read},
    Key{"cache", Use::Read, Use::Read},
    Key{"l2", Use::Read, Use::Read},
    Key{"pstate", Use::Read, Use::Read},
    Key{"plugins", Use::Read, Use::Read},
    Key{"uuid", Use::Read, Use::Text},
    Key{"origin", Use::Text, Use::Text},
    Key{"owner", Use::Read, Use::Ignored},
    Key{"onload", Use::Read, Use::Read},
    Key{"backend_plugin_info", Use::Unsupported, Use::Unsupported, "plugins are not supported"},
    Key{"pool", Use::ReadOnly, Use::Ignored, "read-only; the pool follows from max and min of cache"},
    Key{"exclusive", Use::ReadOnly, Use::Ignored, "read-only; nrd observes which groups share the ways"},
    Key{"shared_with", Use::ReadOnly, Use::Ignored, "read-only; nrd observes which groups share the ways"},
    Key{"granted_ways", Use::ReadOnly, Use::Ignored, "read-only; nrd chooses the ways"},
    Key{"granted_l2_ways", Use::ReadOnly, Use::Ignored, "read-only; nrd chooses the ways"},
    Key{"granted_frequencies", Use::ReadOnly, Use::Ignored, "read-only; the grant follows from pstate"},
    Key{"granted_bandwidth", Use::ReadOnly, Use::Ignored, "read-only; the grant follows from mba"},
    Key{"throttled_siblings", Use::ReadOnly, Use::Ignored, "read-only; nrd observes which CPUs share a limit"},
    Key{"created", Use::ReadOnly, Use::Ignored, "read-only; nrd sets the time"},
    Key{"updated", Use::ReadOnly, Use::Ignored, "read-only; nrd sets the time"},
};

Result<void> check_member(const json::Member& member, const Key& key, Use use) {
  const std::string field = json::pointer("", member.key);
  switch (use) {
    case Use::Read:
    case Use::Ignored: return {};
    case Use::Text:
      if (member.value.as_string() || member.value.is_null()) return {};
      return wrong_type(field, member.value, "a string");
    case Use::ReadOnly: return fail_at(ErrorCode::BadRequest, field, std::string(key.why_not));
    case Use::Unsupported:
      if (is_absent(member.value)) return {};
      return fail_at(ErrorCode::Unsupported, field, std::string(key.why_not));
  }
  return {};
}

Result<void> check_top_level(const Value& body, Use Key::*use) {
  TRY(require_object("", body, "an object that describes a workload"));
  std::vector<std::string_view> known;
  for (const Key& key : kKeys) known.push_back(key.name);
  for (const json::Member& member : body.members()) {
    const auto key = std::find_if(kKeys.begin(), kKeys.end(), [&](const Key& k) { return k.name == member.key; });
    if (key == kKeys.end()) return unknown_key("", member.key, known);
    TRY(check_member(member, *key, (*key).*use));
  }
  return {};
}

struct Cores {
  std::vector<std::string> ids;
  CpuSet cpus;
};

Result<Cores> parse_cores(const Value& value, CpuId last) {
  constexpr std::string_view kField = "/core_ids";
  if (value.kind() != Value::Kind::Array) return wrong_type(std::string(kField), value, kCoresExample);
  if (value.items().empty()) return rmd::no_cores();
  if (value.items().size() > kMaxCoreIds) {
    return fail_at(ErrorCode::BadRequest, std::string(kField), "too many items",
                   "at most " + std::to_string(kMaxCoreIds));
  }
  Cores cores;
  for (size_t i = 0; i < value.items().size(); ++i) {
    const Value& item = value.items()[i];
    const std::string field = json::pointer(kField, i);
    const std::string* text = item.as_string();
    if (!text) return wrong_type(field, item, "a CPU list as a string such as \"4\" or \"0-3,8\"");
    cores.ids.push_back(*text);
  }
  return parse_core_ids(cores.ids, last).map([&cores](CpuSet cpus) {
    cores.cpus = std::move(cpus);
    return std::move(cores);
  });
}

// The members of one `cache` object.
struct Cache {
  std::optional<uint32_t> max;
  std::optional<uint32_t> min;
  std::optional<uint32_t> code;
  bool is_removed = false;
  bool empty() const { return !max && !min && !code && !is_removed; }
  friend bool operator==(const Cache&, const Cache&) = default;
};

Result<Cache> parse_cache(const Value& value, const std::string& field, Null null) {
  if (value.is_null()) return Cache{.max = {}, .min = {}, .code = {}, .is_removed = null == Null::Removes};
  TRY(require_object(field, value, kCacheExample));
  TRY(check_keys(value, field, {"max", "min", "code"}));
  const auto max = TRY(parse_ways(value, field, "max"));
  const auto min = TRY(parse_ways(value, field, "min"));
  const auto code = TRY(parse_code_ways(value, field));
  return Cache{.max = max, .min = min, .code = code};
}

// `cache` of `rdt`; parse_bandwidth() reads `mba`.
Result<Cache> parse_rdt(const Value& value, Null null) {
  constexpr std::string_view kExample = "an object such as {\"cache\": {\"max\": 2, \"min\": 2}}";
  if (value.is_null()) return parse_cache(value, "/rdt", null);
  TRY(require_object("/rdt", value, kExample));
  TRY(check_keys(value, "/rdt", {"cache", "mba"}));
  const Value* cache = value.find("cache");
  return cache ? parse_cache(*cache, "/rdt/cache", null) : Cache{};
}

// Accepts either shape, or both if they are equal.
Result<Cache> parse_caches(const Value& body, Null null) {
  const Value* rdt = body.find("rdt");
  const Result<Cache> nested = rdt ? parse_rdt(*rdt, null) : Cache{};
  if (!nested) return nested;
  const Value* cache = body.find("cache");
  const Result<Cache> top = cache ? parse_cache(*cache, "/cache", null) : Cache{};
  if (!top || nested->empty()) return top;
  if (!top->empty() && *top != *nested) {
    return fail_at(ErrorCode::BadRequest, "/rdt/cache", "differs from /cache",
                   "either one, or both with the same value");
  }
  return nested;
}

// Empty if the body has none.
Result<std::string> parse_uuid(const Value& body) {
  constexpr std::string_view kAllowed = "a string of at most 256 bytes without control characters";
  const Value* value = body.find("uuid");
  if (!value || value->is_null()) return std::string();
  const std::string* text = value->as_string();
  if (!text) return wrong_type("/uuid", *value, kAllowed);
  bool has_control = false;
  for (size_t i = 0; i < text->size(); ++i) has_control |= control_length(std::string_view(*text).substr(i)) > 0;
  if (text->size() > kMaxUuid || has_control) {
    return fail_at(ErrorCode::BadRequest, "/uuid", "is too long or has control characters", std::string(kAllowed));
  }
  return *text;
}

// Only characters that need no percent-encoding in a path. Empty if the body has none.
Result<std::string> parse_given_id(const Value& body) {
  constexpr std::string_view kAllowed = "a string of at most 128 letters, digits and -_.~:@+";
  constexpr std::string_view kMarks = "-_.~:@+";
  const Value* value = body.find("id");
  if (!value || value->is_null()) return std::string();
  const std::string* text = value->as_string();
  if (!text) return wrong_type("/id", *value, kAllowed);
  const bool is_plain = std::ranges::all_of(*text, [&](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || kMarks.find(c) != kMarks.npos;
  });
  if (is_plain && text->size() <= kMaxId && *text != "." && *text != "..") return *text;
  return fail_at(ErrorCode::BadRequest, "/id", "is too long or has invalid characters", std::string(kAllowed));
}

// Empty if the body has none.
Result<std::string> parse_policy(const Value& body) {
  const Value* value = body.find("policy");
  if (!value || value->is_null()) return std::string();
  const std::string* name = value->as_string();
  if (name && name->size() <= kMaxPolicy) return *name;
  return wrong_type("/policy", *value, "the name of a policy, of at most 64 bytes");
}

void render_granted_ways(json::Writer& w, const Workload& workload, bool of_l2_beside) {
  w.begin_object();
  for (const auto& [id, ways] : workload.grant.ways) {
    if (id.is_secondary_l2 != of_l2_beside) continue;
    w.key(std::to_string(id.value));
    render(w, ways, split_of(workload, id));
  }
  w.end_object();
}

}  // namespace

Result<Spec> parse_spec(const Value& body, CpuId last) {
  TRY(check_top_level(body, &Key::on_post));
  const TaskFields tasks = TRY(parse_task_ids(body, Null::IsAbsent));
  const Value* core_ids = body.find("core_ids");
  const bool has_cores = core_ids && !core_ids->is_null() && !(tasks && is_absent(*core_ids));
  if (!has_cores && !tasks) return rmd::no_cores();
  Cores cores = TRY(has_cores ? parse_cores(*core_ids, last) : Cores{});
  const Cache cache = TRY(parse_caches(body, Null::IsAbsent));
  const bool is_half = cache.max.has_value() != cache.min.has_value() || (cache.code && !cache.max);
  if (is_half) return rmd::half_a_cache();
  FrequencyFields frequency = TRY(parse_frequency(body, Null::IsAbsent));
  const BandwidthFields mba = TRY(parse_bandwidth(body, Null::IsAbsent));
  const auto l2 = parse_l2(body, Null::IsAbsent).and_then(l2_request);
  if (!l2) return Failure(l2.error());
  std::string policy = TRY(parse_policy(body));
  const OnloadRequest onload = TRY(parse_onload(body, Null::IsAbsent));
  const bool is_empty_request =
      cache.empty() && !*l2 && !mba.request && !frequency.request && policy.empty() && !onload.request;
  if (is_empty_request) return rmd::no_parameters();
  std::string uuid = TRY(parse_uuid(body));
  std::string id = TRY(parse_given_id(body));
  return Spec{.uuid = std::move(uuid),
              .core_ids = std::move(cores.ids),
              .cpus = std::move(cores.cpus),
              .policy = std::move(policy),
              .cache = cache.max ? std::optional(CacheRequest{
                                       .max = *cache.max, .min = *cache.min, .code = cache.code.value_or(0)})
                                 : std::nullopt,
              .frequency = std::move(frequency.request),
              .given_id = std::move(id),
              .mba = mba.request,
              .l2 = *l2};
}

Result<SpecPatch> parse_patch(const Value& body, CpuId last) {
  TRY(check_top_level(body, &Key::on_patch));
  SpecPatch patch;
  // As in RMD, null means absent: CPUs can be replaced but not removed.
  if (const Value* core_ids = body.find("core_ids"); core_ids && !core_ids->is_null()) {
    Cores cores = TRY(parse_cores(*core_ids, last));
    patch.core_ids = std::move(cores.ids);
    patch.cpus = std::move(cores.cpus);
  }
  std::string policy = TRY(parse_policy(body));
  patch.policy = std::move(policy);
  const Cache cache = TRY(parse_caches(body, Null::Removes));
  patch.max = cache.max;
  patch.min = cache.min;
  patch.code = cache.code;
  patch.without_cache = cache.is_removed;
  FrequencyFields frequency = TRY(parse_frequency(body, Null::Removes));
  if (frequency.is_named) patch.frequency = std::move(frequency.request);
  const BandwidthFields mba = TRY(parse_bandwidth(body, Null::Removes));
  if (mba.is_named) patch.mba = mba.request;
  const Result<L2Fields> l2 = parse_l2(body, Null::Removes);
  if (!l2) return Failure(l2.error());
  patch.l2_ways = l2->ways;
  patch.l2_code = l2->code;
  patch.without_l2 = l2->is_removed;
  return patch;
}

std::string cos_name(ClosId clos) { return "COS" + std::to_string(clos.value); }

void render(json::Writer& w, WayMask ways, const std::optional<rdt::Split>& split) {
  w.begin_object();
  w.key("mask").string(ways.hex());
  w.key("ways").number(ways.count());
  if (split) {
    w.key("code").string(split->code.hex());
    w.key("data").string(split->data.hex());
  }
  w.end_object();
}

std::string render(Time time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  char text[48];
  std::snprintf(text, sizeof text, "%04d-%02u-%02uT%02d:%02d:%02d.%03dZ", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
                static_cast<int>(clock.seconds().count()), static_cast<int>(clock.subseconds().count()));
  return text;
}

namespace {

// Only for workloads with cache ways.
void render_exclusive(json::Writer& w, const NodeState& state, const Workload& workload) {
  if (!workload.grant.has_class()) return;
  w.key("exclusive").boolean(is_exclusive(state, workload));
  w.key("shared_with").begin_array();
  for (const std::string& group : sharing_groups(state, workload)) w.string(group);
  w.end_array();
}

}  // namespace

void render(json::Writer& w, const NodeState& state, const Workload& workload, const RenderOptions& options) {
  const auto cache = [&] {
    w.key("cache").begin_object();
    if (workload.spec.cache) {
      w.key("max").number(workload.spec.cache->max);
      w.key("min").number(workload.spec.cache->min);
      if (workload.spec.cache->code > 0) w.key("code").number(workload.spec.cache->code);
    }
    w.end_object();
  };
  w.begin_object();
  // RMD's keys, in RMD's order.
  w.key("id").string(options.is_dry_run && !state.workloads.contains(workload.id) ? workload.spec.given_id
                                                                                  : id_text(workload));
  if (!workload.spec.core_ids.empty()) {
    w.key("core_ids").begin_array();
    for (const std::string& item : workload.spec.core_ids) w.string(item);
    w.end_array();
  }
  if (!workload.spec.tasks.empty()) render(w.key("task_ids"), workload.spec.tasks);
  if (!workload.spec.policy.empty()) w.key("policy").string(workload.spec.policy);
  // "Failed": the hardware setting differs from the grant, after an external change or a failed write at startup.
  w.key("status").string(options.is_dry_run ? "None" : is_applied(state, workload) ? "Successful" : "Failed");
  w.key("cos_name").string(workload.grant.has_class() ? cos_name(workload.grant.clos) : "");
  w.key("rdt").begin_object();
  cache();
  render(w.key("mba"), workload.spec.mba);
  w.end_object();
  if (!workload.spec.uuid.empty()) w.key("uuid").string(workload.spec.uuid);
  w.key("origin").string(workload.origin);
  render_plugins(w, workload, options.ratio);
  // RMD 0.2's shape, then nrd's own keys.
  cache();
  render_frequency(w, workload, options.ratio);
  w.key("pool").string(to_string(workload.grant.pool));
  render_exclusive(w, state, workload);
  render_granted_ways(w.key("granted_ways"), workload, false);
  if (workload.spec.l2) {
    render(w.key("l2"), *workload.spec.l2);
    render_granted_ways(w.key("granted_l2_ways"), workload, true);
  }
  if (!workload.grant.bandwidth.empty()) render(w.key("granted_bandwidth"), workload.grant.bandwidth);
  if (const CpuSet siblings = plan::throttled_siblings(state, workload); !siblings.empty())
    w.key("throttled_siblings").string(siblings.to_string());
  render_granted_frequencies(w, workload);
  if (workload.spec.owner) {
    w.key("owner");
    render(w, *workload.spec.owner);
  }
  if (workload.spec.onload) {
    w.key("onload");
    render(w, *workload.spec.onload, options.launch);
  }
  w.key("created").string(render(workload.created));
  w.key("updated").string(render(workload.updated));
  w.end_object();
}

std::string render_workload(const NodeState& state, const Workload& workload, const RenderOptions& options) {
  json::Writer w;
  render(w, state, workload, options);
  return w.take();
}

std::string render_workloads(const NodeState& state) { return render_chosen(state, std::nullopt, std::nullopt); }

std::string render_chosen(const NodeState& state, const std::optional<std::string>& uuid,
                          const std::optional<std::string>& origin) {
  json::Writer w;
  w.begin_array();
  for (const auto& [id, workload] : state.workloads) {
    const bool is_wanted = (!uuid || workload.spec.uuid == *uuid) && (!origin || workload.origin == *origin);
    if (is_wanted) render(w, state, workload);
  }
  w.end_array();
  return w.take();
}

}  // namespace nrd::v1
