#include "hw/pstate/online.h"

#include <optional>

#include "base/file.h"
#include "hw/pstate/cpufreq.h"

namespace nrd::pstate {

Result<CpuSet> read_online(const std::string& root) {
  const std::string path = root + kCpus + "/online";
  const std::optional<std::string> text = TRY(read_file(path));
  const std::optional<CpuSet> online = text ? parse_cpus(*text) : std::nullopt;
  if (!online) {
    return fail(ErrorCode::Hardware, "unexpected list of online CPUs from the kernel",
                path + ": \"" + text.value_or("no such file").substr(0, 80) + "\"");
  }
  return *online;
}

bool is_offline(const std::string& root, CpuId cpu) {
  const Result<CpuSet> online = read_online(root);
  return online && !online->contains(cpu);
}

}  // namespace nrd::pstate
