#include "cli/owner.h"

#include "base/file.h"
#include "base/process.h"

namespace nrd::cli {

Result<std::string> this_process(const Client& client) {
  if (client.is_local()) return "{\"caller\":true}";
  // Not getpid(2): in a container with the host's /proc, the PID differs from the one shown there.
  const std::optional<std::string> stat = TRY(read_file("/proc/self/stat"));
  const std::string text = stat.value_or("");
  const std::optional<uint64_t> start = start_in(text);
  if (!start) return fail(ErrorCode::Internal, "cannot identify this process in /proc");
  return "{\"pid\":" + text.substr(0, text.find(' ')) + ",\"start\":" + std::to_string(*start) + "}";
}

}  // namespace nrd::cli
