#include "hw/rdt/groups.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>

#include "base/directory.h"
#include "base/errno_text.h"
#include "base/file.h"
#include "base/number.h"
#include "hw/rdt/resctrl.h"

namespace nrd::rdt {
namespace {

// The kernel checks once a second which RMIDs can be reused (CQM_LIMBOCHECK_INTERVAL).
constexpr std::chrono::milliseconds kRmidPatience{2500};
constexpr std::chrono::milliseconds kRmidPoll{20};

std::string path_of(const std::string& directory) { return kResctrl + directory; }

// The errno on failure. The kernel has fewer classes and RMIDs.
tl::expected<std::vector<std::string>, int> groups_in(const std::string& path) {
  constexpr size_t kMost = size_t{1} << 16;
  return list_names(path, kMost, Entries::Folders);
}

bool has_monitoring_groups(const std::string& directory) {
  const auto groups = groups_in(path_of(directory) + "/mon_groups");
  return groups && !groups->empty();
}

// Kernels before 4.19 have no modes.
Result<GroupMode> read_mode(const std::string& directory) {
  const std::optional<std::string> text = TRY(read_one_line(path_of(directory) + "/mode"));
  const std::string_view mode = text ? trimmed(*text) : "shareable";
  if (mode == "shareable") return GroupMode::Shareable;
  if (mode == "exclusive") return GroupMode::Exclusive;
  if (mode == "pseudo-locksetup") return GroupMode::PseudoLockSetup;
  if (mode == "pseudo-locked") return GroupMode::PseudoLocked;
  return fail(ErrorCode::Hardware, "a resctrl group has an unknown mode", fmt::format("{}/mode: {}", directory, mode));
}

Result<void> read_schemata(const std::string& directory, Class& group) {
  const std::optional<std::string> schemata = TRY(read_file(path_of(directory) + "/schemata"));
  if (!schemata) return fail(ErrorCode::NotFound, "the group no longer exists");
  Masks masks = TRY(parse_masks(*schemata));
  std::map<CacheId, uint32_t> limits = TRY(parse_mb(*schemata));
  group.ways = std::move(masks.ways);
  group.split = std::move(masks.split);
  group.bandwidth = std::move(limits);
  return {};
}

// Reads until the first file that cannot be read.
Result<void> read_files(const std::string& directory, Group& read) {
  if (!directory.empty()) {
    const GroupMode mode = TRY(read_mode(directory));
    read.group.mode = mode;
  }
  if (read.group.mode == GroupMode::PseudoLockSetup) return {};
  TRY(read_schemata(directory, read.group));
  // cpus_list of a pseudo-locked region names the CPUs of the cache, which are not members; it has neither CPUs nor
  // tasks.
  if (read.group.mode == GroupMode::PseudoLocked) return {};
  std::optional<CpuSet> cpus = TRY(read_cpus(directory));
  if (!cpus) return fail(ErrorCode::NotFound, "the group no longer exists");
  read.group.cpus = *std::move(cpus);
  if (directory.empty()) return {};
  std::optional<std::vector<pid_t>> tasks = TRY(read_tasks(directory));
  read.tasks = std::move(tasks).value_or(std::vector<pid_t>());
  read.group.tasks = read.tasks.size();
  read.group.has_monitoring_groups = has_monitoring_groups(directory);
  return {};
}

Failure cannot_make(const std::string& path, int error) {
  const std::string reasons = last_cmd_status();  // before Linux 6.13 mkdir adds its line to those of earlier commands
  const std::string kernel = reasons.substr(reasons.rfind('\n') + 1);
  const std::string detail =
      fmt::format("{}: {}{}", path, errno_text(error), kernel.empty() ? "" : "; kernel: " + kernel);
  if (error == ENOSPC) {
    return fail(ErrorCode::NoClass,
                "the kernel cannot create another resctrl group" + (kernel.empty() ? "" : ": " + kernel), detail);
  }
  if (error == EBUSY) {
    return fail(ErrorCode::Busy,
                "the kernel has no monitoring id (RMID) free yet for a new class of service, because groups were "
                "removed a moment ago; try again in a second",
                detail);
  }
  return fail(ErrorCode::Hardware, "cannot create the resctrl group of a class of service", detail);
}

}  // namespace

Result<std::vector<std::string>> list_groups() {
  auto groups = groups_in(kResctrl);
  if (!groups)
    return fail(ErrorCode::Hardware, "the resctrl file system is no longer mounted", errno_text(groups.error()));
  std::erase_if(*groups,
                [](const std::string& name) { return name == "info" || name == "mon_groups" || name == "mon_data"; });
  return *std::move(groups);
}

std::optional<ClosId> class_of(std::string_view group) {
  if (!group.starts_with("COS")) return std::nullopt;
  const auto number = parse_number<uint32_t>(group.substr(3));
  if (!number || *number == 0 || group != text_of(ClosId{*number})) return std::nullopt;
  return ClosId{*number};
}

std::string directory_of(ClosId clos) { return clos == kRootClass ? "" : "/" + text_of(clos); }

Result<void> make_group(ClosId clos) {
  const std::string path = path_of(directory_of(clos));
  const auto deadline = std::chrono::steady_clock::now() + kRmidPatience;
  while (::mkdir(path.c_str(), 0755) != 0) {
    const int error = errno;
    if (error != EBUSY || std::chrono::steady_clock::now() >= deadline) return cannot_make(path, error);
    std::this_thread::sleep_for(kRmidPoll);
  }
  return {};
}

Result<void> remove_group(const std::string& name) {
  const std::string path = path_of("/" + name);
  const bool is_removed = ::rmdir(path.c_str()) == 0 || errno == ENOENT;
  if (is_removed && ::access(path.c_str(), F_OK) != 0) return {};
  const std::string reason = is_removed ? "it still exists" : errno_text();
  return fail(ErrorCode::Hardware, "cannot remove group " + name, fmt::format("{}: {}", path, reason));
}

Result<std::optional<Group>> read_group(const std::string& directory) {
  if (!directory.empty() && ::access(path_of(directory).c_str(), F_OK) != 0) return std::nullopt;
  Group group;
  Result<void> read = read_files(directory, group);
  if (read) return group;
  if (read.error().code == ErrorCode::NotFound || ::access(path_of(directory).c_str(), F_OK) != 0) return std::nullopt;
  if (directory.empty()) return Failure(read.error());
  group.group.is_readable = false;
  return group;
}

}  // namespace nrd::rdt
