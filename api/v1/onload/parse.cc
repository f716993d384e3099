#include "api/v1/onload/parse.h"

#include <algorithm>
#include <iterator>
#include <sstream>

#include "api/v1/onload/control_plane_args.h"
#include "api/v1/workload_json.h"
#include "base/ascii.h"
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

bool is_name(std::string_view text) { return text.size() <= kMaxName && is_word(text, "_"); }

bool is_printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
}

Result<void> check_object(const Value& body, const std::vector<std::string_view>& keys) {
  TRY(require_object("", body, "an object"));
  return check_keys(body, "", keys);
}

std::string field_of(std::string_view key) { return json::pointer("", key); }

// A member that must be there.
Result<const Value*> parse_required(const Value& object, std::string_view key, std::string allowed = {}) {
  if (const Value* value = object.find(key)) return value;
  return fail_at(ErrorCode::BadRequest, field_of(key), "is missing", std::move(allowed));
}

Result<std::string> parse_string(const Value& object, std::string_view key, std::string allowed = {}) {
  const Value* value = TRY(parse_required(object, key, std::move(allowed)));
  if (const std::string* text = value->as_string()) return *text;
  return wrong_type(field_of(key), *value, "a string");
}

Result<bool> parse_switch(const Value& object, std::string_view key) {
  const Value* value = TRY(parse_required(object, key, "true or false"));
  if (const std::optional<bool> flag = value->as_bool()) return *flag;
  return wrong_type(field_of(key), *value, "true or false");
}

// A named enumerator; `otherwise` if absent.
template <typename Enum>
Result<Enum> parse_word(const Value& object, std::string_view key, Enum otherwise) {
  if (object.find(key) == nullptr) return otherwise;
  const std::string text = TRY(parse_string(object, key));
  if (const std::optional<Enum> found = onload::parse<Enum>(text)) return *found;
  return fail_at(ErrorCode::BadRequest, field_of(key), shown(*object.find(key)) + " is not an allowed value",
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
  std::string text = TRY(parse_string(object, "version", "GET /v1/onload/versions lists them"));
  if (is_version(text)) return text;
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
  return text.size() <= kMaxName && is_word(text, "._+-") && text.front() != '.';
}

Result<onload::Spec> parse_spec(const Value& body) {
  TRY(check_object(
      body, {"state", "version", "sfc", "parameters", "control_plane", "users_policy", "drain_seconds", "on_failure"}));
  TRY(parse_required(body, "state", all_words<State>()));
  onload::Spec spec;
  spec.state = TRY(parse_word(body, "state", spec.state));
  spec.version = TRY(parse_version(body, spec.state));
  spec.sfc = TRY(parse_word(body, "sfc", spec.sfc));
  spec.parameters = TRY(parse_parameters(body));
  spec.control_plane = TRY(parse_control_plane(body));
  spec.users = TRY(parse_word(body, "users_policy", spec.users));
  spec.drain = TRY(parse_patience(body));
  spec.on_failure = TRY(parse_word(body, "on_failure", spec.on_failure));
  return spec;
}

Result<std::optional<uint64_t>> parse_rollback(const Value& body) {
  TRY(check_object(body, {"to"}));
  const Value* to = body.find("to");
  if (to == nullptr) return std::optional<uint64_t>();
  if (const std::optional<uint64_t> number = to->as_unsigned()) return std::optional(*number);
  return wrong_type("/to", *to, "the number of a generation");
}

Result<Drain> parse_drain(const Value& body) {
  TRY(check_object(body, {"users_policy", "drain_seconds"}));
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
  TRY(check_object(body, {"parameters"}));
  const Value* words = TRY(parse_required(body, "parameters", "an array of strings"));
  return parse_words("/parameters", *words);
}

Result<Freeze> parse_freeze(const Value& body) {
  TRY(check_object(body, {"frozen", "reason"}));
  const bool frozen = TRY(parse_switch(body, "frozen"));
  if (body.find("reason") == nullptr) return Freeze{frozen, {}};
  std::string reason = TRY(parse_string(body, "reason"));
  if (reason.size() > kMaxReason) return fail_at(ErrorCode::BadRequest, "/reason", "is too long", "200 bytes");
  return Freeze{frozen, std::move(reason)};
}

Result<SwitchState> parse_turned(const Value& body, std::string_view key) {
  TRY(check_object(body, {key}));
  return parse_switch(body, key).map([](bool is_on) { return is_on ? SwitchState::On : SwitchState::Off; });
}

Result<std::optional<uint64_t>> parse_if_match(const std::string& header) {
  std::string_view tag = header;
  if (tag.empty() || tag == "*") return std::optional<uint64_t>();
  if (tag.size() >= 2 && tag.front() == '"' && tag.back() == '"') tag = tag.substr(1, tag.size() - 2);
  if (const auto number = parse_number<uint64_t>(tag)) return number;
  return fail(ErrorCode::Stale, "precondition failed: If-Match is not the ETag of GET /v1/onload");
}

Result<Import> parse_import(const Value& body) {
  TRY(check_object(body, {"name", "source"}));
  Import import;
  import.name = TRY(parse_string(body, "name"));
  import.source = TRY(parse_string(body, "source"));
  if (!is_version(import.name)) return no_version("/name", *body.find("name"));
  const bool is_path = import.source.starts_with('/') && import.source.size() <= kMaxPath;
  if (is_path && is_printable(import.source)) return import;
  return fail_at(ErrorCode::BadRequest, "/source", "is not a valid path",
                 "an absolute path of up to 1024 printable characters");
}

}  // namespace nrd::v1
