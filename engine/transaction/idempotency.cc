#include "engine/transaction/idempotency.h"

#include <algorithm>
#include <utility>

namespace nrd {
namespace {

bool is_expired(const store::IdempotencyRecord& record, store::Time now) {
  return now - record.created >= Idempotency::kKeptFor;
}

}  // namespace

void Idempotency::load(std::vector<store::IdempotencyRecord> records) {
  kept_ = std::move(records);
  added_.clear();
}

Result<std::optional<WorkloadId>> Idempotency::find(const IdempotencyKey& key, store::Time now) const {
  for (const auto* records : {&kept_, &added_}) {
    for (const store::IdempotencyRecord& record : *records) {
      if (record.key != key.key || is_expired(record, now)) continue;
      if (record.request_hash == key.request_hash) return std::optional(record.workload);
      return fail_at(ErrorCode::KeyReused, "Idempotency-Key", "the key was already used with a different request",
                     "a new key for each request");
    }
  }
  return std::optional<WorkloadId>();
}

void Idempotency::add(const IdempotencyKey& key, WorkloadId workload, store::Time now) {
  added_.push_back({.key = key.key, .request_hash = key.request_hash, .workload = workload, .created = now});
}

// All that have expired, wherever they are: the clock may have been set back since a key before them was stored.
size_t Idempotency::put_leaving_first(store::Time now) {
  const auto fresh =
      std::stable_partition(kept_.begin(), kept_.end(), [now](const auto& record) { return is_expired(record, now); });
  const size_t room = kMostKeys > added_.size() ? kMostKeys - added_.size() : 0;
  const size_t too_many = kept_.size() > room ? kept_.size() - room : 0;
  return std::max(too_many, static_cast<size_t>(fresh - kept_.begin()));
}

void Idempotency::write_to(store::Change& change, store::Time now) {
  if (added_.empty()) return;
  const size_t leaving = put_leaving_first(now);
  for (size_t i = 0; i < leaving; ++i) change.forgotten_keys.push_back(kept_[i].key);
  change.keys = added_;
}

void Idempotency::keep_added(store::Time now) {
  if (added_.empty()) return;
  const size_t leaving = put_leaving_first(now);
  kept_.erase(kept_.begin(), kept_.begin() + static_cast<ptrdiff_t>(leaving));
  std::ranges::move(std::exchange(added_, {}), std::back_inserter(kept_));
}

}  // namespace nrd
