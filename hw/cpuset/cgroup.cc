#include "hw/cpuset/cgroup.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/control.h"
#include "base/errno_text.h"
#include "base/file.h"
#include "base/split.h"
#include "hw/cpuset/cgroup_walk.h"

namespace nrd::cpuset {
namespace {

// Otherwise each controller of version 1 has a hierarchy of its own.
bool is_version_2() { return ::access((std::string(kCgroups) + "/cgroup.controllers").c_str(), F_OK) == 0; }

// The hierarchy in which processes are found. In version 1 that of memory or pids, in which container runtimes put
// each.
std::string process_root() {
  const std::string root(kCgroups);
  if (is_version_2()) return root;
  for (const char* controller : {"/memory", "/pids"}) {
    if (::access((root + controller + "/cgroup.procs").c_str(), F_OK) == 0) return root + controller;
  }
  return root;
}

std::string path_in(const std::string& root, const std::string& cgroup, const std::string& file) {
  return root + (cgroup == "/" ? "" : cgroup) + "/" + file;
}

std::string file_of(const std::string& cgroup, const std::string& file) { return path_in(kCgroups, cgroup, file); }

bool lists_cpuset(const std::string& cgroup, const char* file) {
  const Result<std::optional<std::string>> controllers = read_file(file_of(cgroup, file));
  return controllers && *controllers && std::ranges::count(split(**controllers, " \n"), std::string_view("cpuset")) > 0;
}

bool exists(const std::string& cgroup) {
  struct stat info {};
  return ::stat((process_root() + cgroup).c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

// Of CPUs or memory nodes. nullopt: there is no such file.
Result<std::optional<CpuSet>> read_list(const std::string& cgroup, const char* file,
                                        const std::string& root = kCgroups) {
  return read_cpu_list(path_in(root, cgroup, file));
}

// That of the next one above with such a file; nullopt: the cgroup does not exist.
Result<std::optional<CpuSet>> read_effective(const std::string& cgroup, const char* file) {
  if (!exists(cgroup)) return std::nullopt;
  const std::optional<CpuSet> list = TRY(read_list(cgroup, file));
  if (list || cgroup == "/") return list;
  return read_effective(parent_of(cgroup), file);
}

// In version 1: those of the next cgroup of cpuset with a list, at `path` or above. Never nullopt: without that
// hierarchy nothing limits them.
Result<std::optional<CpuSet>> cpus_in_version_1(std::string path) {
  for (;; path = parent_of(path)) {
    std::optional<CpuSet> cpus = TRY(read_list(path, "cpuset.effective_cpus", std::string(kCgroups) + "/cpuset"));
    if (cpus) return cpus;
    if (path == "/") return CpuSet::first(CpuSet::kMaxCpus);
  }
}

// In the hierarchy of cpuset (cpuset(7)). nullopt: the process has exited.
Result<std::optional<std::string>> cpuset_path_of(pid_t process) {
  const std::optional<std::string> line = TRY(read_one_line(fmt::format("/proc/{}/cpuset", process)));
  if (!line || !line->starts_with('/')) return std::nullopt;
  return std::string(trimmed(*line));
}

constexpr const char* kPartition = "cpuset.cpus.partition";

}  // namespace

std::string why_no_cpusets() {
  const Result<std::optional<std::string>> controllers = read_file(file_of("/", "cgroup.controllers"));
  if (!controllers || !*controllers) return "cgroup version 2 is not mounted at /sys/fs/cgroup";
  return lists_cpuset("/", "cgroup.controllers") ? "" : "the cpuset controller is not in cgroup version 2";
}

bool has_cpusets_below(const std::string& cgroup) { return lists_cpuset(cgroup, "cgroup.subtree_control"); }

Result<std::optional<std::string>> cgroup_of(pid_t process) {
  const std::optional<std::string> text = TRY(read_file(fmt::format("/proc/{}/cgroup", process)));
  if (!text) return std::nullopt;
  // The line of version 2 has number 0 and no controllers (cgroups(7)).
  constexpr std::string_view kVersion2 = "0::";
  for (const std::string_view line : split(*text, "\n")) {
    if (line.starts_with(kVersion2)) return std::string(line.substr(kVersion2.size()));
  }
  return std::nullopt;
}

bool is_populated(const std::string& cgroup) {
  const Result<std::optional<std::string>> events = read_file(file_of(cgroup, "cgroup.events"));
  return events && *events && (*events)->find("populated 1") != std::string::npos;
}

Result<std::optional<CpuSet>> effective_cpus(const std::string& cgroup) {
  return read_effective(cgroup, "cpuset.cpus.effective");
}

Result<void> check_effective(const std::string& name, const std::string& cgroup, const CpuSet& wanted) {
  const std::optional<CpuSet> effective = TRY(effective_cpus(cgroup));
  if (!effective || *effective == wanted) return {};
  return fail(ErrorCode::Hardware, fmt::format("{} runs on CPU {}, not on {}; check the CPUs of {}", name,
                                               effective->to_string(), wanted.to_string(), parent_of(cgroup)));
}

bool is_done_unconfirmed(const Result<void>& request, const std::string& cgroup, const CpuSet& wanted) {
  if (request || request.error().code != ErrorCode::Busy || cgroup.empty()) return false;
  return effective_cpus(cgroup).value_or(std::nullopt) == wanted;
}

Result<std::optional<CpuSet>> cpus_of_processes(const std::string& cgroup) {
  if (is_version_2()) return effective_cpus(cgroup);
  if (!exists(cgroup)) return std::nullopt;
  return cpus_in_version_1(cgroup);
}

Result<std::optional<CpusetPlace>> cpuset_of(pid_t process) {
  const bool is_unified = is_version_2();
  std::optional<std::string> cgroup = TRY(is_unified ? cgroup_of(process) : cpuset_path_of(process));
  if (!cgroup) return std::nullopt;
  std::optional<CpuSet> cpus = TRY(is_unified ? effective_cpus(*cgroup) : cpus_in_version_1(*cgroup));
  if (!cpus) return std::nullopt;
  return CpusetPlace{*std::move(cgroup), *std::move(cpus)};
}

std::map<std::string, CpuSet> inner_cpus(const std::string& cgroup) {
  std::map<std::string, CpuSet> inner;
  for (const CgroupCpus& each : list_cgroups(kCgroups + cgroup)) {
    const std::string path = cgroup + each.path;
    if (!each.cpus.empty() && is_populated(path)) inner[printable_ascii(path, kLongestName)] = each.cpus;
  }
  return inner;
}

Result<void> check_inner(const std::string& cgroup, const CpuSet& wanted) {
  const std::map<std::string, CpuSet> inner = inner_cpus(cgroup);
  const auto* part = overlapping_part(inner, wanted);
  if (!part) return {};
  return fail(ErrorCode::Hardware,
              fmt::format("{} runs on CPU {}, not on {}: its cpuset.cpus is {}", part->first,
                          (part->second & wanted).to_string(), wanted.to_string(), part->second.to_string()));
}

Result<std::optional<MemoryNodes>> effective_memory_nodes(const std::string& cgroup) {
  return read_effective(cgroup, "cpuset.mems.effective");
}

Result<std::optional<MemoryNodes>> own_memory_nodes(const std::string& cgroup) {
  return read_list(cgroup, "cpuset.mems");
}

Result<std::optional<CpuSet>> own_cpus(const std::string& cgroup) { return read_list(cgroup, "cpuset.cpus"); }

Result<void> set_own_cpus(const std::string& cgroup, const CpuSet& cpus) {
  return write_to_file(cgroup, "cpuset.cpus", cpus.to_string());
}

Result<std::optional<std::string>> partition_of(const std::string& cgroup) {
  const std::optional<std::string> text = TRY(read_file(file_of(cgroup, kPartition)));
  if (!text) return std::nullopt;
  return std::string(trimmed(*text));
}

Result<void> set_partition(const std::string& cgroup, const std::string& kind) {
  return write_to_file(cgroup, kPartition, kind);
}

Result<std::optional<std::string>> text_of_file(const std::string& cgroup, const char* file) {
  return read_file(file_of(cgroup, file));
}

Result<void> write_to_file(const std::string& cgroup, const char* file, const std::string& value) {
  const std::string path = file_of(cgroup, file);
  const tl::expected<void, int> written = write_value(path, value + "\n");
  if (written) return {};
  return fail(ErrorCode::Hardware, fmt::format("cannot change {} of cgroup {}", file, cgroup),
              errno_text(path, written.error()));
}

std::vector<pid_t> processes_in(const std::string& cgroup, size_t most) {
  std::vector<pid_t> processes;
  std::vector<std::string> left{cgroup};
  const std::string root = process_root();
  for (size_t seen = 0; !left.empty() && processes.size() < most && seen < kMostCgroups; ++seen) {
    const std::string next = std::move(left.back());
    left.pop_back();
    // None of a threaded one: its processes are those of the cgroup above.
    for (const pid_t process : processes_in(root, next)) {
      if (processes.size() < most) processes.push_back(process);
    }
    for (const std::string& name : folders_in(root + next)) left.push_back(next + "/" + name);
  }
  return processes;
}

std::string parent_of(const std::string& cgroup) {
  const size_t slash = cgroup.rfind('/');
  return slash == 0 || slash == std::string::npos ? "/" : cgroup.substr(0, slash);
}

}  // namespace nrd::cpuset
