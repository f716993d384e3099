#include "api/v1/owner_json.h"

#include <string_view>

#include "base/json/validation.h"

namespace nrd::v1 {
namespace {

using json::Value;

constexpr uint64_t kLargestPid = uint64_t{1} << 22;  // PID_MAX_LIMIT of the kernel

Result<OwnerRequest> parse_cgroup_owner(const Value& value) {
  TRY(check_keys(value, "/owner", {"cgroup", "within_seconds"}));
  const Value& cgroup = *value.find("cgroup");
  if (cgroup.as_bool() != true)
    return fail_at(ErrorCode::BadRequest, "/owner/cgroup", "expected true, found " + shown(cgroup), "true");
  CgroupOwner owner;
  if (const Value* within = value.find("within_seconds")) {
    const std::optional<uint64_t> seconds = within->as_unsigned();
    if (!seconds || *seconds == 0 || *seconds > kLongestWithin) {
      return fail_at(ErrorCode::BadRequest, "/owner/within_seconds", "expected seconds, found " + shown(*within),
                     "1 to " + std::to_string(kLongestWithin));
    }
    owner.within_seconds = static_cast<uint32_t>(*seconds);
  }
  return OwnerRequest{.pid = std::nullopt, .start = std::nullopt, .cgroup = owner};
}

Result<OwnerRequest> parse_owner_request(const Value& value) {
  constexpr std::string_view kExample = "an object such as {\"pid\": 4711}, {\"caller\": true} or {\"cgroup\": true}";
  TRY(require_object("/owner", value, kExample));
  TRY(check_keys(value, "/owner", {"pid", "start", "caller", "cgroup", "within_seconds"}));
  if (value.find("cgroup")) return parse_cgroup_owner(value);
  if (value.find("within_seconds"))
    return fail_at(ErrorCode::BadRequest, "/owner/within_seconds", "is only allowed with cgroup", "{\"cgroup\": true}");
  const Value* pid = value.find("pid");
  const Value* caller = value.find("caller");
  if ((pid == nullptr) == (caller == nullptr)) {
    return fail_at(ErrorCode::BadRequest, "/owner", "expected one of pid, caller and cgroup", std::string(kExample));
  }
  const Value* start = value.find("start");
  if (caller != nullptr && start != nullptr) {
    return fail_at(ErrorCode::BadRequest, "/owner/start", "is only allowed with pid", "{\"caller\": true}");
  }
  if (caller != nullptr) {
    if (caller->as_bool() == true) return OwnerRequest{};
    return fail_at(ErrorCode::BadRequest, "/owner/caller", "expected true, found " + shown(*caller), "true");
  }
  const std::optional<uint64_t> number = pid->as_unsigned();
  if (!number || *number == 0 || *number > kLargestPid) {
    return fail_at(ErrorCode::BadRequest, "/owner/pid", "expected a process ID, found " + shown(*pid),
                   "1 to " + std::to_string(kLargestPid));
  }
  OwnerRequest requested{.pid = static_cast<pid_t>(*number)};
  if (start == nullptr) return requested;
  requested.start = start->as_unsigned();
  if (requested.start) return requested;
  return wrong_type("/owner/start", *start, "a whole number: field 22 of /proc/PID/stat");
}

}  // namespace

Result<std::optional<OwnerRequest>> parse_owner(const Value& body) {
  const Value* owner = body.find("owner");
  if (owner == nullptr || owner->is_null()) return std::optional<OwnerRequest>();
  return parse_owner_request(*owner).map([](const OwnerRequest& requested) { return std::optional(requested); });
}

void render(json::Writer& w, const Owner& owner) {
  w.begin_object();
  w.key("pid").number(static_cast<uint64_t>(owner.pid));
  w.key("start").number(owner.start);
  w.end_object();
}

void render(json::Writer& w, const CgroupOwner& owner) {
  w.begin_object();
  w.key("cgroup").boolean(true);
  w.key("within_seconds").number(owner.within_seconds);
  w.end_object();
}

}  // namespace nrd::v1
