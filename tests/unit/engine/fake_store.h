// A store in memory, with fault injection.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "engine/model/documents.h"
#include "store/store.h"

namespace nrd::testing {

class FakeStore final : public store::Store {
 public:
  FakeStore();
  ~FakeStore() override;
  Result<store::Records> load() override;

  store::CommitOutcome commit(const store::Change& change) override;

  Result<uint64_t> reopen() override;

  // As the next start would read them.
  Baselines baselines() const;
  Workload first_workload() const;

  store::Records records;
  uint64_t commits = 0;
  std::deque<store::Committed> next_outcomes;  // Done when empty
  bool unknown_is_stored = false;
  bool reopens = true;

 private:
  void write(const store::Change& change);

  static void write(std::vector<store::Document>& documents, const store::DocumentChange& change);
};

}  // namespace nrd::testing
