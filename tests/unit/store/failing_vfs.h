// SQLite's own seam for a failing disk: a VFS that counts what changes files and fails the n-th of it.
#pragma once

#include <cstdint>
#include <string>

namespace nrd::testing {

class FailingVfs {
 public:
  FailingVfs();   // becomes the default VFS
  ~FailingVfs();  // the one before is the default again

  uint64_t calls = 0;    // writes, syncs, truncates, deletes
  std::string kinds;     // of each of them its letter: w, s, t, d
  uint64_t fail_at = 0;  // 0: never
  int error =
      0;  // SQLITE_IOERR_WRITE, SQLITE_FULL, ...; all but writes fail with their own I/O error, as the real VFS does
  bool for_good = false;  // all later calls fail too
  bool apply = false;     // a failing call has its effect all the same: the disk lied about failing

  int strike(char kind, int own_error);
};

}  // namespace nrd::testing
