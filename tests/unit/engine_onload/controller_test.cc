#include "engine/onload/controller.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <future>
#include <map>
#include <mutex>
#include <thread>

#include "base/wait_list.h"
#include "engine/onload/documents.h"
#include "engine/onload/dry_run.h"
#include "tests/unit/engine_onload/fake_host.h"
#include "tests/unit/results.h"

namespace nrd::onload::controller_test {

using namespace nrd::testing;

namespace {

using Names = std::vector<std::string>;

// What was stored, as a store would hold it. Writes fail while `broken`.
class MemoryLedger {
 public:
  std::atomic<bool> broken{false};

  Result<void> store(const Change& change) {
    if (broken) return fail(ErrorCode::Store, "the disk is full");
    const std::lock_guard hold(lock_);
    const store::DocumentChange documents = to_documents(change);
    for (const store::DocumentId& id : documents.removed) documents_.erase(id);
    for (const auto& [id, json] : documents.put) documents_[id] = json;
    return {};
  }
  Stored stored() const {
    const std::lock_guard hold(lock_);
    std::vector<store::Document> documents;
    for (const auto& [id, json] : documents_) documents.push_back({id, json});
    return *from_documents(documents);
  }

 private:
  mutable std::mutex lock_;
  std::map<store::DocumentId, std::string> documents_;
};

Spec a_spec(const std::string& version) { return {.state = State::Loaded, .version = version}; }

// The node is of the controller's thread; between the calls below that thread waits for a task and leaves it alone.
struct Fixture {
  FakeNode node;
  MemoryLedger commit;
  SystemClock clock;
  ControllerOptions options{.refresh_interval = std::chrono::hours(1)};
  std::unique_ptr<Controller> controller;

  void start() {
    controller = Controller::start(
        node, [this](const Change& change) { return commit.store(change); }, commit.stored(), clock, options);
  }
  // start() is a boot then.
  void power_off() {
    controller.reset();
    node.observed = {};
  }
  template <typename T, typename Ask>
  Result<T> ask(Ask question) {
    std::promise<Result<T>> answer;
    question([&answer](Result<T> done) { answer.set_value(std::move(done)); });
    return answer.get_future().get();
  }
  Result<Accepted> apply(Spec spec, std::optional<uint64_t> if_match = {}) {
    return ask<Accepted>([&](auto done) { controller->apply(std::move(spec), if_match, std::move(done)); });
  }
  Result<Accepted> roll_back(std::optional<uint64_t> to) {
    return ask<Accepted>([&](auto done) { controller->roll_back(to, std::move(done)); });
  }
  Result<void> refresh() {
    return ask<void>([&](auto done) { controller->refresh(std::move(done)); });
  }
  Result<void> freeze(Freeze wanted) {
    return ask<void>([&](auto done) { controller->set_freeze(std::move(wanted), std::move(done)); });
  }
  Result<Accepted> drain(const Drain& how = {}) {
    return ask<Accepted>([&](auto done) { controller->drain(how, std::move(done)); });
  }
  Result<Accepted> cancel(uint64_t id) {
    return ask<Accepted>([&](auto done) { controller->cancel(id, std::move(done)); });
  }
  // Until no operation is under plan and its thread waits.
  std::shared_ptr<const Status> settled() {
    (void)refresh();  // no task is served before what the start begins is begun
    while (running(*controller->status()) != nullptr) std::this_thread::yield();
    (void)refresh();
    return controller->status();
  }
  // The same, once `count` operations are over.
  std::shared_ptr<const Status> settled_after(size_t count) {
    const auto until = clock.steady() + std::chrono::seconds(5);
    const auto is_over = [&](const Status& status) {
      return status.operations.size() >= count && status.operations.back().outcome != Outcome::Running;
    };
    while (!is_over(*controller->status()) && clock.steady() < until) std::this_thread::yield();
    return settled();
  }
  std::shared_ptr<const Status> load(const std::string& version) {
    const auto accepted = value_of(apply(a_spec(version)));
    REQUIRE(accepted.operation);
    return settled();
  }
};

struct StartedFixture : Fixture {
  StartedFixture() { start(); }
};

// With version 8.1.
struct LoadedFixture : StartedFixture {
  LoadedFixture() { load("8.1"); }

