#include "engine/usage.h"

#include <algorithm>
#include <utility>

#include "base/find_in.h"
#include "engine/model/node_state.h"

namespace nrd {
namespace {

std::optional<double> rate(std::optional<uint64_t> before, std::optional<uint64_t> now,
                           std::chrono::nanoseconds between) {
  if (!before || !now || *now < *before || between.count() <= 0) return std::nullopt;
  return static_cast<double>(*now - *before) / std::chrono::duration<double>(between).count();
}

const rdt::Usage* find(const UsageSample& sample, ClosId clos, const rdt::MonitoringDomain& domain) {
  const auto* group = find_in(sample.classes, clos);
  const CacheUsage* found = group ? find_in(*group, domain) : nullptr;
  return found ? &found->counted : nullptr;
}

}  // namespace

std::set<CacheId> counted_caches(const NodeState& state, const Workload& workload) {
  std::set<CacheId> caches;
  for (const auto& [cache, ways] : workload.grant.ways) {
    if (cache.level == 3) caches.insert(cache);
  }
  if (!caches.empty() || !workload.grant.has_class()) return caches;
  const CpuSet used = cpus_of(workload) | workload.spec.task_cpus;
  for (const auto& [cache, cpus] : state.facts.rdt.level_of(3).caches) {
    if (used.empty() || cpus.intersects(used)) caches.insert(cache);
  }
  return caches;
}

std::map<ClosId, std::set<CacheId>> counted_classes(const NodeState& state) {
  std::map<ClosId, std::set<CacheId>> classes;
  if (!state.facts.rdt.monitoring) return classes;
  for (const auto& [id, workload] : state.workloads) {
    if (!workload.grant.has_class()) continue;
    classes[workload.grant.clos].merge(counted_caches(state, workload));
  }
  return classes;
}

bool is_unrequested(const UsageSample& sample, ClosId clos) {
  const auto* group = find_in(sample.classes, clos);
  return group && std::ranges::any_of(*group, [](const auto& usage) { return usage.second.counted.is_unrequested; });
}

UsageSample next_sample(const UsageSample* last, const rdt::Usages& counted, const Workloads& workloads,
                        UsageSample::Steady taken, Time at) {
  UsageSample sample{
      .taken = taken, .at = at, .since = {}, .classes = {}, .workloads = workloads, .workloads_before = {}};
  if (last != nullptr) {
    sample.since = taken - last->taken;
    sample.workloads_before = last->workloads;
  }
  for (const auto& [clos, domains] : counted) {
    for (const auto& [domain, now] : domains) {
      CacheUsage& usage = sample.classes[clos][domain];
      usage.counted = now;
      const rdt::Usage* before = last == nullptr ? nullptr : find(*last, clos, domain);
      if (before == nullptr) continue;
      usage.total_bytes_per_second = rate(before->total_bytes, now.total_bytes, *sample.since);
      usage.local_bytes_per_second = rate(before->local_bytes, now.local_bytes, *sample.since);
    }
  }
  return sample;
}

void Sampler::set_interval(std::chrono::milliseconds interval) {
  const std::lock_guard hold(lock_);
  interval_ = interval;
  if (interval.count() == 0) until_.reset();
}

bool Sampler::ask(ClosId clos, Done done) {
  Result<std::shared_ptr<const UsageSample>> answer;
  {
    const std::lock_guard hold(lock_);
    const Steady now = clock_.steady();
    if (interval_.count() == 0) {
      answer = fail(ErrorCode::Unsupported, "monitoring is disabled (monitoring.interval_seconds is 0)");
    } else if (ended_) {
      answer = fail(ErrorCode::Busy, "nrd is stopping");
    } else if (waiting_.size() >= kMost) {
      answer = fail(ErrorCode::Busy, "too many requests are waiting for a sample; try again");
    } else {
      until_ = now + linger();
      asked_.insert(clos);
      if (!last_ || now - last_->taken > interval_ || is_unrequested(*last_, clos)) {
        waiting_.push_back(std::move(done));
        return true;
      }
      answer = last_;
    }
  }
  done(std::move(answer));
  return false;
}

std::shared_ptr<const UsageSample> Sampler::last(bool& is_due) {
  const std::lock_guard hold(lock_);
  const bool is_old =
      !last_ || clock_.steady() - last_->taken > interval_ ||
      std::ranges::any_of(last_->classes, [this](const auto& entry) { return is_unrequested(*last_, entry.first); });
  is_due = is_old && interval_.count() > 0 && !ended_;
  sample_requested_ = sample_requested_ || is_due;
  return last_;
}

std::optional<Sampler::Steady> Sampler::next() const {
  const std::lock_guard hold(lock_);
  if (ended_) return std::nullopt;
  if (!waiting_.empty() || sample_requested_) return Steady::min();
  if (!until_ || !last_) return std::nullopt;
  const Steady next = last_->taken + interval_;
  return next <= *until_ ? std::optional(next) : std::nullopt;
}

std::set<ClosId> Sampler::asked(const std::map<ClosId, std::set<CacheId>>& counted) {
  const std::lock_guard hold(lock_);
  std::set<ClosId> asked;
  for (const auto& [clos, caches] : counted) {
    if (sample_requested_ || asked_.contains(clos)) asked.insert(clos);
  }
  asked_.clear();
  return asked;
}

void Sampler::take(const rdt::Usages& usages, const Workloads& workloads) {
  std::vector<Done> waiting;
  std::shared_ptr<const UsageSample> sample;
  {
    const std::lock_guard hold(lock_);
    const Steady now = clock_.steady();
    // A rate over a long interval would not describe the present.
    const bool is_recent = last_ && now - last_->taken <= linger();
    sample = std::make_shared<const UsageSample>(
        next_sample(is_recent ? last_.get() : nullptr, usages, workloads, now, nrd::now(clock_)));
    last_ = sample;
    sample_requested_ = false;
    waiting.swap(waiting_);
  }
  for (const Done& done : waiting) done(sample);
}

void Sampler::end() {
  std::vector<Done> waiting;
  {
    const std::lock_guard hold(lock_);
    ended_ = true;
    waiting.swap(waiting_);
  }
  for (const Done& done : waiting) done(fail(ErrorCode::Busy, "nrd is stopping"));
}

}  // namespace nrd
