#include "api/v1/names_json.h"

#include <string_view>

#include "base/ascii.h"
#include "base/control.h"
#include "base/json/members.h"
#include "base/json/writer.h"
#include "hw/cpuset/types.h"

namespace nrd::v1 {
namespace {

using json::Value;

constexpr size_t kMaxUuid = 256;
constexpr size_t kMaxId = 320;
constexpr size_t kMaxName = 63;
constexpr size_t kMaxPolicy = 64;
constexpr size_t kMaxLabelKey = 253;
constexpr size_t kMaxLabelValue = 63;

// Letters, digits and `marks` in between.
bool is_name(std::string_view text, size_t longest, std::string_view marks) {
  return is_word(text, marks) && text.size() <= longest && is_alphanumeric(text.front()) &&
         is_alphanumeric(text.back());
}

// Only characters that need no percent-encoding in a path.
bool is_id(const std::string& text) {
  return is_word(text, "-_.~:@+") && text.size() <= kMaxId && text != "." && text != "..";
}

bool is_uuid(const std::string& text) { return text.size() <= kMaxUuid && !has_controls(text); }

constexpr std::string_view kIds = "a string of at most 320 letters, digits and -_.~:@+";
constexpr std::string_view kNames = "at most 63 letters, digits and -_. in between";
constexpr std::string_view kLabels = "an object such as {\"team\": \"trading\"}";
constexpr const char* kWrongName = "is too long or has invalid characters";

constexpr TextMember kName{.key = "name",
                           .allowed = kNames,
                           .is_valid = [](const std::string& text) { return is_name(text, kMaxName, "-_."); },
                           .complaint = kWrongName};

Result<std::optional<std::string>> parse_label(const json::Member& label) {
  const std::string at = json::pointer("/labels", label.key.substr(0, json::kQuoted));
  if (!is_name(label.key, kMaxLabelKey, "-_./")) {
    return fail_at(ErrorCode::BadRequest, at, "the key of a label is too long or has invalid characters",
                   "at most 253 letters, digits and -_./ in between");
  }
  if (label.value.is_null()) return std::optional<std::string>();
  const std::string* text = label.value.as_string();
  if (!text) return json::wrong_type(at, label.value, "a string, or null to remove the label");
  if (text->empty() || is_name(*text, kMaxLabelValue, "-_.")) return std::optional(*text);
  return fail_at(ErrorCode::BadRequest, at, "the value of a label is too long or has invalid characters",
                 std::string(kNames));
}

}  // namespace

const TextMember kUuid{.key = "uuid",
                       .allowed = "a string of at most 256 bytes without control characters",
                       .is_valid = is_uuid,
                       .complaint = "is too long or has control characters"};
const TextMember kGivenId{.key = "id", .allowed = kIds, .is_valid = is_id, .complaint = kWrongName};
const TextMember kUnit{.key = "unit",
                       .allowed = "the name of a service or scope of systemd, such as \"feed.service\"",
                       .is_valid = [](const std::string& text) { return cpuset::is_unit_name(text); },
                       .complaint = "is no name of a service or scope"};
const TextMember kCgroup{.key = "cgroup",
                         .allowed = "a path below /sys/fs/cgroup, such as \"/x/y\"",
                         .is_valid = [](const std::string& text) { return cpuset::is_cgroup_path(text); },
                         .complaint = "is no path of a cgroup"};
const TextMember kPolicy{.key = "policy",
                         .allowed = "the name of a policy, of at most 64 bytes",
                         .is_valid = [](const std::string& text) { return text.size() <= kMaxPolicy; },
                         .complaint = "is too long"};

Result<std::string> parse_text(const Value& body, const TextMember& member) {
  const Value* value = body.find(member.key);
  if (!value || value->is_null()) return std::string();
  const std::string at = json::pointer("", member.key);
  const std::string* text = value->as_string();
  if (!text) return json::wrong_type(at, *value, member.allowed);
  if (text->empty() || member.is_valid(*text)) return *text;
  return fail_at(ErrorCode::BadRequest, at, member.complaint, std::string(member.allowed));
}

Result<void> check_given_id(const std::string& id) {
  if (is_id(id)) return {};
  return fail_at(ErrorCode::BadRequest, "/id", kWrongName, std::string(kIds));
}

Result<std::optional<std::string>> parse_name(const Value& body) {
  if (!body.find("name")) return std::optional<std::string>();
  return std::optional(TRY(parse_text(body, kName)));
}

Result<Change<std::map<std::string, std::optional<std::string>>>> parse_labels(const Value& body) {
  Change<std::map<std::string, std::optional<std::string>>> change;
  const Value* labels = body.find("labels");
  if (!labels) return change;
  change.emplace();
  if (labels->is_null()) return change;
  TRY(json::require_object("/labels", *labels, kLabels));
  auto& parsed = change->emplace();
  for (const json::Member& label : labels->members()) parsed[label.key] = TRY(parse_label(label));
  return change;
}

}  // namespace nrd::v1
