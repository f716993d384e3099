// Persistent storage of workloads, grants and baselines, in SQLite (WAL, synchronous=FULL).
//
// One writer, the engine thread, makes every call. A commit is done, not done or unknown. Unknown happens when the disk
// fails at the sync: the WAL may or may not contain the transaction, and only a reopened store can tell. Compare its
// revision with the one before the commit.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "store/records.h"

namespace nrd::store {

enum class Committed { Done, NotDone, Unknown };

struct CommitOutcome {
  Committed committed = Committed::NotDone;
  std::string detail;  // for the journal unless Done
};

class Store {
 public:
  // Opens or creates `directory`/nrd.db and holds a lock on it, so that a second daemon is refused (ErrorCode::Busy). A
  // corrupt, foreign, newer or pre-release file is refused with a message that says what to do, and is never written.
  static Result<std::unique_ptr<Store>> open(const std::string& directory);
  virtual ~Store() = default;

  virtual Result<Records> load() = 0;
  virtual CommitOutcome commit(const Change& change) = 0;
  // After Committed::Unknown: reopens the file and returns its revision.
  virtual Result<uint64_t> reopen() = 0;
};

}  // namespace nrd::store
