#include "api/v1/owner_json.h"

#include <string_view>

#include "api/v1/expect.h"

namespace nrd::v1 {
namespace {

using json::Value;

constexpr uint64_t kLargestPid = uint64_t{1} << 22;  // PID_MAX_LIMIT of the kernel

Result<OwnerWish> parse_wish(const Value& value) {
  constexpr std::string_view kExample = "an object such as {\"pid\": 4711} or {\"caller\": true}";
  if (const auto object = require_object("/owner", value, kExample); !object) return Failure(object.error());
  if (const auto known = check_keys(value, "/owner", {"pid", "caller"}); !known) return Failure(known.error());
  const Value* pid = value.find("pid");
  const Value* caller = value.find("caller");
  if ((pid == nullptr) == (caller == nullptr)) {
    return fail_at(ErrorCode::BadRequest, "/owner", "expected one of pid and caller", std::string(kExample));
  }
  if (caller != nullptr) {
    if (caller->as_bool() == true) return OwnerWish{};
    return fail_at(ErrorCode::BadRequest, "/owner/caller", "expected true, found " + shown(*caller), "true");
  }
  const std::optional<uint64_t> number = pid->as_unsigned();
  if (!number || *number == 0 || *number > kLargestPid) {
    return fail_at(ErrorCode::BadRequest, "/owner/pid", "expected the number of a process, found " + shown(*pid),
                   "1 to " + std::to_string(kLargestPid));
  }
  return OwnerWish{.pid = static_cast<pid_t>(*number)};
}

}  // namespace

Result<std::optional<OwnerWish>> parse_owner(const Value& body) {
  const Value* owner = body.find("owner");
  if (owner == nullptr) return std::optional<OwnerWish>();
  return parse_wish(*owner).map([](const OwnerWish& wish) { return std::optional(wish); });
}

Result<store::Owner> find_owner(const Owners& owners, const OwnerWish& wish, const http::Request& request) {
  if (wish.pid) return owners.identify(*wish.pid);
  const auto& credentials = request.peer->credentials;
  if (credentials && credentials->pid > 0) return owners.identify(credentials->pid);
  return fail_at(ErrorCode::BadRequest, "/owner/caller", "who calls is known over the Unix socket only",
                 "{\"pid\": 4711}");
}

void render(json::Writer& w, const store::Owner& owner) {
  w.begin_object();
  w.key("pid").number(static_cast<uint64_t>(owner.pid));
  w.key("start").number(owner.start);
  w.end_object();
}

}  // namespace nrd::v1
