// Creates, changes and deletes workloads for clients: resolves the processes that a request names, limits a client to
// workloads of its own process, replays a create by its Idempotency-Key, has the launcher admit the workload, and then
// submits the command to the engine.
//
// Thread-safe. `done` is called once: here, on the engine thread or on that of the launcher. It must not block.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/launcher.h"
#include "engine/requester.h"
#include "engine/transaction/engine.h"

namespace nrd {

struct NewWorkload {
  Spec spec;  // without owner, tasks and what the launcher adds
  std::optional<std::vector<pid_t>> task_ids{};
  std::optional<OwnerRequest> owner{};
  LaunchRequest launch{};
  std::optional<IdempotencyKey> key{};
};

struct WorkloadPatch {
  WorkloadId id;
  SpecPatch patch;  // without tasks; of the launcher only what is removed
  std::optional<std::vector<pid_t>> task_ids{};
  LaunchRequest launch{};
  IfRevision if_revision{};
};

// Creates the workload, or replaces the whole request of the one with the id `workload.spec.given_id`.
struct WorkloadReplacement {
  NewWorkload workload;    // without a key
  bool is_forced = false;  // as in PutWorkload, as are the following
  bool must_be_new = false;
  std::optional<WorkloadId> known{};
  IfRevision if_revision{};
};

struct Changed {
  Done done;
  Launch launch{};
};

class WorkloadService {
 public:
  template <typename T>
  using Answer = std::function<void(const Result<T>&)>;

  // All three must outlive the requests. Without a launcher no request may have a `launch`.
  WorkloadService(Engine& engine, OwnerWatcher& owners, Launcher* launcher)
      : engine_(engine), owners_(owners), launcher_(launcher) {}

  // The workload with this id, as a client writes it; nullptr if it does not exist or the client may not access it.
  const Workload* find(const NodeState& state, const Requester& who, std::string_view id) const;

  void create(const Requester& who, const NewWorkload& workload, Answer<Changed> done) const;
  void patch(const Requester& who, const WorkloadPatch& patch, Answer<Changed> done) const;
  void put(const Requester& who, const WorkloadReplacement& replacement, Answer<Changed> done) const;
  void remove(const Requester& who, DeleteWorkload command, const Answer<Changed>& done) const;

  // The same checks; changes nothing (Engine::dry_run).
  void dry_run(const Requester& who, const NewWorkload& workload, const Answer<Done>& done) const;
  void dry_run(const Requester& who, const WorkloadPatch& patch, const Answer<Done>& done) const;
  void dry_run(const Requester& who, const WorkloadReplacement& replacement, const Answer<Done>& done) const;

 private:
  Result<CreateWorkload> command_of(const Requester& who, const NewWorkload& workload) const;
  Result<PatchWorkload> command_of(const Requester& who, const WorkloadPatch& patch) const;
  Result<PutWorkload> command_of(const Requester& who, const WorkloadReplacement& replacement) const;
  // Calls `then` with the command once the launcher has admitted what the request asks of it.
  void admit(const Requester& who, const LaunchRequest& launch, Command command, const Launcher::Admitted& then) const;
  // Submits it after that. `owner`: of the workload that it creates or replaces.
  void submit_admitted(const Requester& who, const LaunchRequest& launch, const Command& command,
                       const std::optional<Owner>& owner, const Answer<Changed>& done) const;
  template <typename Request>
  void dry_run_admitted(const Requester& who, const Request& request, const LaunchRequest& launch,
                        const Answer<Done>& done) const;
  void replay_or(const Requester& who, const NewWorkload& workload, const std::optional<Owner>& only,
                 const Answer<Changed>& done, const std::function<void()>& first_time) const;

  Engine& engine_;
  OwnerWatcher& owners_;
  Launcher* launcher_;
};

}  // namespace nrd
