// The two locks that all software that changes classes uses, and that other processes can hold: that of the resctrl
// tree (flock(2), Documentation/arch/x86/resctrl.rst), which needs only a descriptor for reading, and that of libpqos's
// lock file.
//
// Each wait is bounded. Error: Busy, with the holder according to /proc/locks.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace nrd::rdt {

// Held while the file is open.
Result<UniqueFd> lock_tree();

// The holder of the tree's lock, "sleep (4711)"; empty: none.
std::string holder_of_tree();

// Changes the tree's mode if it is the kernel's default (0555); a mode set by other software stays. Without read
// permission other users get no descriptor and so no lock.
void guard_tree(mode_t mode);
// Restores the kernel's default mode if the tree has `mode`.
void give_tree_back(mode_t mode);

// /run/lock/libpqos, which libpqos locks for each of its calls, waiting without limit. It is a lock of the process
// (fcntl(2)): libpqos gets a lock held here at once, and its unlock releases it here too. Closing any descriptor of the
// file would also release it, so this one stays open.
class LibraryLock {
 public:
  // Replaces a file that other users can open, because they could hold the lock.
  static Result<LibraryLock> open();
  // Call before each call of libpqos, which releases the lock.
  Result<void> take() const;
  void let_go() const;

 private:
  explicit LibraryLock(UniqueFd file) : file_(std::move(file)) {}
  UniqueFd file_;
};

}  // namespace nrd::rdt
