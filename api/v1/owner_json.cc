#include "api/v1/owner_json.h"

#include <string>
#include <string_view>

#include "base/json/members.h"
#include "base/json/object.h"
#include "base/task.h"

namespace nrd::v1 {
namespace {

// One of pid, caller and cgroup.
struct OwnerMembers {
  std::optional<uint32_t> pid;
  std::optional<uint64_t> start;
  bool caller = false;
  bool cgroup = false;
  std::optional<uint32_t> within_seconds;
};

}  // namespace
}  // namespace nrd::v1

namespace nrd {

template <>
inline constexpr const char* json::kExample<v1::OwnerMembers> =
    "an object such as {\"pid\": 4711}, {\"caller\": true} or {\"cgroup\": true}";
template <>
inline constexpr auto json::kFields<v1::OwnerMembers> =
    std::tuple(Field("pid", &v1::OwnerMembers::pid, {.expected = "a process ID", .least = 1, .most = kLargestPid}),
               Field("start", &v1::OwnerMembers::start,
                     {.expected = "a whole number: field 22 of /proc/PID/stat", .most = UINT64_MAX}),
               Field("caller", &v1::OwnerMembers::caller, {.expected = "true"}),
               Field("cgroup", &v1::OwnerMembers::cgroup, {.expected = "true"}),
               Field("within_seconds", &v1::OwnerMembers::within_seconds,
                     {.expected = "seconds", .least = 1, .most = kLongestWithin}));

}  // namespace nrd

namespace nrd::v1 {
namespace {

using json::Value;

Failure only_with(std::string_view key, const char* other, const char* example) {
  return fail_at(ErrorCode::BadRequest, json::pointer("/owner", key), std::string("is only allowed with ") + other,
                 example);
}

Result<OwnerRequest> parse_owner_request(const Value& value) {
  const auto members = TRY(json::parse_members<OwnerMembers>(value, "/owner"));
  const OwnerMembers& named = members.values;
  for (const char* key : {"caller", "cgroup"}) {
    if (json::has(members, key) && value.find(key)->as_bool() == false)
      return fail_at(ErrorCode::BadRequest, json::pointer("/owner", key), "expected true, found false", "true");
  }
  if (named.within_seconds && !named.cgroup) return only_with("within_seconds", "cgroup", "{\"cgroup\": true}");
  if (int{named.pid.has_value()} + int{named.caller} + int{named.cgroup} != 1)
    return fail_at(ErrorCode::BadRequest, "/owner", "expected one of pid, caller and cgroup",
                   json::kExample<OwnerMembers>);
  if (named.start && !named.pid) return only_with("start", "pid", "{\"pid\": 4711}");
  OwnerRequest requested{.pid = std::nullopt, .start = named.start};
  if (named.pid) requested.pid = static_cast<pid_t>(*named.pid);
  if (named.cgroup) requested.cgroup.emplace();
  if (named.within_seconds) requested.cgroup->within_seconds = *named.within_seconds;
  return requested;
}

}  // namespace

Result<std::optional<OwnerRequest>> parse_owner(const Value& body) {
  const Value* owner = body.find("owner");
  if (owner == nullptr || owner->is_null()) return std::optional<OwnerRequest>();
  return parse_owner_request(*owner).map([](const OwnerRequest& requested) { return std::optional(requested); });
}

void to_json(json::Writer& w, const Owner& owner) {
  json::write_object(w, {{"pid", owner.pid}, {"start", owner.start}});
}

void to_json(json::Writer& w, const CgroupOwner& owner) {
  json::write_object(w, {{"cgroup", true}, {"within_seconds", owner.within_seconds}});
}

}  // namespace nrd::v1
