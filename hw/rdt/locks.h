// The two locks that whoever changes classes agrees on, and that others can keep from us: that of the resctrl tree
// (flock(2), Documentation/arch/x86/resctrl.rst), for which a descriptor to read is enough, and libpqos's file.
//
// Each wait is bounded. Error: Busy, with who holds it, as /proc/locks says.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace nrd::rdt {

// Held as long as the file is open.
Result<UniqueFd> lock_tree();

// Who holds the lock of the tree, "sleep (4711)"; empty: nobody does.
std::string holder_of_tree();

// While the kernel's own mode is the tree's (0555), sets another; a mode that somebody else has chosen stays. Without
// rights to read there is no descriptor for other users, and so no lock.
void guard_tree(mode_t mode);
// Gives the kernel's mode back, if the tree has `mode`.
void give_tree_back(mode_t mode);

// /run/lock/libpqos, which libpqos locks for each of its calls, waiting without limit. It is a lock of the process
// (fcntl(2)): what is held here libpqos gets at once, and its unlocking is ours as well. Closing any descriptor of the
// file would end it too, so this one stays open.
class LibraryLock {
 public:
  // A file that is not root's alone is replaced: whoever can open it can hold it.
  static Result<LibraryLock> open();
  // Before each call of libpqos, which lets it go.
  Result<void> take() const;
  void let_go() const;

 private:
  explicit LibraryLock(UniqueFd file) : file_(std::move(file)) {}
  UniqueFd file_;
};

}  // namespace nrd::rdt
