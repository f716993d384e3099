#include "tests/unit/engine/fake_store.h"

#include <algorithm>
#include <map>

#include "engine/model/baselines.h"
#include "engine/model/documents.h"
#include "engine/model/workload.h"

namespace nrd::testing {

FakeStore::FakeStore() = default;

FakeStore::~FakeStore() = default;

Result<store::Records> FakeStore::load() { return records; }

store::CommitOutcome FakeStore::commit(const store::Change& change) {
  ++commits;
  const store::Committed outcome = next_outcomes.empty() ? store::Committed::Done : next_outcomes.front();
  if (!next_outcomes.empty()) next_outcomes.pop_front();
  if (outcome == store::Committed::Done || (outcome == store::Committed::Unknown && unknown_is_stored)) write(change);
  return {outcome, outcome == store::Committed::Done ? "" : "injected fault"};
}

Result<uint64_t> FakeStore::reopen() {
  if (!reopens) return fail(ErrorCode::Store, "cannot be opened", "injected fault");
  return records.revision;
}

Baselines FakeStore::baselines() const { return *baselines_of(records.baselines); }

Workload FakeStore::first_workload() const { return *from_row(records.workloads.front()); }

void FakeStore::write(const store::Change& change) {
  ++records.revision;
  records.next_id = change.next_id;
  std::map<WorkloadId, store::WorkloadRow> rows;
  for (const auto& row : records.workloads) rows[row.id] = row;
  for (const auto& row : change.put) rows[row.id] = row;
  for (const WorkloadId id : change.removed) rows.erase(id);
  records.workloads.clear();
  for (const auto& [id, row] : rows) records.workloads.push_back(row);
  std::erase_if(records.keys, [&change](const store::IdempotencyRecord& row) {
    return std::ranges::find(change.forgotten_keys, row.key) != change.forgotten_keys.end();
  });
  records.keys.insert(records.keys.end(), change.keys.begin(), change.keys.end());
  if (!change.new_boot_id.empty()) {
    records.boot_id = change.new_boot_id;
    records.baselines.clear();
  }
  write(records.baselines, change.baselines);
  write(records.operations, change.operations);
}

void FakeStore::write(std::vector<store::Document>& documents, const store::DocumentChange& change) {
  std::map<store::DocumentId, std::string> by_id;
  for (const auto& [id, json] : documents) by_id[id] = json;
  for (const store::DocumentId& id : change.removed) by_id.erase(id);
  for (const auto& [id, json] : change.put) by_id[id] = json;
  documents.clear();
  for (const auto& [id, json] : by_id) documents.push_back({id, json});
}

}  // namespace nrd::testing
