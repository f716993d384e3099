#include "api/v1/onload/parse.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <sstream>

#include "api/v1/onload/control_plane_args.h"
#include "base/ascii.h"
#include "base/json/members.h"
#include "base/number.h"
#include "engine/onload/allocation.h"
#include "engine/onload/spec_fields.h"

namespace nrd::v1 {
namespace {

// Bodies that nothing else knows.
struct Rollback {
  std::optional<uint64_t> to;
};
struct ControlPlanePatch {
  std::vector<std::string> parameters;
};

constexpr json::Rules kImportSource{
    .expected = "a path", .allowed = "an absolute path of up to 1024 printable characters", .most = 1024};

}  // namespace
}  // namespace nrd::v1

namespace nrd {

template <>
inline constexpr auto json::kFields<v1::Rollback> =
    std::tuple(Field("to", &v1::Rollback::to, {.expected = "the number of a generation", .most = UINT64_MAX}));
template <>
inline constexpr auto json::kFields<v1::ControlPlanePatch> =
    std::tuple(Field("parameters", &v1::ControlPlanePatch::parameters, {.expected = "an array of strings"}));
template <>
inline constexpr auto json::kFields<v1::Import> = std::tuple(Field("name", &v1::Import::name,
                                                                   {.expected = "the name of a version"}),
                                                             Field("source", &v1::Import::source, v1::kImportSource));

template <>
inline constexpr auto json::kNames<onload::Form> =
    std::array{std::pair{onload::Form::Json, "json"}, std::pair{onload::Form::Env, "env"},
               std::pair{onload::Form::Systemd, "systemd"}, std::pair{onload::Form::ConfigMap, "configmap"}};

}  // namespace nrd

namespace nrd::v1 {
namespace {

using json::Value;
using namespace onload;

constexpr size_t kMaxName = 64;     // of a version, a module, a parameter
constexpr size_t kMaxValue = 1023;  // of a parameter, kernel/params.c
constexpr size_t kMaxParameters = 256;
constexpr size_t kMaxWords = 32;
constexpr size_t kMaxWord = 128;

bool is_name(std::string_view text) { return text.size() <= kMaxName && is_word(text, "_"); }

bool is_printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
}

Failure no_version(const std::string& field, const std::string& name) {
  return fail_at(ErrorCode::BadRequest, field, json::quoted(name, json::kQuoted) + " is not a valid version name",
                 "1 to 64 of letters, digits and ._+-, without a dot at the beginning");
}

Result<void> check_version(const onload::Spec& spec) {
  if (spec.state != State::Loaded) {
    if (spec.version.empty()) return {};
    return fail_at(ErrorCode::BadRequest, "/version", "is allowed only with state \"loaded\"");
  }
  if (spec.version.empty())
    return fail_at(ErrorCode::BadRequest, "/version", "is missing", "GET /v1/onload/versions lists them");
  return is_version(spec.version) ? Result<void>() : no_version("/version", spec.version);
}

Failure no_server_word(const std::string& field) {
  return fail_at(ErrorCode::BadRequest, field, "is not an allowed option of the control plane server",
                 server_options());
}

// Applies the rules of "control_plane" to the module parameter of the same content.
Result<void> check_server_words(const std::string& module, const ModuleParameters& values, const std::string& field) {
  const auto line = values.find("cplane_server_params");
  if (module != "onload" || line == values.end()) return {};
  std::istringstream text(line->second);
  const std::vector<std::string> words{std::istream_iterator<std::string>(text), {}};
  return first_unknown_argument(words) ? no_server_word(field + "/" + line->first) : Result<void>();
}

Result<void> check_values(const std::string& module, const ModuleParameters& values, const std::string& field) {
  for (const auto& [name, value] : values) {
    const std::string at = json::pointer(field, name.substr(0, json::kQuoted));
    if (!is_name(name)) return fail_at(ErrorCode::BadRequest, at, "is not a valid parameter name");
    if (value.size() > kMaxValue || !is_printable(value)) {
      return fail_at(ErrorCode::BadRequest, at, "is not a valid parameter value", "up to 1023 printable characters");
    }
  }
  return check_server_words(module, values, field);
}

Result<void> check_parameters(const Parameters& parameters) {
  size_t count = 0;
  for (const auto& [module, values] : parameters) {
    const std::string at = json::pointer("/parameters", module.substr(0, json::kQuoted));
    if (!is_name(module)) return fail_at(ErrorCode::BadRequest, at, "is not a valid module name");
    TRY(check_values(module, values, at));
    count += values.size();
  }
  if (count <= kMaxParameters) return {};
  return fail_at(ErrorCode::BadRequest, "/parameters", "has too many parameters", "at most 256");
}

Result<void> check_words(const std::string& field, const std::vector<std::string>& words) {
  for (size_t i = 0; i < words.size(); ++i) {
    const bool has_blank = words[i].find(' ') != std::string::npos;
    if (words[i].empty() || words[i].size() > kMaxWord || has_blank || !is_printable(words[i]) || i == kMaxWords) {
      return fail_at(ErrorCode::BadRequest, fmt::format("{}/{}", field, i),
                     "is not a valid argument of the control plane server",
                     "up to 32 strings of up to 128 printable characters without blanks");
    }
  }
  if (const auto strange = first_unknown_argument(words)) return no_server_word(fmt::format("{}/{}", field, *strange));
  return {};
}

constexpr size_t kMostProfiles = 32;  // in one request
constexpr size_t kMostVariables = 512;
constexpr size_t kMostText = 4096;  // of a value: LD_PRELOAD may be long
constexpr json::Rules kProfiles{.expected = "a list of profiles such as [\"latency\"]"};
constexpr json::Rules kVariables{.expected = "an object such as {\"EF_POLL_USEC\": \"100000\"}"};

template <typename Items>
Result<void> check_count(const Items& items, const char* field, size_t most) {
  if (items.size() <= most) return {};
  return fail_at(ErrorCode::BadRequest, field, "too many", fmt::format("at most {}", most));
}

Result<void> check_variables(const profiles::Environment& environment) {
  TRY(check_count(environment, "/env", kMostVariables));
  for (const auto& [name, text] : environment) {
    if (name.empty() || name.find('=') != std::string::npos || text.size() > kMostText) {
      return fail_at(ErrorCode::BadRequest, json::pointer("/env", name.substr(0, json::kQuoted)),
                     "is not a valid variable", "a name without \"=\" and a value of at most 4096 bytes");
    }
  }
  return {};
}

}  // namespace

