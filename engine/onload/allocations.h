// Manages Onload allocations and renders profiles as variables.
//
// An allocation records that a process uses Onload. It is refused if Onload is not loaded, device access is closed, or
// the limit is reached. It belongs to a process and is released when that exits. Allocations are stored so that the
// limit holds across a restart of nrd; the application's variables are not, since they may hold secrets.
//
// Runs its own thread, because it reads and writes files (profile_repository.h) and waits for commits. `done` functions
// are called on that thread, or on the caller's if the result is known at once; they must not block.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/client.h"
#include "base/clock.h"
#include "engine/onload/allocation.h"
#include "engine/onload/profile_repository.h"

namespace nrd {
class OwnerWatcher;
}

namespace nrd::onload {

class Controller;

// Including workloads with Onload.
struct AllocationLimits {
  size_t most = 100;
  std::map<std::string, size_t> reserved{};  // of these, by origin: for it alone, and its limit
  friend bool operator==(const AllocationLimits&, const AllocationLimits&) = default;
};

struct AllocationsOptions {
  std::string versions = "/opt/nrd/onload";
  Trust trust;                                   // for versions and configured folders
  std::vector<std::string> profiles;             // configured folders
  std::string state_directory = "/var/lib/nrd";  // holds profiles stored over the API
  AllocationLimits limits{};
  std::function<std::map<std::string, size_t>()> count_workloads{};  // with Onload, by origin; never blocks
};

class Allocations {
 public:
  // `controller`, `owners`, `clock` and what `commit` needs must outlive it. Stop the thread of `owners` first.
  static std::unique_ptr<Allocations> start(const Controller& controller, OwnerWatcher& owners, CommitFn commit,
                                            const Stored& stored, const Clock& clock, AllocationsOptions options);
  virtual ~Allocations() = default;

  // Any thread.
  virtual void set_limits(AllocationLimits limits) = 0;

  virtual void list_profiles(Callback<std::vector<ProfileEntry>> done) = 0;
  virtual void read_profile(std::string id, Callback<ProfileRepository::Found> done) = 0;
  virtual void put_profile(std::string id, std::string text, Callback<ProfileEntry> done) = 0;
  virtual void remove_profile(std::string id, Callback<void> done) = 0;
  virtual void render(RenderRequest request, Form form, Callback<RenderedProfiles> done) = 0;

  // Conflict: Onload is not loaded. Busy: device access is closed, or the limit is reached.
  virtual void allocate(AllocationRequest request, Callback<Allocated> done) = 0;
  // The same for a workload, which is stored elsewhere; Renewal::Yes if the workload already has Onload.
  enum class Renewal { No, Yes };
  virtual void admit(RenderRequest what, Renewal renewal, std::string origin, Callback<Admitted> done) = 0;
  virtual void release(uint64_t id, Callback<void> done) = 0;
  // Ordered by id. Never blocks.
  virtual std::shared_ptr<const std::vector<Allocation>> allocations() const = 0;
};

}  // namespace nrd::onload
