// What a service needs beside an engine and a keeper: real ones, on folders of their own.
#pragma once

#include <memory>

#include "api/v1/routes.h"
#include "engine/long_poll.h"
#include "engine/onload/desk.h"
#include "engine/process_watcher.h"
#include "tests/unit/hw_onload_modules/folder.h"

namespace nrd::testing {

// Stores nothing, and says that it did.
struct Surroundings {
  explicit Surroundings(const onload::Keeper& keeper, size_t most_allocations = 2)
      : desk(*onload::Desk::start(keeper, *owners, [](const store::OnloadChange&) { return Result<void>(); }, {}, clock,
                                  {.versions = "/opt",
                                   .trust = folder.trust(),
                                   .profiles = {"/etc/profiles"},
                                   .state_directory = folder.path("state"),
                                   .most_allocations = most_allocations})) {
    folder.folder("state");
  }
  ~Surroundings() {
    owners->stop();
    watchers->stop();
  }
  Surroundings(const Surroundings&) = delete;
  Surroundings& operator=(const Surroundings&) = delete;

  v1::House house(Engine& engine, onload::Keeper& keeper) { return {engine, *owners, keeper, *desk, *watchers}; }

  Folder folder;
  SystemClock clock;
  std::unique_ptr<ProcessWatcher> owners{*ProcessWatcher::start()};
  std::unique_ptr<onload::Desk> desk;
  std::unique_ptr<LongPoll> watchers = LongPoll::start();
};

}  // namespace nrd::testing
