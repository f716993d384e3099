// Writes the masks of classes of service: through libpqos where its view of caches and classes equals resctrl's, else
// through the files of resctrl (Documentation/filesystems/resctrl). Both write the same, and both are read back.
//
// libpqos takes the number of caches and their ids from CPUID, which is wrong wherever an L3 cache is not a socket on
// Intel, and it needs every class for itself.
//
// libpqos is started once per mount, because each start creates and removes the groups of all classes. Later each
// discovery compares the two views again, since caches appear and disappear with their CPUs.
#pragma once

#include <memory>

#include "hw/rdt/pqos.h"
#include "hw/rdt/types.h"
#include "hw/rdt/write_order.h"

namespace nrd::rdt {

class MaskWriters {
 public:
  // Starts libpqos, which may mount the tree. Failure to start is not an error.
  void start();
  // True: start() has not been called since the tree was mounted.
  bool needs_start() const { return !has_started_; }
  // Call when the tree was unmounted: the state of libpqos is then invalid.
  void reset();

  // Selects the writer for a tree with these properties.
  void choose(const CacheView& resctrl);
  const MaskWriterChoice& choice() const { return choice_; }
  // Checks that the locks needed for writing are free; waits briefly. Busy names the holder.
  Result<void> await_locks() const;
  // A mask with holes always goes to resctrl: libpqos refuses it. `cdp`: write both masks, of code and of data.
  Result<void> set_ways(const WaysWrite& write, bool cdp);

 private:
  std::unique_ptr<Pqos> pqos_;  // null: not started
  MaskWriterChoice choice_;
  std::string why_no_pqos_;
  bool has_started_ = false;
};

// The view of the mounted tree, whose caches are allocated as `cats` says.
Result<CacheView> read_cache_view(const Cats& cats);

}  // namespace nrd::rdt
