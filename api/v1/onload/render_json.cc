#include "api/v1/onload/render_json.h"

#include <array>
#include <utility>

#include "api/v1/flag_json.h"
#include "base/json/validation.h"

namespace nrd::v1 {
namespace {

using json::Value;

constexpr size_t kMostVariables = 512;
constexpr size_t kMostText = 4096;  // of a value: LD_PRELOAD may be long

constexpr std::array<std::pair<std::string_view, onload::Form>, 4> kForms{{{"json", onload::Form::Json},
                                                                           {"env", onload::Form::Env},
                                                                           {"systemd", onload::Form::Systemd},
                                                                           {"configmap", onload::Form::ConfigMap}}};

Result<std::vector<std::string>> parse_names(const Value& value) {
  constexpr std::string_view kExample = "a list of profiles such as [\"latency\"]";
  if (value.kind() != Value::Kind::Array) return wrong_type("/profiles", value, kExample);
  if (value.items().size() > kMostProfiles) {
    return fail_at(ErrorCode::BadRequest, "/profiles", "too many", "at most " + std::to_string(kMostProfiles));
  }
  std::vector<std::string> names;
  for (size_t i = 0; i < value.items().size(); ++i) {
    const std::string* name = value.items()[i].as_string();
    if (name == nullptr) return wrong_type(json::pointer("/profiles", i), value.items()[i], "the name of a profile");
    names.push_back(*name);
  }
  return names;
}

Result<profiles::Environment> parse_variables(const Value& value) {
  constexpr std::string_view kExample = "an object such as {\"EF_POLL_USEC\": \"100000\"}";
  TRY(require_object("/env", value, kExample));
  if (value.members().size() > kMostVariables) {
    return fail_at(ErrorCode::BadRequest, "/env", "too many", "at most " + std::to_string(kMostVariables));
  }
  profiles::Environment environment;
  for (const json::Member& member : value.members()) {
    const std::string field = json::pointer("/env", member.key);
    const std::string* text = member.value.as_string();
    if (text == nullptr) return wrong_type(field, member.value, "a string");
    if (member.key.empty() || member.key.find('=') != std::string::npos || text->size() > kMostText) {
      return fail_at(ErrorCode::BadRequest, field, "is not a valid variable",
                     "a name without \"=\" and a value of at most 4096 bytes");
    }
    environment.emplace(member.key, *text);
  }
  return environment;
}

}  // namespace

Result<onload::RenderRequest> parse_render(const Value& body, std::vector<std::string_view> keys) {
  keys.insert(keys.end(), {"profiles", "env", "force"});
  TRY(require_object("", body, "an object"));
  TRY(check_keys(body, "", keys));
  onload::RenderRequest request;
  if (const Value* names = body.find("profiles")) {
    request.profiles = TRY(parse_names(*names));
  }
  if (const Value* variables = body.find("env")) {
    request.environment = TRY(parse_variables(*variables));
  }
  const bool force = TRY(parse_flag(body, "force", false));
  request.winner = force ? profiles::Winner::Profiles : profiles::Winner::Caller;
  return request;
}

Result<onload::Form> parse_form(const Value& body) {
  const Value* form = body.find("format");
  if (form == nullptr) return onload::Form::Json;
  const std::string* text = form->as_string();
  for (const auto& [word, known] : kForms) {
    if (text != nullptr && *text == word) return known;
  }
  return fail_at(ErrorCode::BadRequest, "/format", "expected a format, found " + shown(*form),
                 "json, env, systemd, configmap");
}

}  // namespace nrd::v1
