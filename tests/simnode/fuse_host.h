// Serves a Tree to the kernel over an open /dev/fuse, one request at a time, on the caller's thread. No name and no
// content is cached: every look goes to the tree, since tests change it from outside.
#pragma once

#include <memory>

#include "tree.h"

struct fuse;

namespace nrd::simnode {

class FuseHost {
 public:
  FuseHost(Tree& tree, int device);  // throws std::runtime_error
  ~FuseHost();
  FuseHost(const FuseHost&) = delete;
  FuseHost& operator=(const FuseHost&) = delete;

  void serve_pending();  // call when the device is readable

 private:
  fuse* fuse_;
};

}  // namespace nrd::simnode
