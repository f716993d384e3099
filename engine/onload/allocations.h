// The allocations where applications get what they need to start with Onload: profiles as variables, and allocations.
//
// An allocation says that a process uses Onload, and is refused when that would not work now: Onload is not loaded, its
// device_access is closed, or so many have one already. It belongs to a process and is released when that ends. It is
// stored: after a restart of nrd it must still be known who uses what, or more would be let in than may be. What the
// application was given to set is not stored, since it may hold secrets.
//
// A thread of its own, for files are read and written (profile_shelf.h) and commits are waited for. `done` functions
// are called on it, or on the caller's when the answer is known at once; they must not block.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/client.h"
#include "base/clock.h"
#include "engine/onload/allocation.h"
#include "engine/onload/controller.h"
#include "engine/onload/profile_repository.h"
#include "engine/process_watcher.h"

namespace nrd::onload {

struct AllocationsOptions {
  std::string versions = "/opt/nrd/onload";
  Trust trust;                                   // of the versions and of the folders that are configured
  std::vector<std::string> profiles;             // configured folders
  std::string state_directory = "/var/lib/nrd";  // nrd's own; profiles of the API lie in it
  size_t most_allocations = 100;                 // workloads with Onload among them
  std::function<size_t()> count_workloads{};     // those with Onload; never waits
};

class Allocations {
 public:
  // `controller`, `owners`, `clock` and what `commit` needs must outlive it. The thread of `owners` must be stopped
  // first.
  static Result<std::unique_ptr<Allocations>> start(const Controller& controller, ProcessWatcher& owners,
                                                    Controller::CommitFn commit, const store::OnloadRecords& records,
                                                    const Clock& clock, AllocationsOptions options);
  virtual ~Allocations() = default;

  virtual void list_profiles(Callback<std::vector<ProfileEntry>> done) = 0;
  virtual void read_profile(std::string id, Callback<ProfileRepository::Found> done) = 0;
  virtual void put_profile(std::string id, std::string text, Callback<ProfileEntry> done) = 0;
  virtual void remove_profile(std::string id, Callback<void> done) = 0;
  virtual void render(RenderRequest request, Form form, Callback<RenderedProfiles> done) = 0;

  // Conflict: Onload is not loaded. Busy: its device_access is closed, or there are too many.
  virtual void allocate(AllocationRequest request, Callback<Allocated> done) = 0;
  // The same for a workload, which is stored elsewhere; one that has Onload already has its place.
  enum class Place { New, Kept };
  virtual void admit(RenderRequest what, Place place, Callback<Admitted> done) = 0;
  virtual void release(uint64_t id, Callback<void> done) = 0;
  // In order of ids. Never waits.
  virtual std::shared_ptr<const std::vector<Allocation>> allocations() const = 0;
};

}  // namespace nrd::onload
