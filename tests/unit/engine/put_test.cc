#include "engine/plan/put.h"

#include <doctest/doctest.h>

#include "engine/plan/grant.h"
#include "tests/unit/engine/fixtures.h"

namespace nrd::put_test {

using namespace nrd::testing;

namespace {

struct Fixture : TransactionFixture {
  Fixture() { start(); }
  Result<Done> put(Spec spec, PutWorkload wanted = {}) {
    wanted.spec = std::move(spec);
    wanted.spec.given_id = "feed";
    const std::vector<Command> commands{wanted};
    return transaction->apply(commands).front();
  }
};

Spec named(Spec spec, const std::string& name) {
  spec.name = name;
  return spec;
}

}  // namespace

TEST_CASE("the second of two equal puts in a batch neither creates nor changes") {
  Fixture fixture;
  PutWorkload put;
  put.spec = a_spec("4").ways(2, 2);
  put.spec.given_id = "feed";
  const std::vector<Command> commands{put, put};
  const auto outcomes = fixture.transaction->apply(commands);
  REQUIRE(outcomes[0]);
  REQUIRE(outcomes[1]);
  CHECK(outcomes[0]->is_new);
  CHECK_FALSE(outcomes[1]->is_new);
  CHECK(outcomes[0]->workload == outcomes[1]->workload);
  CHECK(outcomes[1]->workload.revision == 1);
}

TEST_CASE("a change of names alone neither plans nor writes to the hardware") {
  Fixture fixture;
  REQUIRE(fixture.put(a_spec("4").ways(2, 2)));
  const auto before = fixture.state().workloads.begin()->second.grant;
  const auto writes = fixture.hardware.writes;
  // The pool would be too small for another plan.
  REQUIRE(fixture.put(named(a_spec("4").ways(2, 2), "a")));
  CHECK(fixture.hardware.writes == writes);
  CHECK(fixture.state().workloads.begin()->second.grant == before);
  CHECK(fixture.state().workloads.begin()->second.revision == 2);
}

TEST_CASE("a put keeps to its source, its conditions and its owner") {
  Fixture fixture;
  REQUIRE(fixture.put(a_spec("4").ways(2, 2), {.origin = "FILE"}));
  CHECK(fixture.put(a_spec("4").ways(1, 1)).error().code == ErrorCode::Forbidden);
  CHECK(fixture.put(a_spec("4").ways(1, 1), {.must_be_new = true}).error().code == ErrorCode::Stale);
  CHECK(fixture.put(a_spec("4").ways(1, 1), {.origin = "FILE", .known = WorkloadId{9}}).error().code ==
        ErrorCode::Stale);
  CHECK(fixture.put(a_spec("4").ways(1, 1), {.origin = "FILE", .known = WorkloadId{1}, .if_revision = {{7}}})
            .error()
            .code == ErrorCode::Stale);
  CHECK(fixture.put(a_spec("4").ways(1, 1), {.origin = "FILE", .only = Owner{.pid = 1}}).error().code ==
        ErrorCode::IdTaken);
  const auto forced = value_of(fixture.put(a_spec("4").ways(1, 1), {.is_forced = true}));
  CHECK(forced.workload.origin == "FILE");
}

TEST_CASE(
    "a client limited to its own workloads neither changes nor sees one that was given to another owner meanwhile") {
  Fixture fixture;
  const Owner mine{.pid = 1, .start = 7, .boot_id = "boot-1"};
  const auto owned_by = [](pid_t pid) {
    Spec spec = a_spec("4").ways(2, 2);
    spec.given_id = "feed";
    spec.owner = Owner{.pid = pid, .start = 7, .boot_id = "boot-1"};
    return PutWorkload{.spec = spec};
  };
  REQUIRE(fixture.transaction->apply(std::vector<Command>{owned_by(1)}).front());
  PatchWorkload rename{.id = WorkloadId{1}, .patch = {}, .only = mine};
  rename.patch.name = "mine";
  const std::vector<Command> commands{rename, owned_by(2), rename, DeleteWorkload{.id = WorkloadId{1}, .only = mine}};
  const auto outcomes = fixture.transaction->apply(commands);
  REQUIRE(outcomes[0]);
  CHECK(outcomes[0]->workload.spec.name == "mine");
  CHECK(outcomes[0]->workload.spec.owner == mine);
  REQUIRE(outcomes[1]);
  CHECK(error_of(outcomes[2]).code == ErrorCode::NotFound);
  CHECK(error_of(outcomes[3]).code == ErrorCode::NotFound);
  CHECK(fixture.state().workloads.at(WorkloadId{1}).spec.name.empty());
  CHECK(error_of(fixture.dry_run(rename)).code == ErrorCode::NotFound);
}

TEST_CASE("a name belongs to one workload") {
  Fixture fixture;
  REQUIRE(fixture.put(named(a_spec("4").ways(2, 2), "a")));
  CHECK(fixture.create(named(a_spec("5").ways(1, 1), "a")).error().code == ErrorCode::NameTaken);
  const auto other = value_of(fixture.create(named(a_spec("5").ways(1, 1), "b")));
  CHECK(fixture.patch(other.id, {.name = "a"}).error().code == ErrorCode::NameTaken);
  CHECK(fixture.put(named(a_spec("4").ways(2, 2), "a")));
}

TEST_CASE("a patch merges labels and refuses too many") {
  Fixture fixture;
  Spec spec = a_spec("4").ways(2, 2);
  spec.labels = {{"team", "trading"}, {"rack", "r1"}};
  const auto made = value_of(fixture.create(spec));
  SpecPatch patch;
  patch.labels = std::map<std::string, std::optional<std::string>>{{"rack", std::nullopt}, {"slot", "3"}};
  CHECK(fixture.patch(made.id, patch)->spec.labels == Labels{{"team", "trading"}, {"slot", "3"}});
  for (int i = 0; i < 40; ++i) (**patch.labels)["k" + std::to_string(i)] = "";
  CHECK(fixture.patch(made.id, patch).error().field == "/labels");
  patch.labels = std::optional<std::map<std::string, std::optional<std::string>>>();
  CHECK(fixture.patch(made.id, patch)->spec.labels.empty());
}

TEST_CASE("a given id is neither the uuid nor the name of another workload") {
  Fixture fixture;
  Spec first = named(a_spec("4").ways(1, 1), "feed");
  first.uuid = "u";
  REQUIRE(fixture.create(first));
  Spec second = a_spec("5").ways(1, 1);
  for (const char* taken : {"feed", "u", "1"}) {
    second.given_id = taken;
    CHECK(fixture.create(second).error().code == ErrorCode::IdTaken);
  }
  second.given_id = "own";
  second.name = "own";
  REQUIRE(fixture.create(second));
  Spec third = a_spec("6").ways(1, 1);
  third.name = "own";
  CHECK(fixture.create(third).error().code == ErrorCode::NameTaken);
  third.name = "1";  // an id that nrd has chosen
  third.uuid = "own";
  CHECK(fixture.create(third).error().code == ErrorCode::UuidTaken);
  third.uuid.clear();
  CHECK(fixture.create(third));
}

TEST_CASE("a node keeps no more workloads than one answer can list, and fewer of the role run") {
  constexpr uint64_t kMost = 4096;
  constexpr uint64_t kMostWithRun = 3072;
  Fixture fixture;
  NodeState state = fixture.state();
  const auto create = [&state](const std::optional<LocalUser>& user) {
    return plan::create(state, WorkloadId{kMost + 1}, a_spec("4").ways(1, 1), {}, user);
  };
  for (uint64_t id = 1; id <= kMost; ++id) {
    CAPTURE(id);
    if (id == kMostWithRun || id == kMost) CHECK(create({}));
    if (id == kMostWithRun) CHECK(create(LocalUser{.uid = 1000}));
    Workload other;
    other.id = WorkloadId{id};
    state.workloads.put(other);
    if (id == kMostWithRun || id == kMost) CHECK(create(LocalUser{.uid = 1000}).error().code == ErrorCode::NotEnough);
  }
  CHECK(create({}).error().code == ErrorCode::NotEnough);
}

}  // namespace nrd::put_test
