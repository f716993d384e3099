#include "api/v1/onload/parse.h"

#include <algorithm>
#include <iterator>
#include <sstream>

#include "api/v1/onload/control_plane_args.h"
#include "api/v1/workload_json.h"
#include "base/json/validation.h"
#include "base/number.h"
#include "engine/onload/enum_names.h"

namespace nrd::v1 {
namespace {

using json::Value;
using namespace onload;

constexpr size_t kMaxName = 64;     // of a version, a module, a parameter
constexpr size_t kMaxValue = 1023;  // of a parameter, kernel/params.c
constexpr size_t kMaxParameters = 256;
constexpr size_t kMaxWords = 32;
constexpr size_t kMaxWord = 128;
constexpr uint64_t kLongestDrain = 86400;
constexpr size_t kMaxReason = 200;
constexpr size_t kMaxPath = 1024;

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= kMaxName && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

bool is_printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
}

// A named enumerator; `otherwise` if absent.
template <typename Enum>
Result<Enum> parse_word(const Value& object, std::string_view key, Enum otherwise) {
  const Value* value = object.find(key);
  if (value == nullptr) return otherwise;
  const std::string* text = value->as_string();
  if (text == nullptr) return wrong_type("/" + std::string(key), *value, "a string");
  if (const std::optional<Enum> found = onload::parse<Enum>(*text)) return *found;
  return fail_at(ErrorCode::BadRequest, "/" + std::string(key), shown(*value) + " is not an allowed value",
                 all_words<Enum>());
}

Failure no_version(const std::string& field, const Value& value) {
  return fail_at(ErrorCode::BadRequest, field, shown(value) + " is not a valid version name",
                 "1 to 64 of letters, digits and ._+-, without a dot at the beginning");
}

Result<std::string> parse_version(const Value& object, State state) {
  const Value* value = object.find("version");
  if (state != State::Loaded) {
    if (value == nullptr || is_absent(*value)) return std::string();
    return fail_at(ErrorCode::BadRequest, "/version", "is allowed only with state \"loaded\"");
  }
  if (value == nullptr)
    return fail_at(ErrorCode::BadRequest, "/version", "is missing", "GET /v1/onload/versions lists them");
  const std::string* text = value->as_string();
  if (text == nullptr) return wrong_type("/version", *value, "a string");
  if (is_version(*text)) return *text;
  return no_version("/version", *value);
}

Result<std::map<std::string, std::string>> parse_values(const Value& object, const std::string& field) {
  TRY(require_object(field, object, "an object of parameters"));
  std::map<std::string, std::string> values;
  for (const json::Member& member : object.members()) {
    const std::string at = json::pointer(field, member.key.substr(0, json::kQuoted));
    if (!is_name(member.key)) return fail_at(ErrorCode::BadRequest, at, "is not a valid parameter name");
    const std::string* text = member.value.as_string();
    if (text == nullptr) return wrong_type(at, member.value, "a string");
    if (text->size() > kMaxValue || !is_printable(*text)) {
      return fail_at(ErrorCode::BadRequest, at, "is not a valid parameter value", "up to 1023 printable characters");
    }
    values[member.key] = *text;
  }
  return values;
}

Failure no_server_word(const std::string& field) {
  return fail_at(ErrorCode::BadRequest, field, "is not an allowed option of the control plane server",
                 server_options());
}

// Applies the rules of "control_plane" to the module parameter of the same content.
Result<void> check_server_words(const std::string& module, const std::map<std::string, std::string>& values,
                                const std::string& field) {
  const auto line = values.find("cplane_server_params");
  if (module != "onload" || line == values.end()) return {};
  std::istringstream text(line->second);
  const std::vector<std::string> words{std::istream_iterator<std::string>(text), {}};
  return first_unknown_argument(words) ? no_server_word(field + "/" + line->first) : Result<void>();
}

Result<Parameters> parse_parameters(const Value& object) {
  Parameters parameters;
  const Value* modules = object.find("parameters");
  if (modules == nullptr) return parameters;
  TRY(require_object("/parameters", *modules, "an object of modules"));
  size_t count = 0;
  for (const json::Member& module : modules->members()) {
    const std::string at = json::pointer("/parameters", module.key.substr(0, json::kQuoted));
    if (!is_name(module.key)) return fail_at(ErrorCode::BadRequest, at, "is not a valid module name");
    std::map<std::string, std::string> values = TRY(parse_values(module.value, at));
    TRY(check_server_words(module.key, values, at));
    count += values.size();
    parameters[module.key] = std::move(values);
  }
  if (count <= kMaxParameters) return parameters;
  return fail_at(ErrorCode::BadRequest, "/parameters", "has too many parameters", "at most 256");
}

Result<std::vector<std::string>> parse_words(const std::string& field, const Value& words) {
  if (words.kind() != Value::Kind::Array) return wrong_type(field, words, "an array of strings");
  std::vector<std::string> found;
  for (const Value& word : words.items()) {
    const std::string at = field + "/" + std::to_string(found.size());
    const std::string* text = word.as_string();
    if (text == nullptr) return wrong_type(at, word, "a string");
    const bool has_blank = text->find(' ') != std::string::npos;
    if (text->empty() || text->size() > kMaxWord || has_blank || !is_printable(*text) || found.size() == kMaxWords) {
      return fail_at(ErrorCode::BadRequest, at, "is not a valid argument of the control plane server",
                     "up to 32 strings of up to 128 printable characters without blanks");
    }
    found.push_back(*text);
  }
  if (const auto strange = first_unknown_argument(found)) return no_server_word(field + "/" + std::to_string(*strange));
  return found;
}

Result<std::vector<std::string>> parse_control_plane(const Value& object) {
  const Value* words = object.find("control_plane");
  return words == nullptr ? onload::Spec{}.control_plane : parse_words("/control_plane", *words);
}

Result<std::chrono::seconds> parse_patience(const Value& object) {
  const Value* value = object.find("drain_seconds");
  if (value == nullptr) return onload::Spec{}.drain;
  const std::optional<uint64_t> seconds = value->as_unsigned();
  if (seconds && *seconds <= kLongestDrain) return std::chrono::seconds(*seconds);
  return fail_at(ErrorCode::BadRequest, "/drain_seconds", "expected seconds, found " + shown(*value), "0 to 86400");
}

}  // namespace

