#include "api/v1/onload/render_json.h"

#include <array>
#include <utility>

#include "base/json/members.h"

namespace nrd {

template <>
inline constexpr auto json::kNames<onload::Form> =
    std::array{std::pair{onload::Form::Json, "json"}, std::pair{onload::Form::Env, "env"},
               std::pair{onload::Form::Systemd, "systemd"}, std::pair{onload::Form::ConfigMap, "configmap"}};

}  // namespace nrd

namespace nrd::v1 {
namespace {

using json::Value;

constexpr size_t kMostVariables = 512;
constexpr size_t kMostText = 4096;  // of a value: LD_PRELOAD may be long
constexpr json::Rules kProfiles{.expected = "a list of profiles such as [\"latency\"]"};
constexpr json::Rules kVariables{.expected = "an object such as {\"EF_POLL_USEC\": \"100000\"}"};

template <typename Items>
Result<void> check_count(const Items& items, const char* field, size_t most) {
  if (items.size() <= most) return {};
  return fail_at(ErrorCode::BadRequest, field, "too many", "at most " + std::to_string(most));
}

Result<void> check_variables(const profiles::Environment& environment) {
  TRY(check_count(environment, "/env", kMostVariables));
  for (const auto& [name, text] : environment) {
    if (name.empty() || name.find('=') != std::string::npos || text.size() > kMostText) {
      return fail_at(ErrorCode::BadRequest, json::pointer("/env", name), "is not a valid variable",
                     "a name without \"=\" and a value of at most 4096 bytes");
    }
  }
  return {};
}

}  // namespace

Result<onload::RenderRequest> parse_render(const Value& body, std::vector<std::string_view> keys) {
  keys.insert(keys.end(), {"profiles", "env", "force"});
  TRY(require_object("", body, "an object"));
  TRY(check_keys(body, "", keys));
  onload::RenderRequest request;
  request.profiles = TRY(json::parse_member(body, "profiles", request.profiles, kProfiles));
  TRY(check_count(request.profiles, "/profiles", kMostProfiles));
  request.environment = TRY(json::parse_member(body, "env", request.environment, kVariables));
  TRY(check_variables(request.environment));
  const bool force = TRY(json::parse_member(body, "force", false));
  request.winner = force ? profiles::Winner::Profiles : profiles::Winner::Caller;
  return request;
}

Result<onload::Form> parse_form(const Value& body) { return json::parse_member(body, "format", onload::Form::Json); }

}  // namespace nrd::v1
