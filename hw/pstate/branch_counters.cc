#include "hw/pstate/branch_counters.h"

#include <fmt/core.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "base/errno_text.h"

namespace nrd::pstate {
namespace {

constexpr pid_t kEverybody = -1;

UniqueFd open_counter(CpuId cpu, uint64_t event, int leader) {
  perf_event_attr wanted{};
  wanted.type = PERF_TYPE_HARDWARE;
  wanted.size = sizeof wanted;
  wanted.config = event;
  wanted.read_format = PERF_FORMAT_GROUP;
  // glibc has no wrapper.
  return UniqueFd(static_cast<int>(
      ::syscall(SYS_perf_event_open, &wanted, kEverybody, static_cast<int>(cpu.value), leader, PERF_FLAG_FD_CLOEXEC)));
}

}  // namespace

Result<BranchCounters::Pair> BranchCounters::open(CpuId cpu) {
  Pair pair;
  pair.branches = open_counter(cpu, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, -1);
  if (pair.branches.valid()) pair.misses = open_counter(cpu, PERF_COUNT_HW_BRANCH_MISSES, pair.branches.get());
  if (pair.misses.valid()) return pair;
  return fail(ErrorCode::Unsupported, "cannot count branches on " + text_of(cpu), errno_text());
}

std::optional<std::string> BranchCounters::missing(CpuId cpu) {
  const Result<Pair> pair = open(cpu);
  if (pair && read(*pair)) return std::nullopt;
  return "branch monitoring: the kernel's perf has no hardware counters of branches here" +
         (pair ? std::string() : fmt::format(" ({})", pair.error().detail));
}

std::optional<BranchCounts> BranchCounters::read(const Pair& pair) {
  std::array<uint64_t, 3> group{};  // how many, branches, misses: perf_event_open(2), PERF_FORMAT_GROUP
  const ssize_t got = ::read(pair.branches.get(), group.data(), sizeof group);
  if (got != static_cast<ssize_t>(sizeof group) || group[0] != 2) return std::nullopt;
  return BranchCounts{.branches = group[1], .misses = group[2]};
}

std::map<CpuId, BranchCounts> BranchCounters::read(const CpuSet& cpus) {
  std::erase_if(pairs_, [&cpus](const auto& entry) { return !cpus.contains(entry.first); });
  std::map<CpuId, BranchCounts> counts;
  for (const CpuId cpu : cpus.members()) {
    if (!pairs_.contains(cpu)) {
      Result<Pair> pair = open(cpu);
      if (!pair) continue;
      pairs_.emplace(cpu, *std::move(pair));
    }
    // Going offline ends a CPU's counters: reopen them when it is back.
    const std::optional<BranchCounts> read_now = read(pairs_.at(cpu));
    if (read_now) {
      counts[cpu] = *read_now;
    } else {
      pairs_.erase(cpu);
    }
  }
  return counts;
}

}  // namespace nrd::pstate
