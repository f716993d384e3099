#include "engine/transaction/idempotency.h"

#include <algorithm>
#include <map>
#include <utility>

#include "engine/transaction/command.h"

namespace nrd {
namespace {

bool is_expired(const store::IdempotencyRecord& record, Time now) {
  return now - record.created >= Idempotency::kKeptFor;
}

}  // namespace

void Idempotency::load(std::vector<store::IdempotencyRecord> records) {
  kept_.clear();
  for (store::IdempotencyRecord& record : records) kept_.push_back({.record = std::move(record), .client = {}});
  added_.clear();
}

Result<std::optional<WorkloadId>> Idempotency::find(const IdempotencyKey& key, Time now) const {
  for (const auto* records : {&kept_, &added_}) {
    for (const auto& [record, client] : *records) {
      if (record.key != key.key || is_expired(record, now)) continue;
      if (record.request_hash == key.request_hash) return std::optional(record.workload);
      return fail_at(ErrorCode::KeyReused, "Idempotency-Key", "the key was already used with a different request",
                     "a new key for each request");
    }
  }
  return std::optional<WorkloadId>();
}

void Idempotency::add(const IdempotencyKey& key, WorkloadId workload, Time now) {
  added_.push_back({.record = {.key = key.key, .request_hash = key.request_hash, .workload = workload, .created = now},
                    .client = key.client});
}

std::string_view Idempotency::client_with_most(size_t first) const {
  std::map<std::string_view, size_t> counts;  // sorted: equal counts lead to the same client each time
  for (size_t i = first; i < kept_.size(); ++i) ++counts[kept_[i].client];
  return std::ranges::max_element(counts, {}, [](const auto& count) { return count.second; })->first;
}

// All that have expired, wherever they are: the clock may have been set back since a key before them was stored.
size_t Idempotency::put_leaving_first(Time now) {
  const auto fresh = std::stable_partition(kept_.begin(), kept_.end(),
                                           [now](const Kept& kept) { return is_expired(kept.record, now); });
  auto stays = fresh;
  const size_t room = kMostKeys > added_.size() ? kMostKeys - added_.size() : 0;
  while (static_cast<size_t>(kept_.end() - stays) > room) {
    const std::string_view client = client_with_most(static_cast<size_t>(stays - kept_.begin()));
    const auto oldest = std::ranges::find(stays, kept_.end(), client, &Kept::client);
    std::rotate(stays++, oldest, oldest + 1);
  }
  return static_cast<size_t>(stays - kept_.begin());
}

void Idempotency::write_to(store::Change& change, Time now) {
  if (added_.empty()) return;
  const size_t leaving = put_leaving_first(now);
  for (size_t i = 0; i < leaving; ++i) change.forgotten_keys.push_back(kept_[i].record.key);
  for (const Kept& added : added_) change.keys.push_back(added.record);
}

void Idempotency::keep_added(Time now) {
  if (added_.empty()) return;
  const size_t leaving = put_leaving_first(now);
  kept_.erase(kept_.begin(), kept_.begin() + static_cast<ptrdiff_t>(leaving));
  std::ranges::move(std::exchange(added_, {}), std::back_inserter(kept_));
}

}  // namespace nrd