bool is_version(std::string_view text) {
  return !text.empty() && text.size() <= kMaxName && text.front() != '.' &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  std::string_view("._+-").find(c) != std::string_view::npos;
         });
}

Result<onload::Spec> parse_spec(const Value& body) {
  TRY(require_object("", body, "an object"));
  TRY(check_keys(
      body, "",
      {"state", "version", "sfc", "parameters", "control_plane", "users_policy", "drain_seconds", "on_failure"}));
  if (body.find("state") == nullptr) {
    return fail_at(ErrorCode::BadRequest, "/state", "is missing", all_words<State>());
  }
  const auto state = TRY(parse_word(body, "state", State::Unmanaged));
  const auto sfc = parse_word(body, "sfc", Sfc::External);
  const auto users = parse_word(body, "users_policy", UsersPolicy::Fail);
  const auto on_failure = parse_word(body, "on_failure", OnFailure::Rollback);
  auto version = parse_version(body, state);
  auto parameters = parse_parameters(body);
  auto control_plane = parse_control_plane(body);
  const auto drain = parse_patience(body);
  if (!version) return Failure(version.error());
  if (!sfc) return Failure(sfc.error());
  if (!parameters) return Failure(parameters.error());
  if (!control_plane) return Failure(control_plane.error());
  if (!users) return Failure(users.error());
  if (!drain) return Failure(drain.error());
  if (!on_failure) return Failure(on_failure.error());
  return onload::Spec{.state = state,
                      .version = *std::move(version),
                      .sfc = *sfc,
                      .parameters = *std::move(parameters),
                      .control_plane = *std::move(control_plane),
                      .users = *users,
                      .drain = *drain,
                      .on_failure = *on_failure};
}

Result<std::optional<uint64_t>> parse_rollback(const Value& body) {
  TRY(require_object("", body, "an object"));
  TRY(check_keys(body, "", {"to"}));
  const Value* to = body.find("to");
  if (to == nullptr) return std::optional<uint64_t>();
  if (const std::optional<uint64_t> number = to->as_unsigned()) return std::optional(*number);
  return wrong_type("/to", *to, "the number of a generation");
}