  // An operation that waits for a user to end.
  Accepted wait_for_users() {
    node.users = {User{.process = {4711, 99}, .comm = "feed"}};
    Spec spec = a_spec("9.0");
    spec.users = UsersPolicy::Wait;
    return value_of(apply(spec));
  }
};

}  // namespace

TEST_CASE("the first spec is loaded, verified and opens device access") {
  StartedFixture fixture;
  const auto accepted = value_of(fixture.apply(a_spec("8.1")));
  CHECK(accepted.generation == 1);
  CHECK(accepted.operation == 1);
  const auto status = fixture.settled();
  CHECK(fixture.node.is(a_release("8.1")));
  CHECK(status->device_access_open);
  CHECK(status->drift.empty());
  REQUIRE(effective(*status) != nullptr);
  CHECK(effective(*status)->spec == a_spec("8.1"));
  CHECK(effective(*status)->verified.has_value());
  CHECK(status->operations.back().outcome == Outcome::Succeeded);
  const Stored stored = fixture.commit.stored();
  REQUIRE(stored.generations.size() == 1);
  CHECK(stored.generations.front() == status->generations.front());
  CHECK(stored.operations.front() == status->operations.front());
}

TEST_CASE("a spec that is already fulfilled starts no operation") {
  LoadedFixture fixture;
  fixture.node.done.clear();
  const auto accepted = value_of(fixture.apply(a_spec("8.1")));
  CHECK(accepted.generation == 1);
  CHECK_FALSE(accepted.operation);
  CHECK(fixture.node.done.empty());
  CHECK(fixture.commit.stored().generations.size() == 1);
}

TEST_CASE("a client with an outdated generation changes nothing") {
  LoadedFixture fixture;
  CHECK(error_of(fixture.apply(a_spec("9.0"), 0)).code == ErrorCode::Stale);
  CHECK(fixture.apply(a_spec("9.0"), 1));
  CHECK(fixture.settled()->generations.size() == 2);
}

TEST_CASE("with the policy fail, users cause a conflict before anything changes") {
  LoadedFixture fixture;
  fixture.node.users = {User{.process = {4711, 99}, .comm = "feed"}};
  fixture.node.done.clear();
  const Error refused = error_of(fixture.apply(a_spec("9.0")));
  CHECK(refused.code == ErrorCode::Conflict);
  CHECK(refused.message.find("feed (pid 4711)") != std::string::npos);
  CHECK(fixture.node.done.empty());
  CHECK(fixture.controller->status()->device_access_open);
}

TEST_CASE("a frozen node accepts no spec until it is thawed, also after a restart") {
  StartedFixture fixture;
  REQUIRE(fixture.freeze({true, "trading"}));
  for (int life = 0; life < 2; ++life) {
    const Error refused = error_of(fixture.apply(a_spec("8.1")));
    CHECK(refused.code == ErrorCode::Locked);
    CHECK(refused.message == "Onload is frozen: trading");
    fixture.controller.reset();
    fixture.start();
  }
  REQUIRE(fixture.freeze({}));
  fixture.load("8.1");
}

TEST_CASE("a users policy beyond the node's limit is refused") {
  StartedFixture fixture;
  Spec spec = a_spec("8.1");
  spec.users = UsersPolicy::Kill;
  const Error refused = error_of(fixture.apply(spec));
  CHECK(refused.code == ErrorCode::BadRequest);
  CHECK(refused.field == "/users_policy");
}

TEST_CASE("a rollback goes to the previous verified generation or to the given one") {
  LoadedFixture fixture;
  fixture.load("9.0");
  fixture.load("9.1");
  REQUIRE(fixture.roll_back({}));
  CHECK(fixture.settled()->generations.back().spec == a_spec("9.0"));
  CHECK(fixture.node.is(a_release("9.0")));
  REQUIRE(fixture.roll_back(1));
  CHECK(fixture.settled()->generations.back().spec == a_spec("8.1"));
  CHECK(fixture.node.is(a_release("8.1")));
  CHECK(error_of(fixture.roll_back(77)).code == ErrorCode::NotFound);
}

TEST_CASE("without an earlier verified generation a rollback is refused") {
  LoadedFixture fixture;
  CHECK(error_of(fixture.roll_back({})).code == ErrorCode::NotFound);
}

TEST_CASE("a version that fails to start is rolled back, and the previous one stays effective") {
  LoadedFixture fixture;
  fixture.node.acts = 0;
  fixture.node.fails_at = 7;  // close, stop, 3 x remove, switch, insert
  fixture.node.cause = "syscall_table";
  REQUIRE(fixture.apply(a_spec("9.0")));
  const auto status = fixture.settled();
  CHECK(status->operations.back().outcome == Outcome::RolledBack);
  CHECK(status->operations.back().cause == "syscall_table");
  CHECK(status->generations.back().verdict == Verdict::Failed);
  CHECK(effective(*status)->number == 1);
  CHECK(fixture.node.is(a_release("8.1")));
  CHECK(status->device_access_open);
}

TEST_CASE("after a rollback, a request of the generation in force succeeds and touches no module") {
  LoadedFixture fixture;
  fixture.node.acts = 0;
  fixture.node.fails_at = 7;
  REQUIRE(fixture.apply(a_spec("9.0")));
  REQUIRE(fixture.settled()->operations.back().outcome == Outcome::RolledBack);
  REQUIRE(value_of(fixture.roll_back(1)).operation);
  const auto status = fixture.settled();
  CHECK(status->operations.back().outcome == Outcome::Succeeded);
  CHECK(std::ranges::none_of(status->operations.back().steps, [](const Step& step) {
    return step.act == Act::EndUsers || step.act == Act::Remove || step.act == Act::Insert;
  }));
}

TEST_CASE("a first spec that fails restores the distribution's driver it replaced") {
  Fixture fixture;
  fixture.node.observed.modules["sfc"] = {.name = "sfc", .build_id = "system"};
  fixture.start();
  fixture.node.fails_at = 6;  // close, remove, switch, sfc, sfc_resource
  Spec spec = a_spec("8.1");
  spec.sfc = Sfc::Managed;
  REQUIRE(fixture.apply(spec));
  const auto status = fixture.settled();
  CHECK(status->operations.back().outcome == Outcome::RolledBack);
  REQUIRE(fixture.node.observed.modules.size() == 1);
  CHECK(fixture.node.observed.modules.at("sfc").build_id == "system");
}

TEST_CASE("the control plane is not restarted while stacks use it") {
  LoadedFixture fixture;
  fixture.node.in_use = {{.id = 3}, {.id = 4}};
  const auto restart = [&] {
    return fixture.ask<Accepted>([&](auto done) { fixture.controller->restart_control_plane(std::move(done)); });
  };
  const Error refused = error_of(restart());
  CHECK(refused.code == ErrorCode::Conflict);
  CHECK(refused.message.starts_with("2 stacks use the control plane server"));
  fixture.node.in_use.clear();
  REQUIRE(restart());
  CHECK(fixture.settled()->operations.back().outcome == Outcome::Succeeded);
}

TEST_CASE("a failed rollback keeps device access closed until the next spec") {
  LoadedFixture fixture;
  fixture.node.acts = 0;
  fixture.node.fails_at = 7;
  fixture.node.fails_until = 1000;
  REQUIRE(fixture.apply(a_spec("9.0")));
  auto status = fixture.settled();
  CHECK(status->operations.back().outcome == Outcome::Failed);
  CHECK_FALSE(status->device_access_open);
  CHECK_FALSE(fixture.node.device_access_is_open);
  fixture.node.fails_at = 0;
  CHECK(fixture.load("8.1")->device_access_open);
  CHECK(fixture.node.device_access_is_open);
}

TEST_CASE("an operation interrupted by a crash is continued") {
  Fixture fixture;
  const Generation generation{.number = 1, .spec = a_spec("8.1")};
  Operation operation{.id = 1, .generation = 1};
  operation.steps.push_back({.act = Act::Insert, .subject = "sfc_resource"});
  REQUIRE(fixture.commit.store({.generations = {generation}, .operations = {operation}}));
  fixture.start();
  const auto status = fixture.settled();
  CHECK(fixture.node.is(a_release("8.1")));
  REQUIRE(status->operations.size() == 1);
  CHECK(status->operations.front().outcome == Outcome::Succeeded);
  CHECK(status->operations.front().steps.front().progress == Progress::Interrupted);
  CHECK(effective(*status)->number == 1);
}

TEST_CASE("an interrupted operation to a removed version fails with the reason") {
  Fixture fixture;
  fixture.node.missing = {"8.1"};
  REQUIRE(fixture.commit.store({.generations = {Generation{.number = 1, .spec = a_spec("8.1")}},
                                .operations = {Operation{.id = 1, .generation = 1}}}));
  fixture.start();
  const auto status = fixture.settled();
  CHECK(status->operations.front().outcome == Outcome::Failed);
  CHECK(status->operations.front().cause == "version");
  CHECK(status->generations.front().verdict == Verdict::Failed);
}

TEST_CASE("an upgrade whose version is gone after a crash or for the kernel of this boot is rolled back") {
  for (const bool boots : {true, false}) {
    for (const bool inserted : {true, false}) {
      CAPTURE(boots);
      CAPTURE(inserted);
      LoadedFixture fixture;
      fixture.controller.reset();
      Operation operation{.id = 2, .generation = 2};
      operation.steps.push_back({.act = Act::CloseDeviceAccess, .progress = Progress::Done});
      if (inserted) operation.steps.push_back({.act = Act::Insert, .subject = "onload", .progress = Progress::Done});
      if (inserted) fixture.node.put(a_release("9.0"));
      if (!inserted) REQUIRE(fixture.node.close_device_access());
      if (boots) fixture.node.observed = {};
      fixture.node.missing = {"9.0"};
      REQUIRE(fixture.commit.store(
          {.generations = {Generation{.number = 2, .spec = a_spec("9.0")}}, .operations = {operation}}));
      fixture.start();
      const auto status = fixture.settled_after(boots && !inserted ? 3 : 2);
      const Operation& upgrade = status->operations[1];
      CHECK(upgrade.outcome == Outcome::RolledBack);
      CHECK(upgrade.cause == "version");
      CHECK(upgrade.message == "is not installed");
      CHECK(status->generations.back().verdict == Verdict::Failed);
      CHECK(fixture.node.is(a_release("8.1")));
      CHECK(status->device_access_open);
      CHECK(fixture.node.device_access_is_open);
    }
  }
}

TEST_CASE("a changed node whose versions are all gone admits no new users") {
  LoadedFixture fixture;
  fixture.controller.reset();
  Operation operation{.id = 2, .generation = 2};
  operation.steps.push_back({.act = Act::Insert, .subject = "onload", .progress = Progress::Done});
  fixture.node.put(a_release("9.0"));
  fixture.node.missing = {"8.1", "9.0"};
  REQUIRE(fixture.commit.store(
      {.generations = {Generation{.number = 2, .spec = a_spec("9.0")}}, .operations = {operation}}));
  fixture.start();
  const auto status = fixture.settled();
  CHECK(status->operations.back().outcome == Outcome::Failed);
  CHECK(status->operations.back().cause == "version");
  CHECK_FALSE(fixture.node.device_access_is_open);
}

TEST_CASE("after a boot the last verified generation is loaded, unless the node only observes or is frozen") {
  for (const bool applies : {true, false}) {
    for (const bool frozen : {true, false}) {
      CAPTURE(applies);
      CAPTURE(frozen);
      LoadedFixture fixture;
      fixture.power_off();
      fixture.options.at_start = applies ? AtStart::Apply : AtStart::Observe;
      REQUIRE(fixture.commit.store({.freeze = Freeze{.frozen = frozen, .reason = {}}}));
      fixture.start();
      const auto status = fixture.settled();
      CHECK(fixture.node.observed.modules.contains("onload") == (applies && !frozen));
      CHECK(status->drift.empty() == (applies && !frozen));
      CHECK(status->generations.size() == 1);
    }
  }
}

TEST_CASE("drivers of network cards that udev has loaded at boot do not keep Onload from being loaded") {
  LoadedFixture fixture;
  fixture.power_off();
  for (const char* driver : {"sfc", "sfc_driverlink", "virtual_bus", "sfc_ef100", "xilinx_efct"})
    fixture.node.observed.modules[driver] = {.name = driver, .build_id = "vendor"};
  fixture.start();
  const auto status = fixture.settled();
  CHECK(status->observed.modules.contains("onload"));
  CHECK(status->observed.modules.contains("sfc_driverlink"));
}

TEST_CASE("after a boot on a full disk or an unreadable node, Onload is loaded once that is over") {
  for (const bool is_full : {true, false}) {
    CAPTURE(is_full);
    Fixture fixture;
    fixture.options.refresh_interval = std::chrono::milliseconds(2);
    fixture.start();
    fixture.load("8.1");
    fixture.power_off();
    fixture.commit.broken = is_full;
    fixture.node.is_unreadable = !is_full;
    fixture.start();
    for (int i = 0; i < 5; ++i) CHECK(fixture.refresh().has_value() == is_full);
    CHECK_FALSE(fixture.controller->status()->device_access_open);
    fixture.commit.broken = false;
    fixture.node.is_unreadable = false;
    const auto until = fixture.clock.steady() + std::chrono::seconds(5);
    while (!fixture.controller->status()->device_access_open && fixture.clock.steady() < until)
      std::this_thread::yield();
    CHECK(fixture.controller->status()->device_access_open);
    fixture.controller.reset();
    CHECK(fixture.node.is(a_release("8.1")));
  }
}

TEST_CASE("after a boot on a full disk, a client's spec takes the place of the last one") {
  LoadedFixture fixture;
  fixture.power_off();
  fixture.commit.broken = true;
  fixture.start();
  REQUIRE(fixture.refresh());
  fixture.commit.broken = false;
  fixture.load("9.0");
  fixture.controller.reset();
  CHECK(fixture.node.is(a_release("9.0")));
}

TEST_CASE("a version that fails to load after a boot is tried again at the next boot") {
  LoadedFixture fixture;
  fixture.power_off();
  fixture.node.acts = 0;
  fixture.node.fails_at = 1;
  fixture.node.fails_until = 1000;
  fixture.start();
  auto status = fixture.settled();
  CHECK(status->operations.back().outcome == Outcome::Failed);
  CHECK(effective(*status)->number == 1);
  fixture.controller.reset();
  fixture.node.fails_at = 0;
  fixture.start();
  CHECK(fixture.settled()->device_access_open);
}

TEST_CASE("modules loaded by others are reported as drift and left untouched, also at start") {
  LoadedFixture fixture;
  fixture.node.put(a_release("7.0"));
  fixture.node.done.clear();
  REQUIRE(fixture.refresh());
  for (int life = 0; life < 2; ++life) {
    const auto status = fixture.settled();
    CHECK(status->drift.find("unexpected file") != std::string::npos);
    CHECK_FALSE(status->device_access_open);
    CHECK(fixture.node.done.empty());
    fixture.controller.reset();
    fixture.start();
  }
  // Who wants it all the same says so.
  CHECK(fixture.load("8.1")->device_access_open);
}

TEST_CASE("a spec that cannot be stored changes nothing") {
  StartedFixture fixture;
  fixture.commit.broken = true;
  CHECK(error_of(fixture.apply(a_spec("8.1"))).code == ErrorCode::Store);
  CHECK(fixture.settled()->generations.empty());
  CHECK(fixture.node.done.empty());
}

TEST_CASE("an operation whose steps cannot be stored stays open and ends once they can") {
  Fixture fixture;
  fixture.options.refresh_interval = std::chrono::milliseconds(2);
  Operation operation{.id = 1, .generation = 1};
  REQUIRE(fixture.commit.store(
      {.generations = {Generation{.number = 1, .spec = a_spec("8.1")}}, .operations = {operation}}));
  fixture.commit.broken = true;
  fixture.start();
  for (int i = 0; i < 5; ++i) REQUIRE(fixture.refresh());
  CHECK(running(*fixture.controller->status()) != nullptr);
  fixture.commit.broken = false;
  while (running(*fixture.controller->status()) != nullptr) std::this_thread::yield();
  CHECK(effective(*fixture.controller->status())->number == 1);
  fixture.controller.reset();
  CHECK(fixture.node.is(a_release("8.1")));
}

TEST_CASE("generations and operations are bounded, and the effective one is kept") {
  Fixture fixture;
  fixture.options.kept = 4;
  fixture.start();
  fixture.load("8.1");
  fixture.node.fails_at = 1;
  fixture.node.fails_until = 1000000;
  for (int i = 0; i < 10; ++i) {
    REQUIRE(fixture.apply(a_spec("9." + std::to_string(i))));
    fixture.settled();
  }
  const auto status = fixture.controller->status();
  CHECK(status->generations.size() <= 5);
  CHECK(status->operations.size() <= 4);
  REQUIRE(effective(*status) != nullptr);
  CHECK(effective(*status)->number == 1);
  CHECK(status->generations.back().number == 11);
  CHECK(fixture.commit.stored().generations.size() == status->generations.size());
  CHECK(fixture.commit.stored().operations.size() == status->operations.size());
}

TEST_CASE("unloading is a spec like any other") {
  LoadedFixture fixture;
  REQUIRE(fixture.apply({.state = State::Unloaded}));
  const auto status = fixture.settled();
  CHECK(fixture.node.observed.modules.empty());
  CHECK(status->drift.empty());
  CHECK_FALSE(status->device_access_open);
}

TEST_CASE("unmanaged modules are neither loaded nor drift") {
  LoadedFixture fixture;
  const auto accepted = value_of(fixture.apply({.state = State::Unmanaged}));
  CHECK_FALSE(accepted.operation);
  fixture.node.put(a_release("7.0"));
  REQUIRE(fixture.refresh());
  CHECK(fixture.controller->status()->drift.empty());
}

TEST_CASE("the effective version cannot be removed") {
  LoadedFixture fixture;
  const auto remove = [&](const std::string& name) {
    return fixture.ask<void>([&](auto done) { fixture.controller->remove_version(name, std::move(done)); });
  };
  CHECK(error_of(remove("8.1")).code == ErrorCode::Conflict);
  CHECK(remove("7.0"));
  CHECK(fixture.node.removed_versions == Names{"7.0"});
}

TEST_CASE("a verification reports faults and changes nothing") {
  StartedFixture fixture;
  const auto verify = [&] {
    return fixture.ask<Verification>([&](auto done) { fixture.controller->verify(std::move(done)); });
  };
  CHECK(verify().error().code == ErrorCode::Conflict);
  fixture.load("8.1");
  CHECK_FALSE(verify()->step_error);
  fixture.node.acts = 0;
  fixture.node.fails_at = 1;
  fixture.node.cause = "control_plane";
  CHECK(verify()->step_error->cause == "control_plane");
  fixture.node.observed.modules.erase("onload");
  CHECK(verify()->step_error->cause == "drifted");
  CHECK(fixture.controller->status()->operations.size() == 1);
}

TEST_CASE("a drained node stays drained over restarts and a boot until it is undrained") {
  LoadedFixture fixture;
  const auto drained = value_of(fixture.drain());
  REQUIRE(drained.operation);
  for (int life = 0; life < 3; ++life) {
    const auto status = fixture.settled();
    CHECK(status->drained);
    CHECK_FALSE(status->device_access_open);
    CHECK(status->drift.empty());
    CHECK_FALSE(fixture.node.device_access_is_open);
    CHECK(status->generations.size() == 1);
    CHECK(effective(*status)->number == 1);
    fixture.controller.reset();
    if (life == 1) fixture.node.observed = {};
    fixture.start();
  }
  REQUIRE(fixture.ask<Accepted>([&](auto done) { fixture.controller->undrain(std::move(done)); }));
  CHECK(fixture.settled()->device_access_open);
  CHECK(fixture.node.device_access_is_open);
  CHECK_FALSE(fixture.commit.stored().drained);
}

TEST_CASE("after a power cut during a drain the modules are loaded again, for no users") {
  LoadedFixture fixture;
  fixture.node.users = {User{.process = {4711, 99}, .comm = "feed"}};
  REQUIRE(fixture.drain({UsersPolicy::Wait, std::chrono::hours(1)}));
  fixture.power_off();
  fixture.node.users.clear();
  fixture.start();
  const auto status = fixture.settled_after(3);
  CHECK(status->drained);
  CHECK(status->drift.empty());
  CHECK_FALSE(fixture.node.device_access_is_open);
  CHECK(fixture.node.is(a_release("8.1")));
}

TEST_CASE("another configured owner or mode of the device nodes holds from nrd's start on, unless access is closed") {
  enum class Life { Open, Drained, Frozen, Unloaded };
  for (const Life life : {Life::Open, Life::Drained, Life::Frozen, Life::Unloaded}) {
    CAPTURE(static_cast<int>(life));
    LoadedFixture fixture;
    if (life == Life::Drained) REQUIRE(fixture.drain());
    if (life == Life::Unloaded) REQUIRE(fixture.apply({.state = State::Unloaded}));
    (void)fixture.settled();
    fixture.controller.reset();
    const Access before = life == Life::Unloaded ? Access{} : fixture.node.observed.devices.front().node->access;
    fixture.node.configured = {.uid = 0, .gid = 1, .mode = 0660};
    if (life == Life::Frozen) REQUIRE(fixture.commit.store({.freeze = Freeze{.frozen = true, .reason = {}}}));
    fixture.start();
    const auto status = fixture.settled();
    CHECK(status->drift.empty());
    if (life == Life::Unloaded) {
      CHECK(status->observed.devices.empty());
      continue;
    }
    CHECK(status->observed.devices.front().node->access == (life == Life::Open ? fixture.node.configured : before));
  }
}

TEST_CASE("a drain whose users stay reopens device access") {
  LoadedFixture fixture;
  fixture.node.users = {User{.process = {4711, 99}, .comm = "feed"}};
  REQUIRE(fixture.drain({UsersPolicy::Fail, {}}));
  const auto status = fixture.settled();
  CHECK(status->operations.back().outcome == Outcome::RolledBack);
  CHECK(status->device_access_open);
  CHECK_FALSE(fixture.commit.stored().drained);
}

TEST_CASE("an operation that waits for users can be cancelled, an ended one cannot") {
  LoadedFixture fixture;
  const Accepted accepted = fixture.wait_for_users();
  REQUIRE(fixture.cancel(*accepted.operation));
  const auto status = fixture.settled();
  CHECK(status->operations.back().outcome == Outcome::RolledBack);
  CHECK(status->operations.back().cause == kCancelled);
  CHECK(status->device_access_open);
  CHECK(fixture.node.is(a_release("8.1")));
  CHECK(fixture.cancel(*accepted.operation).error().code == ErrorCode::Conflict);
  CHECK(fixture.cancel(77).error().code == ErrorCode::NotFound);
}

TEST_CASE("a cancelled operation rolls back although nrd stops before its next step") {
  LoadedFixture fixture;
  const Accepted accepted = fixture.wait_for_users();
  REQUIRE(fixture.cancel(*accepted.operation));
  fixture.controller.reset();
  fixture.node.users.clear();
  fixture.start();
  CHECK(fixture.settled()->operations.back().outcome == Outcome::RolledBack);
  CHECK(fixture.node.is(a_release("8.1")));
}

TEST_CASE("after a power cut, a cancelled operation that had changed nothing leaves the modules loaded") {
  LoadedFixture fixture;
  const Accepted accepted = fixture.wait_for_users();
  REQUIRE(fixture.cancel(*accepted.operation));
  fixture.power_off();
  fixture.node.users.clear();
  fixture.start();
  const auto status = fixture.settled_after(3);
  CHECK(status->device_access_open);
  CHECK(fixture.node.is(a_release("8.1")));
}

TEST_CASE("an interrupted operation that fails after a boot is not followed by another") {
  Fixture fixture;
  fixture.start();
  fixture.load("8.1");
  fixture.node.users = {User{.process = {4711, 99}, .comm = "feed"}};
  Spec spec = a_spec("9.0");
  spec.users = UsersPolicy::Wait;
  spec.on_failure = OnFailure::Stop;
  REQUIRE(fixture.apply(spec));
  fixture.power_off();
  fixture.node.users.clear();
  fixture.node.acts = 0;
  fixture.node.fails_at = 1;
  fixture.start();
  const auto status = fixture.settled_after(2);
  CHECK(status->operations.back().outcome == Outcome::Failed);
  CHECK(status->operations.size() == 2);
  CHECK(fixture.node.observed.modules.empty());
}

TEST_CASE("a dry run predicts the steps of the operation and changes nothing") {
  LoadedFixture fixture;
  fixture.node.done.clear();
  const uint64_t revision = fixture.controller->status()->revision;
  const auto found = value_of(
      fixture.ask<DryRun>([&](auto done) { fixture.controller->dry_run(a_spec("9.0"), {}, std::move(done)); }));
  CHECK_FALSE(refusal_of(found));
  CHECK(fixture.node.done.empty());
  CHECK(fixture.controller->status()->revision == revision);
  const auto status = fixture.load("9.0");
  std::vector<std::pair<Act, std::string>> planned, done;
  for (const NextStep& step : found.steps) planned.emplace_back(step.act, step.subject);
  for (const Step& step : status->operations.back().steps) done.emplace_back(step.act, step.subject);
  CHECK(planned == done);
  fixture.node.missing = {"9.1"};
  const auto refused = value_of(
      fixture.ask<DryRun>([&](auto answer) { fixture.controller->dry_run(a_spec("9.1"), {}, std::move(answer)); }));
  CHECK(refusal_of(refused)->field == "/version");
  CHECK(refused.steps.empty());
}

TEST_CASE("a patch creates a generation and reloads modules only if allowed") {
  LoadedFixture fixture;
  const auto patch = [&](SpecPatch change) {
    return fixture.ask<Accepted>([&](auto done) { fixture.controller->patch(std::move(change), {}, std::move(done)); });
  };
  REQUIRE(patch({.control_plane = Names{"-K", "-s"}}));
  const auto status = fixture.settled();
  CHECK(status->generations.back().number == 2);
  CHECK(status->generations.back().spec.control_plane == Names{"-K", "-s"});
  CHECK(status->generations.back().spec.version == "8.1");
  fixture.node.observed.modules["onload"].build_id = "another";
  CHECK(error_of(patch({.parameters = {{"onload", {{"a", "1"}}}}})).code == ErrorCode::Conflict);
  REQUIRE(patch({.parameters = {{"onload", {{"a", "1"}}}}, .reload = Reload::Allow}));
  CHECK(fixture.settled()->generations.back().spec.parameters == Parameters{{"onload", {{"a", "1"}}}});
}

TEST_CASE("a watch is answered on a change, at its timeout and when the service ends") {
  StartedFixture fixture;
  fixture.settled();
  const auto wait = [&](std::chrono::seconds time, auto meanwhile) {
    std::promise<uint64_t> observed;
    const uint64_t since = fixture.controller->status()->revision;
    fixture.controller->watch(since, time,
                              [&observed](const auto& status) { observed.set_value((*status)->revision); });
    meanwhile();
    return observed.get_future().get() > since;
  };
  CHECK(wait(std::chrono::seconds(60), [&] { fixture.load("8.1"); }));
  CHECK_FALSE(wait(std::chrono::seconds(0), [&] { (void)fixture.refresh(); }));  // and a refresh is no news
  CHECK_FALSE(wait(std::chrono::seconds(60), [&] { fixture.controller->end_watches(); }));
}

TEST_CASE("watches beyond a client's share are answered early, and all are answered") {
  const QueueLimits limits;
  std::mutex lock;
  std::condition_variable listed;
  size_t answers = 0;
  StartedFixture fixture;
  const uint64_t revision = fixture.settled()->revision;
  const auto answer = [&](const Result<std::shared_ptr<const Status>>& status) {
    const std::lock_guard hold(lock);
    CHECK(status);
    ++answers;
    listed.notify_all();
  };
  for (size_t i = 0; i < limits.share + 2; ++i) {
    fixture.controller->watch(revision, std::chrono::seconds(60), {answer, Client{.client_key = "one"}});
  }
  {
    std::unique_lock hold(lock);
    listed.wait(hold, [&] { return answers >= 2; });
    CHECK(answers == 2);
  }
  fixture.controller.reset();
  CHECK(answers == limits.share + 2);
}

TEST_CASE("one read answers all clients whose requests arrived before it began") {
  std::atomic<int> answers = 0;
  StartedFixture fixture;
  for (int i = 0; i < 1000; ++i) {
    fixture.controller->find_users(
        {[&answers](const Result<InUse>& use) { answers += use ? 1 : 0; }, Client{.client_key = "one"}});
  }
  std::promise<void> looked;
  fixture.controller->refresh([&looked](const Result<void>&) { looked.set_value(); });
  looked.get_future().wait();
  fixture.controller->find_users([&answers](const Result<InUse>&) { ++answers; });
  while (answers < 1001) std::this_thread::yield();
  CHECK(answers == 1001);
}

TEST_CASE("requests of disconnected clients are not started") {
  StartedFixture fixture;
  const auto gone = std::make_shared<const std::atomic<bool>>(true);
  std::promise<Result<void>> answer;
  fixture.controller->set_freeze({true, ""}, {[&answer](const Result<void>& done) { answer.set_value(done); },
                                              Client{.client_key = "one", .hung_up = gone}});
  CHECK(error_of(answer.get_future().get()).code == ErrorCode::Busy);
  CHECK_FALSE(fixture.controller->status()->freeze.frozen);
}

TEST_CASE("requests during shutdown are answered or refused") {
  std::atomic<int> answers = 0;
  StartedFixture fixture;
  std::thread asker([&] {
    for (int i = 0; i < 40; ++i) fixture.controller->find_users([&answers](const Result<InUse>&) { ++answers; });
  });
  asker.join();
  fixture.controller.reset();
  CHECK(answers == 40);
}

TEST_CASE("continuous requests of a client do not delay an operation") {
  Fixture fixture;
  fixture.options.most_forceful = UsersPolicy::Term;
  fixture.start();
  fixture.load("8.1");
  fixture.node.users = {User{.process = {4711, 99}, .comm = "feed"}};
  fixture.node.users_obey_term = true;
  Spec spec = a_spec("9.0");
  spec.users = UsersPolicy::Term;
  spec.drain = std::chrono::seconds(1);
  std::atomic<bool> is_over = false;
  // Six clients that ask again as soon as they are answered: there is always one who waits. They hold the controller
  // itself, not the fixture's pointer, which the last lines below reset while its thread may still answer.
  Controller* const controller = fixture.controller.get();
  std::function<void()> ask_again = [&] {
    controller->find_users([&](const Result<InUse>&) {
      if (!is_over) ask_again();
    });
  };
  for (int i = 0; i < 6; ++i) ask_again();
  const auto accepted = fixture.apply(spec);
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (running(*fixture.controller->status()) != nullptr && std::chrono::steady_clock::now() < until) {
    std::this_thread::yield();
  }
  const auto status = fixture.controller->status();
  is_over = true;
  fixture.controller.reset();  // before what its thread still calls
  REQUIRE(accepted);
  CHECK(running(*status) == nullptr);
  CHECK(status->operations.back().outcome == Outcome::Succeeded);
}

namespace {

Interface a_port(const std::string& name, bool accelerated = true) {
  return {.name = name,
          .pci = "0000:03:00.0",
          .mac = "00:0f:53:00:00:01",
          .driver_module = "sfc",
          .accelerated = accelerated};
}

Result<Interface> turn(Fixture& fixture, const std::string& name, InterfaceSwitch what, SwitchState to) {
  return fixture.ask<Interface>([&](auto done) { fixture.controller->set_interface(name, what, to, std::move(done)); });
}

// With a port, and acceleration off on it if `what` was turned.
struct PortFixture : Fixture {
  explicit PortFixture(Interface port = a_port("eth0")) {
    node.observed.interfaces = {std::move(port)};
    start();
    load("8.1");
  }
  void turn_off() { REQUIRE(turn(*this, "eth0", InterfaceSwitch::Acceleration, SwitchState::Off)); }
  Interface& port() { return node.observed.interfaces.front(); }
};

}  // namespace

TEST_CASE("interface settings are stored and applied after each load") {
  PortFixture fixture;
  const auto set = value_of(turn(fixture, "eth0", InterfaceSwitch::Acceleration, SwitchState::Off));
  CHECK(set.accelerated == false);
  CHECK(fixture.commit.stored().interfaces ==
        std::vector<InterfaceSpec>{{"0000:03:00.0", "00:0f:53:00:00:01", false, {}}});
  fixture.load("9.0");
  CHECK(fixture.port().accelerated == false);
  CHECK(fixture.settled()->drift.empty());
}

TEST_CASE("interface settings are applied at nrd's start, and later changes by others are drift") {
  PortFixture fixture;
  fixture.turn_off();
  fixture.controller.reset();
  fixture.node.observed.interfaces = {a_port("eth5")};
  fixture.start();
  (void)fixture.settled();
  CHECK(fixture.port().accelerated == false);
  fixture.port().accelerated = true;
  (void)fixture.refresh();
  CHECK(fixture.settled()->drift == "needs configure eth5.acceleration");
}

TEST_CASE("an interface that appears after the load gets its settings, once") {
  PortFixture fixture;
  fixture.turn_off();
  const auto appear = [&fixture](Interface port) {
    fixture.node.observed.interfaces = {std::move(port)};
    (void)fixture.refresh();
    return fixture.settled();
  };

  fixture.power_off();
  fixture.start();
  CHECK(fixture.settled()->device_access_open);
  CHECK(appear(a_port("eth0"))->device_access_open);
  CHECK(fixture.port().accelerated == false);

  Interface reloaded = a_port("eth0");
  reloaded.index = 7;
  CHECK(appear(reloaded)->drift.empty());
  CHECK(fixture.port().accelerated == false);

  CHECK(appear(reloaded)->drift == "needs configure eth0.acceleration");
  fixture.node.refuses_interfaces = true;
  reloaded.index = 8;
  CHECK(appear(reloaded)->drift == "needs configure eth0.acceleration");
}

TEST_CASE("a frozen node gives an interface that appears its settings after the thaw") {
  PortFixture fixture;
  fixture.turn_off();
  REQUIRE(fixture.freeze({.frozen = true}));
  Interface reloaded = a_port("eth0");
  reloaded.index = 7;
  fixture.node.observed.interfaces = {reloaded};
  (void)fixture.refresh();
  CHECK(fixture.port().accelerated == true);
  REQUIRE(fixture.freeze({}));
  (void)fixture.refresh();
  CHECK(fixture.port().accelerated == false);
}

TEST_CASE("while Onload is not loaded interface settings are only stored") {
  Fixture fixture;
  fixture.node.observed.interfaces = {{.name = "ens4", .pci = "0000:00:04.0", .mac = "02:00:00:00:00:04"}};
  fixture.start();
  REQUIRE(turn(fixture, "ens4", InterfaceSwitch::Afxdp, SwitchState::On));
  CHECK_FALSE(fixture.node.observed.interfaces.front().afxdp);
  fixture.load("8.1");
  CHECK(fixture.node.observed.interfaces.front().afxdp);
}

TEST_CASE("an interface that the module keeps is a conflict, and is not registered at the next load") {
  PortFixture fixture({.name = "ens4", .pci = "0000:00:04.0", .mac = "02:00:00:00:00:04"});
  REQUIRE(turn(fixture, "ens4", InterfaceSwitch::Afxdp, SwitchState::On));
  const Error kept = error_of(turn(fixture, "ens4", InterfaceSwitch::Afxdp, SwitchState::Off));
  CHECK(kept.code == ErrorCode::Conflict);
  CHECK(kept.message.find("reloaded") != std::string::npos);
  CHECK(fixture.settled()->drift.empty());
  fixture.load("9.0");
  CHECK_FALSE(fixture.port().afxdp);
}

TEST_CASE("an impossible interface setting changes nothing") {
  Interface plain = a_port("eth0");
  plain.accelerated = std::nullopt;
  PortFixture fixture(plain);
  CHECK(turn(fixture, "eth1", InterfaceSwitch::Afxdp, SwitchState::On).error().code == ErrorCode::NotFound);
  CHECK(turn(fixture, "eth0", InterfaceSwitch::Acceleration, SwitchState::Off).error().code == ErrorCode::Conflict);
  fixture.node.refuses_interfaces = true;
  CHECK(turn(fixture, "eth0", InterfaceSwitch::Afxdp, SwitchState::On).error().code == ErrorCode::Hardware);
  CHECK(fixture.commit.stored().interfaces.empty());
}

TEST_CASE("an interface setting that cannot be stored is reverted") {
  PortFixture fixture;
  fixture.commit.broken = true;
  CHECK_FALSE(turn(fixture, "eth0", InterfaceSwitch::Acceleration, SwitchState::Off));
  CHECK(fixture.port().accelerated == true);
  CHECK(fixture.settled()->interfaces.empty());
}

TEST_CASE("a change that would remove the driver of the default route is not started") {
  Fixture fixture;
  fixture.node.put(a_release("8.1", Sfc::Managed));
  fixture.node.carries_default_route = true;
  fixture.start();
  Spec spec = a_spec("9.0");
  spec.sfc = Sfc::Managed;
  CHECK(fixture.apply(spec).error().code == ErrorCode::Conflict);
  CHECK(fixture.node.done.empty());
  CHECK(fixture.apply(a_spec("9.0")));  // without the driver
}

}  // namespace nrd::onload::controller_test
