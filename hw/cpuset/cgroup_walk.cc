#include "hw/cpuset/cgroup_walk.h"

#include <fcntl.h>

#include <optional>
#include <string_view>

#include "base/directory.h"
#include "base/file.h"
#include "base/number.h"
#include "base/split.h"
#include "base/unique_fd.h"

namespace nrd::cpuset {
namespace {

constexpr size_t kMostFolders = size_t{1} << 16;

// nullopt: it does not exist.
std::optional<std::string> read_trimmed(const std::string& path) {
  const Result<std::optional<std::string>> text = read_file(path);
  if (!text || !*text) return std::nullopt;
  return std::string(trimmed(**text));
}

CpuSet cpus_of(const std::string& path) { return CpuSet::parse(read_trimmed(path).value_or("")).value_or(CpuSet()); }

std::optional<CgroupCpus> read_cgroup(const std::string& root, const std::string& path) {
  const std::optional<std::string> cpus = read_trimmed(root + path + "/cpuset.cpus");
  if (!cpus) return std::nullopt;
  return CgroupCpus{.path = path,
                    .cpus = CpuSet::parse(*cpus).value_or(CpuSet()),
                    .effective = cpus_of(root + path + "/cpuset.cpus.effective"),
                    .partition = read_trimmed(root + path + "/cpuset.cpus.partition").value_or("")};
}

}  // namespace

std::vector<std::string> folders_in(const std::string& path) {
  const UniqueFd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder.valid()) return {};
  return list_names(folder.get(), kMostFolders, Entries::Folders).value_or(std::vector<std::string>());
}

// A cgroup without the controller has none with it below: the walk ends there, mostly after a few slices.
std::vector<CgroupCpus> list_cgroups(const std::string& root) {
  std::vector<CgroupCpus> found;
  std::vector<std::string> level{""};
  for (size_t depth = 1; depth <= kDeepestCgroup && !level.empty(); ++depth) {
    std::vector<std::string> next;
    for (const std::string& parent : level) {
      for (const std::string& name : folders_in(root + parent)) {
        if (found.size() == kMostCgroups) return found;
        std::optional<CgroupCpus> cgroup = read_cgroup(root, parent + "/" + name);
        if (!cgroup) continue;
        next.push_back(cgroup->path);
        found.push_back(*std::move(cgroup));
      }
    }
    level = std::move(next);
  }
  return found;
}

std::set<pid_t> processes_in(const std::string& root, const std::string& path) {
  std::set<pid_t> processes;
  const std::string text = read_trimmed(root + path + "/cgroup.procs").value_or("");
  for (const std::string_view line : split(text, "\n")) {
    const pid_t process = parse_number<pid_t>(line).value_or(0);  // 0: in another PID namespace
    if (process > 0) processes.insert(process);
  }
  return processes;
}

}  // namespace nrd::cpuset
