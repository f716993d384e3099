#include "hw/cpuset/memory.h"

#include <fmt/core.h>

#include <chrono>
#include <utility>

#include "base/file.h"
#include "base/find_in.h"
#include "base/number.h"
#include "hw/cpuset/cgroup.h"

namespace nrd::cpuset {
namespace {

constexpr const char* kOwn = "cpuset.mems";

// systemd does nothing else while the kernel moves pages: 100 GB at a low rate.
constexpr std::chrono::minutes kPatienceToMove{10};

// Zero: it is not accounted.
Result<uint64_t> bytes_of(const std::string& cgroup) {
  const std::optional<std::string> text = TRY(text_of_file(cgroup, "memory.current"));
  return parse_number<uint64_t>(trimmed(text.value_or(""))).value_or(0);
}

Result<void> check_nodes(const Target& target, const std::string& cgroup, const MemoryNodes& wanted) {
  const std::optional<MemoryNodes> effective = TRY(effective_memory_nodes(cgroup));
  if (!effective || *effective == wanted) return {};  // none: it has ended
  return fail(ErrorCode::Hardware,
              fmt::format("{} has memory of node {}, not of {}; check cpuset.mems of {}", target.name,
                          effective->to_string(), wanted.to_string(), parent_of(cgroup)));
}

}  // namespace

Result<MemoryNodes> MemoryBinding::nodes() {
  return TRY(read_cpu_list("/sys/devices/system/node/has_memory")).value_or(MemoryNodes{0});
}

// As last known while systemd does not answer.
Result<std::optional<MemoryBinding::TargetCgroup>> MemoryBinding::find(const Target& target, Deadline deadline) {
  if (target.kind == Target::Kind::Cgroup) {
    const std::optional<MemoryNodes> own = TRY(own_memory_nodes(target.name));
    return own ? std::optional(TargetCgroup{.cgroup = target.name, .own = *own}) : std::nullopt;
  }
  const Result<std::optional<Unit>> unit = units_.find(target.name, deadline);
  const TargetCgroup* known = find_in(known_, target.name);
  if (!unit && known) return *known;
  const std::optional<Unit> found = TRY(unit);
  if (found) return known_[target.name] = TargetCgroup{.cgroup = found->cgroup, .own = found->memory_nodes};
  known_.erase(target.name);
  // Before its start.
  return target.kind == Target::Kind::Scope ? std::optional(TargetCgroup()) : std::nullopt;
}

Result<Memory> MemoryBinding::read(const TargetCgroup& found) {
  Memory memory{.nodes = found.own, .own = found.own};
  const std::string cgroup = found.cgroup.empty() ? "/" : found.cgroup;
  const std::optional<MemoryNodes> effective = TRY(effective_memory_nodes(cgroup));
  if (!found.cgroup.empty() || memory.nodes.empty()) memory.nodes = effective.value_or(MemoryNodes());
  memory.is_used = !found.cgroup.empty() && is_populated(cgroup);
  if (memory.is_used) memory.bytes = TRY(bytes_of(cgroup));
  return memory;
}

Result<std::optional<Memory>> MemoryBinding::observe(const Target& target, Deadline deadline) {
  const std::optional<TargetCgroup> found = TRY(find(target, deadline));
  if (!found) return std::nullopt;
  Memory memory = TRY(read(*found));
  return memory;
}

Result<void> MemoryBinding::set(const Target& target, const MemoryNodes& nodes, Deadline deadline) {
  if (target.kind == Target::Kind::Cgroup) return write_to_file(target.name, kOwn, nodes.to_string());
  known_.erase(target.name);
  return units_.set_memory_nodes(target.name, nodes, deadline);
}

// The cgroup decides whether systemd has done what it has not confirmed in time.
Result<void> MemoryBinding::set_and_check(const Target& target, const std::string& cgroup, const MemoryNodes& nodes,
                                          Deadline deadline) {
  const Result<void> done = set(target, nodes, deadline);
  if (cgroup.empty() || (!done && done.error().code != ErrorCode::Busy)) return done;
  const Result<void> checked = check_nodes(target, cgroup, nodes);
  return checked || done ? checked : done;
}

Result<void> MemoryBinding::bind(const Target& target, const MemoryNodes& nodes, Deadline deadline) {
  const std::optional<TargetCgroup> found = TRY(find(target, deadline));
  if (!found || (found->cgroup.empty() && target.kind == Target::Kind::Scope)) return {};
  const Memory memory = TRY(read(*found));
  if (memory.nodes == nodes && (memory.is_used || memory.own == nodes)) return {};
  if (!memory.is_used) return set_and_check(target, found->cgroup, nodes, deadline);
  return check_nodes(target, found->cgroup, nodes);
}

Result<void> MemoryBinding::move(const Target& target, const MemoryNodes& nodes, Deadline deadline) {
  const std::optional<TargetCgroup> found = TRY(find(target, deadline));
  if (!found || found->cgroup.empty()) return {};
  // The first change of the nodes moves nothing where the controller was enabled for several cgroups at once: the
  // kernel then knows of one of them alone from where to move (cpuset_attach() in kernel/cgroup/cpuset.c). The third
  // one does.
  const std::optional<MemoryNodes> present = TRY(effective_memory_nodes(found->cgroup));
  if (present && *present != nodes) {
    TRY(set(target, nodes, deadline));
    TRY(set(target, *present, deadline));
  }
  return set_and_check(target, found->cgroup, nodes, deadline);
}

Result<void> MemoryBinding::release(const Target& target, const MemoryNodes& own, Deadline deadline) {
  const std::optional<TargetCgroup> found = TRY(find(target, deadline));
  if (!found || found->own == own) return {};
  const bool is_used = !found->cgroup.empty() && is_populated(found->cgroup);
  if (!is_used && !own.empty()) return set(target, own, deadline);
  if (!found->cgroup.empty()) {
    // Clearing alone would have no effect on a cgroup that exists, as with CPUs.
    const std::optional<MemoryNodes> all = TRY(effective_memory_nodes(parent_of(found->cgroup)));
    TRY(set_and_check(target, found->cgroup, all.value_or(MemoryNodes()), deadline));
  }
  const Result<void> cleared = set(target, {}, deadline);
  // A cgroup with processes keeps a list: the kernel refuses an empty one.
  return target.kind == Target::Kind::Cgroup ? Result<void>() : cleared;
}

Result<void> MemoryMover::apply(const MemoryChange& change) {
  const Deadline deadline = std::chrono::steady_clock::now() + kPatienceToMove;
  switch (change.kind) {
    case MemoryChange::Kind::Move: return memory_.move(change.target, change.nodes, deadline);
    case MemoryChange::Kind::Release: return memory_.release(change.target, change.nodes, deadline);
  }
  return {};
}

}  // namespace nrd::cpuset
