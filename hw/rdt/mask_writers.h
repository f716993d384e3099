// Chooses who writes masks: libpqos where its idea of caches and classes equals what resctrl has, else the files of
// resctrl. libpqos takes the number of caches and their ids from CPUID, which is wrong wherever an L3 cache is not a
// socket on Intel, and it wants every class for itself.
//
// libpqos is started once for a mounted tree, because each start makes and removes the groups of all classes. Later
// the two views are compared again at each discovery, since caches come and go with their CPUs.
#pragma once

#include <memory>

#include "hw/rdt/mask_writer.h"
#include "hw/rdt/pqos.h"
#include "hw/rdt/resctrl_writer.h"
#include "hw/rdt/types.h"

namespace nrd::rdt {

class MaskWriters {
 public:
  // Starts libpqos, which may mount the tree. It is not an error if it does not start.
  void start();
  // True: start() was not called yet with the tree mounted.
  bool needs_start() const { return !has_started_; }
  // The tree is gone, and so is what libpqos knows of it.
  void reset();

  // For a tree that has this.
  void choose(const CacheView& resctrl);
  const MaskWriterChoice& choice() const { return choice_; }
  // Whether the locks that writing takes are free; waits a moment. Busy, with who has one.
  Result<void> await_locks() const;
  // A mask with holes goes to resctrl in any case: libpqos refuses it.
  MaskWriter& writer_for(const WaysWrite& write);

 private:
  std::unique_ptr<Pqos> pqos_;  // null: not started
  ResctrlWriter resctrl_;
  MaskWriterChoice choice_;
  std::string why_no_pqos_;
  bool has_started_ = false;
};

// Of the mounted tree, whose caches are allocated as `cat` and, of L2 beside L3, as `l2_cat` says.
Result<CacheView> read_cache_view(const Cat& cat, const std::optional<Cat>& l2_cat);

}  // namespace nrd::rdt