Result<Drain> parse_drain(const Value& body) {
  TRY(require_object("", body, "an object"));
  TRY(check_keys(body, "", {"users_policy", "drain_seconds"}));
  const auto users = TRY(parse_word(body, "users_policy", Drain{}.users));
  const auto patience = TRY(parse_patience(body));
  return Drain{.users = users, .patience = patience};
}

Result<std::map<std::string, std::string>> parse_module_parameters(const std::string& module, const Value& body) {
  if (!is_name(module)) return fail(ErrorCode::NotFound, "module not found");
  Result<std::map<std::string, std::string>> values = parse_values(body, "");
  if (!values) return values;
  if (values->empty()) return fail_at(ErrorCode::BadRequest, "", "contains no parameter", "{\"name\": \"value\"}");
  if (values->size() > kMaxParameters)
    return fail_at(ErrorCode::BadRequest, "", "has too many parameters", "at most 256");
  TRY(check_server_words(module, *values, ""));
  return values;
}

Result<std::vector<std::string>> parse_control_plane_patch(const Value& body) {
  TRY(require_object("", body, "an object"));
  TRY(check_keys(body, "", {"parameters"}));
  const Value* words = body.find("parameters");
  if (words == nullptr) return fail_at(ErrorCode::BadRequest, "/parameters", "is missing", "an array of strings");
  return parse_words("/parameters", *words);
}

Result<Freeze> parse_freeze(const Value& body) {
  TRY(require_object("", body, "an object"));
  TRY(check_keys(body, "", {"frozen", "reason"}));
  const Value* frozen = body.find("frozen");
  if (frozen == nullptr) return fail_at(ErrorCode::BadRequest, "/frozen", "is missing", "true or false");
  if (!frozen->as_bool()) return wrong_type("/frozen", *frozen, "true or false");
  Freeze freeze{*frozen->as_bool(), {}};
  if (const Value* reason = body.find("reason")) {
    const std::string* text = reason->as_string();
    if (text == nullptr) return wrong_type("/reason", *reason, "a string");
    if (text->size() > kMaxReason) return fail_at(ErrorCode::BadRequest, "/reason", "is too long", "200 bytes");
    freeze.reason = *text;
  }
  return freeze;
}

Result<SwitchState> parse_turned(const Value& body, std::string_view key) {
  TRY(require_object("", body, "an object"));
  TRY(check_keys(body, "", {key}));
  const std::string at = "/" + std::string(key);
  const Value* value = body.find(key);
  if (value == nullptr) return fail_at(ErrorCode::BadRequest, at, "is missing", "true or false");
  if (const std::optional<bool> on = value->as_bool()) return *on ? SwitchState::On : SwitchState::Off;
  return wrong_type(at, *value, "true or false");
}

Result<std::optional<uint64_t>> parse_if_match(const std::string& header) {
  std::string_view tag = header;
  if (tag.empty() || tag == "*") return std::optional<uint64_t>();
  if (tag.size() >= 2 && tag.front() == '"' && tag.back() == '"') tag = tag.substr(1, tag.size() - 2);
  if (const auto number = parse_number<uint64_t>(tag)) return number;
  return fail(ErrorCode::Stale, "precondition failed: If-Match is not the ETag of GET /v1/onload");
}

Result<Import> parse_import(const Value& body) {
  TRY(require_object("", body, "an object"));
  TRY(check_keys(body, "", {"name", "source"}));
  Import import;
  for (const auto& [key, text] : {std::pair{"name", &import.name}, std::pair{"source", &import.source}}) {
    const std::string at = std::string("/") + key;
    const Value* value = body.find(key);
    if (value == nullptr) return fail_at(ErrorCode::BadRequest, at, "is missing");
    if (value->as_string() == nullptr) return wrong_type(at, *value, "a string");
    *text = *value->as_string();
  }
  if (!is_version(import.name)) return no_version("/name", *body.find("name"));
  const bool is_path = import.source.starts_with('/') && import.source.size() <= kMaxPath;
  if (is_path && is_printable(import.source)) return import;
  return fail_at(ErrorCode::BadRequest, "/source", "is not a valid path",
                 "an absolute path of up to 1024 printable characters");
}

}  // namespace nrd::v1
