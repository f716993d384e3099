// JSON of a workload's tasks, in RMD's format: {"task_ids": ["4711", "4712"]}.
#pragma once

#include <optional>
#include <vector>

#include "api/v1/json_validation.h"
#include "base/json/value.h"
#include "base/json/writer.h"
#include "base/result.h"
#include "base/task.h"

namespace nrd::v1 {

// nullopt if absent. Empty if null removes the tasks.
using TaskFields = std::optional<std::vector<pid_t>>;
Result<TaskFields> parse_task_ids(const json::Value& body, Null null);

// An array.
void render(json::Writer& w, const std::vector<Task>& tasks);

}  // namespace nrd::v1