bool is_version(std::string_view text) {
  return text.size() <= kMaxName && is_word(text, "._+-") && text.front() != '.';
}

Result<onload::Spec> parse_spec(const Value& body) {
  onload::Spec spec = TRY(json::parse_whole<onload::Spec>(body, ""));
  TRY(check_version(spec));
  TRY(check_parameters(spec.parameters));
  TRY(check_words("/control_plane", spec.control_plane));
  return spec;
}

Result<std::optional<uint64_t>> parse_rollback(const Value& body) {
  return json::parse_whole<Rollback>(body, "").map([](const Rollback& rollback) { return rollback.to; });
}

Result<Drain> parse_drain(const Value& body) { return json::parse_whole<Drain>(body, ""); }

Result<ModuleParameters> parse_module_parameters(const std::string& module, const Value& body) {
  if (!is_name(module)) return fail(ErrorCode::NotFound, "module not found");
  ModuleParameters values =
      TRY(json::parse_value<ModuleParameters>(body, "", {.expected = "an object such as {\"name\": \"value\"}"}));
  if (values.empty()) return fail_at(ErrorCode::BadRequest, "", "contains no parameter", "{\"name\": \"value\"}");
  if (values.size() > kMaxParameters)
    return fail_at(ErrorCode::BadRequest, "", "has too many parameters", "at most 256");
  TRY(check_values(module, values, ""));
  return values;
}

Result<std::vector<std::string>> parse_control_plane_patch(const Value& body) {
  std::vector<std::string> words = TRY(json::parse_whole<ControlPlanePatch>(body, "")).parameters;
  TRY(check_words("/parameters", words));
  return words;
}

Result<Freeze> parse_freeze(const Value& body) { return json::parse_whole<Freeze>(body, ""); }

Result<SwitchState> parse_turned(const Value& body, std::string_view key) {
  TRY(require_object("", body, "an object"));
  TRY(check_keys(body, "", {key}));
  const Value* value = body.find(key);
  if (value == nullptr) return fail_at(ErrorCode::BadRequest, json::pointer("", key), "is missing", "true or false");
  const bool is_on = TRY(json::parse_value<bool>(*value, json::pointer("", key), {}));
  return is_on ? SwitchState::On : SwitchState::Off;
}

Result<std::optional<uint64_t>> parse_if_match(const std::string& header) {
  std::string_view tag = header;
  if (tag.empty() || tag == "*") return std::optional<uint64_t>();
  if (tag.size() >= 2 && tag.front() == '"' && tag.back() == '"') tag = tag.substr(1, tag.size() - 2);
  if (const auto number = parse_number<uint64_t>(tag)) return number;
  return fail(ErrorCode::Stale, "precondition failed: If-Match is not the ETag of GET /v1/onload");
}

Result<Import> parse_import(const Value& body) {
  Import import = TRY(json::parse_whole<Import>(body, ""));
  if (!is_version(import.name)) return no_version("/name", import.name);
  if (import.source.starts_with('/') && is_printable(import.source)) return import;
  return fail_at(ErrorCode::BadRequest, "/source", "is not a valid path", kImportSource.allowed);
}

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
