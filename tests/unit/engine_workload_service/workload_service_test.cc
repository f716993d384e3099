#include "engine/workload_service.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include "tests/unit/api_v1/fake_controller.h"
#include "tests/unit/api_v1/fake_engine.h"
#include "tests/unit/api_v1/fixtures.h"
#include "tests/unit/results.h"

namespace nrd::workload_service_test {

using nrd::testing::error_of;

namespace {

constexpr pid_t kNoProcess = 1 << 22;  // PID_MAX_LIMIT: never assigned

// With workload 9, of another process.
NodeState occupied() {
  NodeState state = a_node();
  state.workloads.put(a_workload(9));
  return state;
}

// A client with the run role: this process.
struct RunRole {
  Result<Changed> create(const NewWorkload& workload) {
    Result<Changed> outcome = fail(ErrorCode::Internal, "no answer");
    workloads.create(who, workload, [&outcome](const Result<Changed>& changed) { outcome = changed; });
    return outcome;
  }
  NewWorkload with_key(std::optional<OwnerRequest> owner) {
    return {.spec = a_workload(7).spec, .owner = owner, .key = IdempotencyKey{"key", "hash"}};
  }
  Done created_by(const Owner& owner) {
    Workload workload = a_workload(7);
    workload.spec.owner = owner;
    return done_with(workload);
  }

