#include "hw/cpuset/cgroup.h"

#include <string_view>

#include "base/file.h"

namespace nrd::cpuset {
namespace {

std::string file_of(const std::string& cgroup, const char* file) {
  return std::string(kCgroups) + (cgroup == "/" ? "" : cgroup) + "/" + file;
}

bool has_word(std::string_view words, std::string_view word) {
  while (!words.empty()) {
    const size_t end = std::min(words.find_first_of(" \n"), words.size());
    if (words.substr(0, end) == word) return true;
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return false;
}

bool lists_cpuset(const char* file) {
  const Result<std::optional<std::string>> controllers = read_file(file_of("/", file));
  return controllers && *controllers && has_word(**controllers, "cpuset");
}

}  // namespace

std::string why_no_cpusets() {
  const Result<std::optional<std::string>> controllers = read_file(file_of("/", "cgroup.controllers"));
  if (!controllers || !*controllers) return "cgroup version 2 is not mounted at /sys/fs/cgroup";
  return lists_cpuset("cgroup.controllers") ? "" : "the cpuset controller is not in cgroup version 2";
}

bool is_cpuset_enabled() { return lists_cpuset("cgroup.subtree_control"); }

Result<std::optional<std::string>> cgroup_of(pid_t process) {
  const std::optional<std::string> text = TRY(read_file("/proc/" + std::to_string(process) + "/cgroup"));
  if (!text) return std::nullopt;
  // The line of version 2 has number 0 and no controllers (cgroups(7)).
  constexpr std::string_view kVersion2 = "0::";
  for (std::string_view rest = *text; !rest.empty();) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    if (line.starts_with(kVersion2)) return std::string(line.substr(kVersion2.size()));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return std::nullopt;
}

Result<std::optional<CpuSet>> effective_cpus(const std::string& cgroup) {
  const std::optional<std::string> text = TRY(read_file(file_of(cgroup, "cpuset.cpus.effective")));
  if (!text) return std::nullopt;
  const std::string_view list = trimmed(*text);
  if (list.empty()) return CpuSet();
  Result<CpuSet> cpus = CpuSet::parse(list);
  if (!cpus) return fail(ErrorCode::Hardware, "cannot read the CPUs of cgroup " + cgroup, std::string(list));
  return *std::move(cpus);
}

}  // namespace nrd::cpuset
