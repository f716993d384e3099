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

size_t Idempotency::leaving(store::Time now) const {
  const size_t room = kMostKeys > added_.size() ? kMostKeys - added_.size() : 0;
  const size_t too_many = kept_.size() > room ? kept_.size() - room : 0;
  const auto fresh = std::ranges::find_if(kept_, [now](const auto& record) { return !is_expired(record, now); });
  return std::max(too_many, static_cast<size_t>(fresh - kept_.begin()));
}

void Idempotency::write_to(store::Change& change, store::Time now) const {
  if (added_.empty()) return;
  for (size_t i = 0; i < leaving(now); ++i) change.forgotten_keys.push_back(kept_[i].key);
  change.keys = added_;
}

void Idempotency::keep_added(store::Time now) {
  if (added_.empty()) return;
  kept_.erase(kept_.begin(), kept_.begin() + static_cast<ptrdiff_t>(leaving(now)));
  std::ranges::move(std::exchange(added_, {}), std::back_inserter(kept_));
}

}  // namespace nrd
