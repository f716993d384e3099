#include "api/v1/task_json.h"

#include <string>
#include <utility>

#include "base/number.h"

namespace nrd::v1 {
namespace {

using json::Value;

constexpr size_t kMost = 1024;
constexpr pid_t kLargest = 1 << 22;  // PID_MAX_LIMIT of the kernel
constexpr std::string_view kExample = "a list of processes and threads such as [\"4711\", \"4712\"]";

// As the kernel formats PIDs: no sign, no blank, no leading zero.
std::optional<pid_t> number_in(const std::string& text) {
  const auto number = parse_number<pid_t>(text);
  if (!number || *number < 1 || *number > kLargest || text.starts_with('0')) return std::nullopt;
  return number;
}

}  // namespace

Result<TaskFields> parse_task_ids(const Value& body, Null null) {
  const Value* value = body.find("task_ids");
  if (!value) return TaskFields();
  if (value->is_null()) return null == Null::Removes ? TaskFields(std::vector<pid_t>()) : TaskFields();
  if (value->kind() != Value::Kind::Array) return wrong_type("/task_ids", *value, kExample);
  if (value->items().empty()) return TaskFields();
  if (value->items().size() > kMost) {
    return fail_at(ErrorCode::BadRequest, "/task_ids", "too many items", "at most " + std::to_string(kMost));
  }
  std::vector<pid_t> ids;
  for (size_t i = 0; i < value->items().size(); ++i) {
    const Value& item = value->items()[i];
    const std::string field = json::pointer("/task_ids", i);
    const std::string* text = item.as_string();
    if (!text) return wrong_type(field, item, "a process or thread ID as a string such as \"4711\"");
    const std::optional<pid_t> id = number_in(*text);
    if (!id) {
      return fail_at(ErrorCode::BadRequest, field, "expected a process or thread ID, found " + shown(item),
                     "\"1\" to \"" + std::to_string(kLargest) + "\"");
    }
    ids.push_back(*id);
  }
  return TaskFields(std::move(ids));
}

void render(json::Writer& w, const std::vector<Task>& tasks) {
  w.begin_array();
  for (const Task& task : tasks) w.string(std::to_string(task.id));
  w.end_array();
}

}  // namespace nrd::v1
