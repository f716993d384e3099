#include "hw/cpuset/affinity.h"

#include <fmt/core.h>
#include <sched.h>

#include <cerrno>
#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "base/directory.h"
#include "base/errno_text.h"
#include "base/file.h"
#include "base/find_in.h"
#include "hw/cpuset/cgroup.h"

namespace nrd::cpuset {
namespace {

// A process that keeps starting threads: those started after the first pass inherit the mask of one that has it, or the
// next pass finds them.
constexpr int kMaxPasses = 64;
constexpr int kUnchangedPasses = 2;  // in a row, until all have it

// Passes may take long with ten thousand threads, and others wait meanwhile; a few do for all but who means harm.
constexpr int kFewPasses = 8;
constexpr std::chrono::seconds kMostTime{1};

Failure failed(const char* what, pid_t thread, const std::string& detail) {
  return fail(ErrorCode::Hardware, fmt::format("{} of thread {}", what, thread), detail);
}

// Conflict: its cgroup lacks some of the CPUs, so the kernel ignores them.
Failure refused(const char* what, pid_t thread, const CpuSet& wanted, const std::string& detail) {
  const std::optional<CpusetPlace> place = cpuset_of(thread).value_or(std::nullopt);
  const bool is_limited = place && place->cgroup != "/";  // the root has all CPUs of the host
  if (!is_limited || wanted.is_subset_of(place->cpus)) return failed(what, thread, detail);
  return fail_at(ErrorCode::Conflict, "/task_ids",
                 fmt::format("thread {} cannot run on CPU {}: its cgroup {} has CPU {}", thread, wanted.to_string(),
                             place->cgroup, place->cpus.to_string()),
                 "a command started by nrdctl run, or a service in nrd.slice (nrdctl export unit)");
}

// With offline CPUs. nullopt: the thread has exited.
Result<std::optional<CpuSet>> recorded_mask(pid_t thread) {
  const std::optional<std::string> status = TRY(read_file(fmt::format("/proc/{}/status", thread)));
  return status ? allowed_in_status(*status) : std::nullopt;
}

// nullopt: the thread has exited.
Result<std::optional<CpuSet>> mask_of(pid_t thread) {
  const tl::expected<CpuSet, int> cpus = affinity_of(thread);
  if (!cpus && cpus.error() == ESRCH) return std::nullopt;
  if (!cpus) return failed("cannot read the CPU affinity", thread, errno_text("sched_getaffinity", cpus.error()));
  // The kernel reports online CPUs only: none of a sleeping thread whose CPUs are all offline.
  if (cpus->empty()) return recorded_mask(thread);
  return *cpus;
}

enum class Clipping { Fails, Accepted };

// True if it changed something: not if the thread has exited.
Result<bool> set_mask(pid_t thread, const CpuSet& cpus, Clipping clipping = Clipping::Fails) {
  const std::optional<CpuSet> before = TRY(mask_of(thread));
  if (!before) return false;
  if (*before == cpus) return false;
  AffinityMask mask{};
  for (const CpuId cpu : cpus.members()) CPU_SET_S(cpu.value, sizeof mask, mask.data());
  if (::sched_setaffinity(thread, sizeof mask, mask.data()) != 0) {
    if (errno == ESRCH) return false;
    if (errno == EINVAL && clipping == Clipping::Accepted) return false;  // none of them is in its cpuset
    return refused("cannot set the CPU affinity", thread, cpus,
                   fmt::format("{}: sched_setaffinity: {}", cpus.to_string(), errno_text()));
  }
  const std::optional<CpuSet> after = TRY(mask_of(thread));
  // The kernel clips a mask to the thread's cpuset and reports success.
  if (!after || *after == cpus) return after.has_value();
  if (clipping == Clipping::Accepted && after->is_subset_of(cpus)) return *after != *before;
  return refused("the kernel did not apply the CPU affinity", thread, cpus,
                 fmt::format("wanted {}, it has {}", cpus.to_string(), after->to_string()));
}

}  // namespace

std::optional<CpuSet> allowed_in_status(std::string_view status) {
  constexpr std::string_view kAllowed = "\nCpus_allowed_list:";
  const size_t allowed = status.find(kAllowed);
  if (allowed == status.npos) return std::nullopt;
  const std::string_view rest = status.substr(allowed + kAllowed.size());
  Result<CpuSet> cpus = CpuSet::parse(trimmed(rest.substr(0, rest.find('\n'))));
  return cpus ? std::optional(*std::move(cpus)) : std::nullopt;
}

// A thread on all CPUs of its cgroup has not pinned itself, also where these are fewer than the host has.
Result<PinnedThreads> PinnedThreads::find(const CpuSet& all) {
  PinnedThreads found;
  std::map<std::string, CpuSet> by_cgroup{{"/", all}};
  for (const pid_t process : numbers_in<pid_t>("/proc", kLargestPid)) {
    const std::optional<std::string> cgroup = cgroup_of(process).value_or(std::nullopt);
    if (!cgroup) continue;  // it has ended
    const auto [known, is_new] = by_cgroup.try_emplace(*cgroup);
    if (is_new) known->second = effective_cpus(*cgroup).value_or(std::nullopt).value_or(all);
    TRY(found.add(process, known->second));
  }
  return found;
}

Result<PinnedThreads> PinnedThreads::find_on_host() {
  const std::optional<CpuSet> all = TRY(effective_cpus("/"));
  return find(all.value_or(CpuSet()));
}

Result<PinnedThreads> PinnedThreads::find_in(const std::string& cgroup, const CpuSet& all) {
  PinnedThreads found;
  for (const pid_t process : processes_in(cgroup, kMostProcesses)) TRY(found.add(process, all));
  return found;
}

Result<void> PinnedThreads::add(pid_t process, const CpuSet& all) {
  for (const pid_t thread : numbers_in<pid_t>(fmt::format("/proc/{}/task", process), kLargestPid)) {
    std::optional<CpuSet> cpus = TRY(mask_of(thread));
    if (cpus && *cpus != all) threads_.push_back({process, thread, *std::move(cpus)});
  }
  return {};
}

PinnedThreads PinnedThreads::of(const std::vector<Pinned>& pinned) {
  PinnedThreads found;
  for (const Pinned& each : pinned) {
    const Result<std::optional<FoundTask>> task = find_task(each.thread.id);
    const bool is_same = task && *task && (*task)->task.start == each.thread.start;
    if (is_same) found.threads_.push_back({each.thread.process, each.thread.id, each.cpus});
  }
  return found;
}

std::vector<Pinned> PinnedThreads::to_pinned() const {
  std::vector<Pinned> pinned;
  for (const Thread& thread : threads_) {
    if (pinned.size() == kMostProcesses) break;
    const Result<std::optional<FoundTask>> task = find_task(thread.id);
    if (task && *task && !(*task)->is_kernels) pinned.push_back({(*task)->task, thread.cpus});
  }
  return pinned;
}

// Kernel threads that are bound to a CPU refuse, and have kept theirs.
void PinnedThreads::restore() const {
  for (const Thread& thread : threads_) {
    if (is_there(thread.process, thread.id)) [[maybe_unused]]
      const Result<bool> set = set_mask(thread.id, thread.cpus);
  }
}

void PinnedThreads::restore_within(const CpuSet& cpus) const {
  for (const Thread& thread : threads_) {
    const CpuSet left = thread.cpus & cpus;
    if (!left.empty() && is_there(thread.process, thread.id)) [[maybe_unused]]
      const Result<bool> set = set_mask(thread.id, left);
  }
}

Result<std::optional<Masks>> masks_of(const Task& task) {
  std::optional<Masks> masks;
  for (const pid_t thread : TRY(threads_of(task))) {
    const std::optional<CpuSet> cpus = TRY(mask_of(thread));
    if (!cpus) continue;
    if (!masks) {
      masks = Masks{.cpus = *cpus};
    } else if (*cpus != masks->cpus) {
      masks->exceptions[thread] = *cpus;
    }
  }
  return masks;
}

namespace {

Failure too_fast(const Task& task) {
  return fail(ErrorCode::Hardware,
              fmt::format("task {} starts threads, or changes their CPU affinity, faster than it can be set", task.id));
}

// Returns whether a thread had another mask. One that starts meanwhile inherits either.
Result<bool> set_each(const Task& task, const Masks& wanted, Clipping clipping,
                      std::chrono::steady_clock::time_point end) {
  bool has_changed = false;
  for (const pid_t thread : TRY(threads_of(task))) {
    const CpuSet* exception = find_in(wanted.exceptions, thread);
    const bool changed = TRY(set_mask(thread, exception ? *exception : wanted.cpus, clipping));
    has_changed = has_changed || changed;
    if (std::chrono::steady_clock::now() > end) return too_fast(task);
  }
  return has_changed;
}

Result<void> set_all(const Task& task, const Masks& wanted, Clipping clipping) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + kMostTime;
  int unchanged = 0;
  for (int pass = 0; pass < kMaxPasses && unchanged < kUnchangedPasses; ++pass) {
    const bool has_changed = TRY(set_each(task, wanted, clipping, pass < kFewPasses ? Clock::time_point::max() : end));
    unchanged = has_changed ? 0 : unchanged + 1;
  }
  if (unchanged == kUnchangedPasses) return {};
  return too_fast(task);
}

}  // namespace

Result<void> apply(const Task& task, const Masks& wanted) { return set_all(task, wanted, Clipping::Fails); }

Result<void> restore(const Task& task, const Masks& before) { return set_all(task, before, Clipping::Accepted); }

}  // namespace nrd::cpuset
