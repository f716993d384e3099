#include "cli/owner.h"

#include "base/file.h"
#include "base/task.h"

namespace nrd::cli {

namespace {

struct ThisProcess {
  std::string pid;
  uint64_t start;
};

// Not getpid(2): in a container with the host's /proc, the PID differs from the one shown there.
Result<ThisProcess> find_this_process() {
  const std::optional<std::string> stat = TRY(read_file("/proc/self/stat"));
  const std::string text = stat.value_or("");
  const std::optional<TaskStat> found = parse_task_stat(text);
  if (!found) return fail(ErrorCode::Internal, "cannot identify this process in /proc");
  return ThisProcess{text.substr(0, text.find(' ')), found->start};
}

}  // namespace

Result<std::string> this_pid() {
  return find_this_process().map([](const ThisProcess& process) { return process.pid; });
}

Result<std::string> this_process(const Client& client) {
  if (client.is_local()) return "{\"caller\":true}";
  const ThisProcess process = TRY(find_this_process());
  return "{\"pid\":" + process.pid + ",\"start\":" + std::to_string(process.start) + "}";
}

}  // namespace nrd::cli
