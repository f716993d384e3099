#include "cli/owner.h"

#include <fmt/core.h>

#include "base/file.h"
#include "base/task.h"

namespace nrd::cli {

namespace {

// Not getpid(2): in a container with the host's /proc, the PID differs from the one shown there.
Result<TaskStat> find_this_process() {
  const std::optional<std::string> stat = TRY(read_file("/proc/self/stat"));
  std::optional<TaskStat> found = parse_task_stat(stat.value_or(""));
  if (!found) return fail(ErrorCode::Internal, "cannot identify this process in /proc");
  return *std::move(found);
}

}  // namespace

Result<std::string> this_pid() {
  return find_this_process().map([](const TaskStat& process) { return std::to_string(process.id); });
}

Result<std::string> this_process(const Client& client) {
  if (client.is_local()) return "{\"caller\":true}";
  const TaskStat process = TRY(find_this_process());
  return fmt::format("{{\"pid\":{},\"start\":{}}}", process.id, process.start);
}

}  // namespace nrd::cli
