// Finds users (users.h) on a thread of its own, and gives up if one process takes too long.
//
// The kernel reads the mappings of a process under its mmap lock, which a user can keep forever: mmap(2) of a FUSE file
// waits for its server while it holds the lock. Only a fatal signal ends the wait, so the thread stays until the
// process has ended. Until then no other search is started, and each answer names the process as unknown, which counts
// as use.
//
// Controller thread.
#pragma once

#include <chrono>
#include <future>
#include <string>
#include <utility>

#include "hw/onload/users.h"

namespace nrd::onload {

class UserFinder {
 public:
  // `timeout`: for one process.
  UserFinder(std::string root, std::chrono::milliseconds timeout) : root_(std::move(root)), timeout_(timeout) {}

  InUse find(Walk walk);

 private:
  bool start(Walk walk);
  // False: one process has taken longer than timeout_.
  bool wait();

  const std::string root_;
  const std::chrono::milliseconds timeout_;
  Walk walk_;  // of the last search
  std::future<InUse> search_;
};

}  // namespace nrd::onload
