// The one persistence: workloads, their grants and the baselines, in SQLite (WAL, synchronous=FULL).
//
// One writer, the engine thread; every call is made there. A commit is done, not done or unknown. Unknown happens when
// the disk fails at the sync: the log may or may not hold the transaction, and only a store opened anew can tell.
// Compare the revision it then holds with the one before the commit.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "store/records.h"

namespace nrd::store {

enum class Committed { Done, NotDone, Unknown };

struct CommitOutcome {
  Committed committed = Committed::NotDone;
  std::string detail;  // for the journal when not Done
};

class Store {
 public:
  // Opens or creates `directory`/nrd.db and holds a lock on it, so that a second daemon is refused (ErrorCode::Busy).
  // A corrupt, foreign or newer file is refused with a message that says what to do, and is never written to.
  static Result<std::unique_ptr<Store>> open(const std::string& directory);
  virtual ~Store() = default;

  virtual Result<Records> load() = 0;
  virtual CommitOutcome commit(const Change& change) = 0;
  // After Committed::Unknown: closes the file, opens it anew and returns the revision it holds.
  virtual Result<uint64_t> reopen() = 0;
};

}  // namespace nrd::store