  FakeEngine engine{occupied()};
  nrd::testing::FakeController controller;
  nrd::testing::Fixture fixture{controller};
  WorkloadService workloads{engine, *fixture.owners, &fixture.launcher};
  Owner self = *fixture.owners->identify(::getpid());
  Requester who{.client = {},
                .caller = Caller{.pid = self.pid, .started = self.start},
                .is_limited_to_own = true,
                .later = [](const std::function<void()>& act) { act(); }};
};

}  // namespace

TEST_CASE("the run role is refused before its key is looked up") {
  RunRole role;
  role.engine.answer_with(role.created_by(role.self));
  for (const auto& owner : {std::optional<OwnerRequest>(), std::optional(OwnerRequest{.pid = kNoProcess})}) {
    const Error refused = error_of(role.create(role.with_key(owner)));
    CHECK(refused.code == ErrorCode::Forbidden);
    CHECK(refused.field == "/owner");
  }
  CHECK(role.engine.lookups == 0);
  CHECK(role.engine.commands().empty());
}

TEST_CASE("a client creates workloads of the origin of its socket, and gets none of another by its key") {
  RunRole role;
  role.who.is_limited_to_own = false;
  role.who.origin = "kubernetes";
  Done done = role.created_by(role.self);
  done.workload.origin = "kubernetes";
  role.engine.answer_with(done);
  REQUIRE(role.create(role.with_key(std::nullopt)));
  CHECK(std::get<CreateWorkload>(role.engine.commands().back()).origin == "kubernetes");
  done.workload.origin = kOriginRest;
  role.engine.answer_with(done);
  const Error refused = error_of(role.create(role.with_key(std::nullopt)));
  CHECK(refused.code == ErrorCode::Forbidden);
  CHECK(refused.field == "Idempotency-Key");
}

TEST_CASE("a client that may not use Onload creates no workload with it") {
  RunRole role;
  role.who.is_limited_to_own = false;
  role.who.may_launch = false;
  NewWorkload workload{.spec = a_workload(7).spec};
  workload.launch = std::make_shared<const onload::RenderRequest>();
  const Error refused = error_of(role.create(workload));
  CHECK(refused.code == ErrorCode::Forbidden);
  CHECK(refused.field == "/onload");
  CHECK(role.engine.commands().empty());
}

TEST_CASE("a key replays a workload of the calling process, but not one of another process") {
  RunRole role;
  NewWorkload exited_task = role.with_key(OwnerRequest{});
  exited_task.task_ids = {kNoProcess};
  const NewWorkload complete = role.with_key(OwnerRequest{});
  for (const NewWorkload& workload : {exited_task, complete}) {
    role.engine.answer_with(role.created_by(role.self));
    CHECK(role.create(workload)->done.workload.id == WorkloadId{7});
    role.engine.answer_with(role.created_by({.pid = 1, .start = 1, .boot_id = role.self.boot_id}));
    CHECK(error_of(role.create(workload)).code == ErrorCode::Forbidden);
  }
  CHECK(role.engine.lookups == 2);  // only for the exited task
}

TEST_CASE("an exited task refuses a create whose key was not used") {
  RunRole role;
  role.engine.answer_with(fail(ErrorCode::NotFound, "none"));
  NewWorkload workload = role.with_key(OwnerRequest{});
  workload.task_ids = {kNoProcess};
  CHECK(error_of(role.create(workload)).field == "/task_ids/0");
  CHECK(role.engine.commands().empty());
}

TEST_CASE("the run role may only name its own tasks") {
  RunRole role;
  NewWorkload workload = role.with_key(OwnerRequest{});
  workload.task_ids = {::getppid()};
  CHECK(role.create(workload).error().field == "/task_ids");
  const WorkloadPatch patch{.id = WorkloadId{7}, .patch = {}, .task_ids = std::vector<pid_t>{::getppid()}};
  Result<Done> dry_run = fail(ErrorCode::Internal, "no answer");
  role.workloads.dry_run(role.who, patch, [&dry_run](const Result<Done>& tried) { dry_run = tried; });
  CHECK(dry_run.error().code == ErrorCode::Forbidden);
}

TEST_CASE("workloads of other processes do not exist for requests of the run role") {
  RunRole role;
  NewWorkload workload{.spec = {}, .owner = OwnerRequest{}};
  workload.spec.cpu = CpuRequest{.pool = "fast", .count = 1, .near = {"workload:9"}};
  const Error near = error_of(role.create(workload));
  CHECK(near.field == "/cpu/near/0");
  CHECK(near.message == "there is no workload 9");
  workload.spec.cpu = CpuRequest{.pool = "fast", .count = 1, .apart = {"9"}};
  const Error apart = error_of(role.create(workload));
  CHECK(apart.field == "/cpu/apart/0");
  CHECK(apart.message == "there is no workload 9");
  CHECK(role.engine.commands().empty());
}

TEST_CASE("CPUs for a unit are not for the calling process that owns the workload") {
  RunRole role;
  role.who.is_limited_to_own = false;
  NewWorkload workload{.spec = {}, .owner = OwnerRequest{}};
  workload.spec.cpu = CpuRequest{.pool = "fast", .count = 1};
  workload.spec.unit = "feed.service";
  (void)role.create(workload);
  const Spec spec = std::get<CreateWorkload>(role.engine.commands().back()).spec;
  CHECK(spec.owner == role.self);
  CHECK(spec.tasks.empty());
  CHECK_FALSE(spec.runs_caller);
}

TEST_CASE("the quota of the calling user applies to the run role alone") {
  RunRole role;
  role.who.caller->user = {.uid = 1001, .groups = {50}};
  for (const bool is_limited : {true, false}) {
    role.who.is_limited_to_own = is_limited;
    const auto expected = is_limited ? std::optional(role.who.caller->user) : std::nullopt;
    const NewWorkload workload{.spec = a_workload(7).spec, .owner = OwnerRequest{}};
    const auto ignore = [](const Result<Changed>&) {};
    role.workloads.create(role.who, workload, ignore);
    role.workloads.patch(role.who, {.id = WorkloadId{7}, .patch = {}}, ignore);
    role.workloads.put(role.who, {.workload = workload}, ignore);
    const auto commands = role.engine.commands();
    REQUIRE(commands.size() >= 3);
    CHECK(std::get<CreateWorkload>(commands.end()[-3]).quota_user == expected);
    CHECK(std::get<PatchWorkload>(commands.end()[-2]).quota_user == expected);
    CHECK(std::get<PutWorkload>(commands.end()[-1]).quota_user == expected);
  }
}

TEST_CASE("an unknown name in a list of requests for CPUs is refused at its place, also in a patch") {
  RunRole role;
  role.who.is_limited_to_own = false;
  NewWorkload workload{.spec = a_workload(7).spec};
  workload.spec.cpu = CpuRequest{.pool = "fast", .count = 1, .near = {"node:0", "workload:99"}};
  CHECK(error_of(role.create(workload)).field.starts_with("/cpu/near/"));
  workload.spec.further_cpus = {{.pool = "slow", .count = 1}};
  CHECK(error_of(role.create(workload)).field.starts_with("/cpu/0/near/"));
  WorkloadPatch patch{.id = WorkloadId{9}, .patch = {}};
  patch.patch.cpu = std::optional(json::Partial<CpuRequest>{.values = *workload.spec.cpu});
  Result<Changed> patched = fail(ErrorCode::Internal, "no answer");
  const auto field_of_patch = [&] {
    role.workloads.patch(role.who, patch, [&patched](const Result<Changed>& changed) { patched = changed; });
    return error_of(patched).field;
  };
  CHECK(field_of_patch().starts_with("/cpu/near/"));
  patch.patch.further_cpus = workload.spec.further_cpus;
  CHECK(field_of_patch().starts_with("/cpu/0/near/"));
}

}  // namespace nrd::workload_service_test
