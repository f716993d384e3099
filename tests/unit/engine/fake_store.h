// A store in memory, with fault injection.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "engine/model/baseline_documents.h"
#include "engine/model/workload_document.h"
#include "store/store.h"

namespace nrd::testing {

class FakeStore final : public store::Store {
 public:
  Result<store::Records> load() override { return records; }

  store::CommitOutcome commit(const store::Change& change) override {
    ++commits;
    const store::Committed outcome = next_outcomes.empty() ? store::Committed::Done : next_outcomes.front();
    if (!next_outcomes.empty()) next_outcomes.pop_front();
    if (outcome == store::Committed::Done || (outcome == store::Committed::Unknown && unknown_is_stored)) write(change);
    return {outcome, outcome == store::Committed::Done ? "" : "injected fault"};
  }

  Result<uint64_t> reopen() override {
    if (!reopens) return fail(ErrorCode::Store, "cannot be opened", "injected fault");
    return records.revision;
  }

  // As the next start would read them.
  Baselines baselines() const { return *baselines_of(records.baselines); }
  Workload first_workload() const { return *from_row(records.workloads.front()); }

  store::Records records;
  uint64_t commits = 0;
  std::deque<store::Committed> next_outcomes;  // Done when empty
  bool unknown_is_stored = false;
  bool reopens = true;

 private:
  void write(const store::Change& change) {
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
    write(records.onload, change.onload);
  }

  static void write(std::vector<store::Document>& documents, const store::DocumentChange& change) {
    std::map<store::DocumentId, std::string> by_id;
    for (const auto& [id, json] : documents) by_id[id] = json;
    for (const store::DocumentId& id : change.removed) by_id.erase(id);
    for (const auto& [id, json] : change.put) by_id[id] = json;
    documents.clear();
    for (const auto& [id, json] : by_id) documents.push_back({id, json});
  }
};

}  // namespace nrd::testing
