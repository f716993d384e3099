#include "engine/onload/operation_runner.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <ostream>

#include "tests/unit/engine_onload/fake_host.h"

namespace nrd::onload::operation_runner_test {

namespace {

using Names = std::vector<std::string>;

struct Trip {
  Trip() = default;
  explicit Trip(const Target& loaded) { node.put(loaded); }

  FakeNode node;
  Turning clock;
  Operation stored;  // what a daemon would find at its next start
  int records = 0;
  int dies_at = 0;  // the n-th record is the last thing that this daemon does; 0: none
  bool stops = false;
  bool frozen = false;
  bool freezes_while_waiting = false;
  bool cancelled = false;

  Result<RunResult> run(const RollbackPlan& plan) {
    Operation operation = stored;
    OperationRunner run(
        node, clock,
        [this](const Operation& now) -> Result<void> {
          if (++records == dies_at) return fail(ErrorCode::Store, "it died");
          stored = now;
          return {};
        },
        [this](std::chrono::milliseconds time) {
          clock.pass(time);
          frozen = frozen || (freezes_while_waiting && time.count() > 0);
          return stops;
        },
        {.frozen = [this] { return frozen; }, .cancelled = [this] { return cancelled && !stored.fallback; }});
    return run.run(operation, plan);
  }
};

User a_user() { return {.process = {4711, 1}, .comm = "feed", .unit = "feed.service", .uses = {Use::Stack}}; }

bool is_open(const FakeNode& node) { return node.device_access_is_open; }

}  // namespace

TEST_CASE("a first load inserts in load order and verifies") {
  Trip trip;
  REQUIRE(trip.run({.forward = a_release("8.1"), .back = {}}).value() == RunResult::Finished);
  CHECK(trip.node.done == Names{"switch 8.1", "+sfc_resource", "+sfc_char", "+onload", "verify", "open"});
  CHECK(trip.stored.outcome == Outcome::Succeeded);
  CHECK(trip.node.is(a_release("8.1")));
}

TEST_CASE("an upgrade uses the safe order") {
  Trip trip(a_release("8.1"));
  REQUIRE(trip.run({.forward = a_release("9.0"), .back = a_release("8.1"), .back_to = 1}));
  CHECK(trip.node.done == Names{"close", "stop", "-onload", "-sfc_char", "-sfc_resource", "switch 9.0", "+sfc_resource",
                                "+sfc_char", "+onload", "verify", "open"});
  CHECK(trip.stored.outcome == Outcome::Succeeded);
}

TEST_CASE("nothing changes if the target is already reached") {
  Trip trip(a_release("8.1"));
  REQUIRE(trip.run({.forward = a_release("8.1"), .back = {}}));
  CHECK(trip.node.done == Names{"verify"});
}

TEST_CASE("with the policy fail, users prevent any change") {
  Trip trip(a_release("8.1"));
  trip.node.users = {a_user()};
  REQUIRE(trip.run({.forward = nothing(), .back = a_release("8.1"), .back_to = 1}));
  CHECK(trip.stored.outcome == Outcome::RolledBack);
  CHECK(trip.stored.cause == "in_use");
  CHECK(trip.stored.message == "Onload is in use by feed (pid 4711, feed.service)");
  CHECK(trip.node.done == Names{"close", "open"});
}

TEST_CASE("users are awaited, then terminated, then killed, as far as the policy goes") {
  struct Row {
    UsersPolicy policy;
    bool obeys;
    Outcome outcome;
    int signals;
  };
  for (const Row& row :
       {Row{UsersPolicy::Wait, true, Outcome::RolledBack, 0}, Row{UsersPolicy::Term, true, Outcome::Succeeded, 1},
        Row{UsersPolicy::Term, false, Outcome::RolledBack, 1}, Row{UsersPolicy::Kill, false, Outcome::Succeeded, 2}}) {
    CAPTURE(static_cast<int>(row.policy));
    Trip trip(a_release("8.1"));
    trip.node.users = {a_user()};
    trip.node.users_obey_term = row.obeys;
    Target target = nothing();
    target.users = row.policy;
    REQUIRE(trip.run({.forward = target, .back = {}}));
    CHECK(trip.stored.outcome == row.outcome);
    CHECK(std::ranges::count(trip.node.done, "term") + std::ranges::count(trip.node.done, "kill") == row.signals);
    CHECK(trip.clock.steady().time_since_epoch() >= target.drain);
  }
}

TEST_CASE("a user that appears before the removal is awaited once more") {
  Trip trip(a_release("8.1"));
  trip.node.fails_at = 3;  // close, stop, remove
  trip.node.cause = "in_use";
  REQUIRE(trip.run({.forward = nothing(), .back = {}}));
  CHECK(trip.stored.outcome == Outcome::Succeeded);
  CHECK(std::ranges::count(trip.stored.steps, Act::EndUsers, &Step::act) == 2);
}

TEST_CASE("if any act fails, the node returns to its previous state, verified and open") {
  for (int n = 1; n <= 11; ++n) {
    CAPTURE(n);
    Trip trip(a_release("8.1"));
    trip.node.fails_at = n;
    REQUIRE(trip.run({.forward = a_release("9.0"), .back = a_release("8.1"), .back_to = 1}));
    CHECK(trip.stored.outcome == Outcome::RolledBack);
    CHECK(trip.stored.cause == "broken");
    CHECK(trip.node.is(a_release("8.1")));
    CHECK(trip.node.observed.current == "8.1");
    if (n > 1) CHECK(trip.node.verified == "8.1");  // a device_access that does not close is nothing that was changed
    CHECK(is_open(trip.node));
  }
}

TEST_CASE("a rollback that fails ends with device access closed") {
  Trip trip(a_release("8.1"));
  trip.node.fails_at = 6;
  trip.node.fails_until = 1000;
  REQUIRE(trip.run({.forward = a_release("9.0"), .back = a_release("8.1"), .back_to = 1}));
  CHECK(trip.stored.outcome == Outcome::Failed);
  CHECK_FALSE(is_open(trip.node));
}

TEST_CASE("a final failure closes device access, at whatever step") {
  for (int n = 2; n <= 10; ++n) {
    CAPTURE(n);
    Trip trip(a_release("8.1"));
    trip.node.fails_at = n;
    REQUIRE(
        trip.run({.forward = a_release("9.0"), .back = a_release("8.1"), .back_to = 1, .on_failure = OnFailure::Stop}));
    CHECK(trip.stored.outcome == Outcome::Failed);
    CHECK(trip.stored.steps.back().act == Act::CloseDeviceAccess);
    CHECK_FALSE(is_open(trip.node));
  }
}

TEST_CASE("after a crash at any step the next daemon completes the operation") {
  const RollbackPlan plan{
      .forward = a_release("9.0", Sfc::Managed), .back = a_release("8.1", Sfc::Managed), .back_to = 1};
  for (int fault = 0; fault <= 13; ++fault) {
    int records = 0;
    for (int n = 1; n == 1 || n <= records; ++n) {
      CAPTURE(fault);
      CAPTURE(n);
      Trip trip(*plan.back);
      trip.node.fails_at = fault;
      trip.dies_at = n;
      if (trip.run(plan)) {
        records = trip.records;
        continue;
      }
      trip.dies_at = 0;
      trip.node.fails_at = 0;
      REQUIRE(trip.run(plan).value() == RunResult::Finished);
      records = std::max(records, n + 1);
      const bool went_back = trip.stored.outcome == Outcome::RolledBack;
      CHECK((went_back || trip.stored.outcome == Outcome::Succeeded));
      CHECK(trip.node.is(went_back ? *plan.back : plan.forward));
      CHECK(is_open(trip.node));
    }
    CHECK(records >= 5);
  }
}

TEST_CASE("a stopping daemon leaves the operation open, also across a reboot") {
  Trip trip(a_release("8.1"));
  trip.stops = true;
  CHECK(trip.run({.forward = a_release("9.0"), .back = {}}).value() == RunResult::Interrupted);
  CHECK(trip.stored.outcome == Outcome::Running);
  trip.node.observed.modules.clear();
  trip.node.observed.servers.clear();
  trip.stops = false;
  CHECK(trip.run({.forward = a_release("9.0"), .back = {}}).value() == RunResult::Finished);
  CHECK(trip.node.is(a_release("9.0")));
}

TEST_CASE("a freeze stops an operation before the first removal but not after it") {
  Trip trip(a_release("8.1"));
  trip.frozen = true;
  REQUIRE(trip.run({.forward = nothing(), .back = a_release("8.1"), .back_to = 1}));
  CHECK(trip.stored.cause == "frozen");
  CHECK(trip.stored.outcome == Outcome::RolledBack);  // a failed one would refuse new users
  CHECK(trip.node.done.empty());
  Trip begun(a_release("8.1"));
  begun.dies_at = 6;
  CHECK_FALSE(begun.run({.forward = nothing(), .back = {}}));
  begun.frozen = true;
  begun.dies_at = 0;
  REQUIRE(begun.run({.forward = nothing(), .back = {}}));
  CHECK(begun.stored.outcome == Outcome::Succeeded);
}

TEST_CASE("a freeze while waiting for users reopens device access and removes nothing") {
  for (const OnFailure on_failure : {OnFailure::Rollback, OnFailure::Stop}) {
    for (const int dies_at : {0, 3, 4}) {
      CAPTURE(dies_at);
      Trip trip(a_release("8.1"));
      trip.node.users = {a_user()};
      Target target = nothing();
      target.users = UsersPolicy::Wait;
      const RollbackPlan plan{.forward = target, .back = a_release("8.1"), .back_to = 1, .on_failure = on_failure};
      trip.freezes_while_waiting = dies_at == 0;
      trip.dies_at = dies_at;
      CHECK(trip.run(plan).has_value() == (dies_at == 0));
      trip.frozen = true;
      trip.dies_at = 0;
      if (dies_at != 0) REQUIRE(trip.run(plan));
      CHECK(trip.stored.outcome == Outcome::RolledBack);
      CHECK(trip.stored.cause == "frozen");
      CHECK(is_open(trip.node));
      CHECK(trip.node.is(a_release("8.1")));
      CHECK(std::ranges::none_of(trip.node.done, [](const std::string& act) { return act.starts_with('-'); }));
    }
  }
}

TEST_CASE("a cancellation before any change only reopens device access") {
  Trip trip(a_release("8.1"));
  trip.node.users = {a_user()};
  Target target = a_release("9.0");
  target.users = UsersPolicy::Wait;
  trip.cancelled = true;
  REQUIRE(trip.run({.forward = target, .back = a_release("8.1"), .back_to = 1, .on_failure = OnFailure::Stop}));
  CHECK(trip.stored.outcome == Outcome::RolledBack);
  CHECK(trip.stored.cause == kCancelled);
  CHECK(trip.node.is(a_release("8.1")));
  CHECK(is_open(trip.node));
  CHECK(trip.node.verified.empty());
}

TEST_CASE("a cancellation at any step restores the previous state") {
  for (int n = 1; n <= 21; n += 2) {
    CAPTURE(n);
    Trip trip(a_release("8.1"));
    trip.dies_at = n;
    const RollbackPlan plan{.forward = a_release("9.0"), .back = a_release("8.1"), .back_to = 1};
    CHECK_FALSE(trip.run(plan));
    trip.dies_at = 0;
    trip.cancelled = true;
    REQUIRE(trip.run(plan));
    CHECK(trip.stored.outcome == Outcome::RolledBack);
    CHECK(trip.stored.cause == kCancelled);
    CHECK(trip.node.is(a_release("8.1")));
    CHECK(is_open(trip.node));
  }
}

TEST_CASE("a drain closes device access, ends users and changes nothing else") {
  Trip trip(a_release("8.1"));
  trip.node.users = {a_user()};
  trip.node.users_obey_term = true;
  REQUIRE(trip.run({.forward = {.state = State::Unmanaged,
                                .users = UsersPolicy::Term,
                                .device_access = DeviceAccess::Closed,
                                .ends_users = true},
                    .back = {}}));
  CHECK(trip.node.done == Names{"close", "term"});
  CHECK(trip.stored.outcome == Outcome::Succeeded);
  CHECK_FALSE(is_open(trip.node));
}

TEST_CASE("a drain whose users do not end reopens device access") {
  Trip trip(a_release("8.1"));
  trip.node.users = {a_user()};
  REQUIRE(trip.run(
      {.forward = {.state = State::Unmanaged, .device_access = DeviceAccess::Closed, .ends_users = true}, .back = {}}));
  CHECK(trip.stored.outcome == Outcome::RolledBack);
  CHECK(is_open(trip.node));
}

TEST_CASE("modules loaded while drained have their nodes closed before verification") {
  Trip trip;
  Target target = a_release("8.1");
  target.device_access = DeviceAccess::Closed;
  REQUIRE(trip.run({.forward = target, .back = {}}));
  CHECK(trip.node.done == Names{"switch 8.1", "+sfc_resource", "+sfc_char", "+onload", "close", "verify"});
  CHECK_FALSE(is_open(trip.node));
}

TEST_CASE("a control plane restart stops the server and has it started again") {
  Trip trip(a_release("8.1"));
  Target target = a_release("8.1");
  target.restarts_control_plane = true;
  REQUIRE(trip.run({.forward = target, .back = {}}));
  CHECK(trip.node.done == Names{"close", "stop", "onload.cplane_spawn_server=Y", "verify", "open"});
  CHECK(trip.node.observed.servers.size() == 1);
}

TEST_CASE("a stack created before access was closed keeps its control plane server") {
  Trip trip(a_release("8.1"));
  trip.node.in_use = {{.id = 3}};
  Target target = a_release("8.1");
  target.restarts_control_plane = true;
  REQUIRE(trip.run({.forward = target, .back = {}}));
  CHECK(trip.stored.outcome == Outcome::RolledBack);
  CHECK(trip.stored.cause == "in_use");
  CHECK(trip.node.done == Names{"close", "open"});
  CHECK(trip.node.observed.servers.size() == 1);
  CHECK(is_open(trip.node));
}

TEST_CASE("users are listed as far as one line allows") {
  InUse use;
  for (int pid = 1; pid <= 5; ++pid) use.users.push_back({.process = {pid, 1}, .comm = "app"});
  CHECK(describe(use) == "app (pid 1), app (pid 2), app (pid 3) and 2 more");
  use.users.clear();
  use.unexplained["onload"] = 2;
  CHECK(describe(use) == "2 references to onload from unidentified users");
  use.unexplained.clear();
  use.unknown = {"cannot inspect process 5"};
  CHECK(describe(use) == "unidentified users (cannot inspect process 5)");
}

namespace {

Interface a_port(const std::string& name) {
  return {.name = name, .pci = "0000:03:00.0", .mac = "00:0f:53:00:00:01", .driver_module = "sfc", .accelerated = true};
}
InterfaceSpec not_accelerated() {
  return {.pci = "0000:03:00.0", .mac = "00:0f:53:00:00:01", .accelerated = false, .registered = {}};
}

}  // namespace

TEST_CASE("interface settings are applied after each load, before verification") {
  Trip trip;
  trip.node.observed.interfaces = {a_port("eth0")};
  Target forward = a_release("9.0");
  forward.interfaces = {not_accelerated()};
  REQUIRE(trip.run({.forward = forward, .back = {}}));
  CHECK(trip.node.done ==
        Names{"switch 9.0", "+sfc_resource", "+sfc_char", "+onload", "eth0.acceleration off", "verify", "open"});
  CHECK(trip.stored.steps.at(4).act == Act::Configure);
  CHECK(trip.stored.outcome == Outcome::Succeeded);
}

TEST_CASE("an interface that refuses its setting causes a rollback") {
  Trip trip(a_release("8.1"));
  trip.node.observed.interfaces = {a_port("eth0")};
  trip.node.refuses_interfaces = true;
  Target forward = a_release("9.0");
  forward.interfaces = {not_accelerated()};
  REQUIRE(trip.run({.forward = forward, .back = a_release("8.1"), .back_to = 1}));
  CHECK(trip.stored.cause == "interface_setting");
  CHECK(trip.stored.outcome == Outcome::RolledBack);
}

TEST_CASE("interfaces of the driver are recorded before its removal and compared afterwards") {
  Trip trip;
  trip.node.ports = {a_port("eth0")};
  trip.node.put(a_release("8.1", Sfc::Managed));
  const std::vector<NotedInterface> noted = {{"0000:03:00.0", "00:0f:53:00:00:01", "eth0"}};
  trip.node.ports = {a_port("eth7")};
  REQUIRE(trip.run({.forward = a_release("9.0", Sfc::Managed), .back = {}}));
  CHECK(trip.stored.interfaces == noted);
  CHECK(trip.node.compared == noted);
}

TEST_CASE("recorded interfaces survive a crash while the driver is unloaded") {
  const std::vector<NotedInterface> noted = {{"0000:03:00.0", "00:0f:53:00:00:01", "eth0"}};
  for (int death = 1;; ++death) {
    Trip trip;
    trip.node.ports = {a_port("eth0")};
    trip.node.put(a_release("8.1", Sfc::Managed));
    trip.dies_at = death;
    const bool died = !trip.run({.forward = a_release("9.0", Sfc::Managed), .back = {}});
    trip.dies_at = 0;
    REQUIRE(trip.run({.forward = a_release("9.0", Sfc::Managed), .back = {}}));
    CHECK(trip.node.compared == noted);
    if (!died) break;
  }
}

TEST_CASE("a replaced foreign driver is restored by a rollback from any step") {
  for (int step = 1; step <= 8; ++step) {
    for (const bool loaded_before : {false, true}) {
      CAPTURE(step);
      CAPTURE(loaded_before);
      Trip trip;
      if (loaded_before) trip.node.put(a_release("8.1"));
      trip.node.observed.modules["sfc"] = {.name = "sfc", .build_id = "system"};
      trip.node.fails_at = step + (loaded_before ? 4 : 0);
      trip.node.cause = "syscall_table";
      const RollbackPlan plan{.forward = a_release("9.0", Sfc::Managed),
                              .back = loaded_before ? a_release("8.1") : nothing(),
                              .back_to = 0,
                              .foreign_driver = true};
      REQUIRE(trip.run(plan));
      if (trip.stored.outcome == Outcome::Succeeded) continue;  // it has fewer steps
      CHECK(trip.stored.outcome == Outcome::RolledBack);
      CHECK(trip.node.is(loaded_before ? a_release("8.1") : nothing()));
      REQUIRE(trip.node.observed.modules.contains("sfc"));
      CHECK(trip.node.observed.modules.at("sfc").build_id == "system");
    }
  }
}

TEST_CASE("a foreign driver with our build id is restored once, and the operation ends") {
  for (const std::string build_id : {"9.0-s", ""}) {
    CAPTURE(build_id);
    Trip trip;
    Target forward = a_release("9.0", Sfc::Managed);
    forward.modules[0].build_id = build_id;
    forward.modules[0].parameters["rss_cpus"] = "4";  // which the distribution's was not loaded with
    trip.node.system_build_id = build_id;
    REQUIRE(trip.node.insert_system_module("sfc"));
    trip.node.observed.modules.at("sfc").parameters["rss_cpus"] = {"1", false};
    trip.node.fails_at = 1 + 5;  // -sfc, switch, +sfc, +sfc_resource, and not +sfc_char
    REQUIRE(trip.run({.forward = forward, .back = nothing(), .back_to = 0, .foreign_driver = true}));
    CHECK(trip.stored.outcome == Outcome::RolledBack);
    CHECK(trip.node.is(nothing()));
    CHECK(trip.node.observed.modules.contains("sfc"));
    const auto& done = trip.node.done;
    CHECK(std::count(done.begin(), done.end(), "+system sfc") == (build_id.empty() ? 1 : 2));
  }
}

TEST_CASE("a driver loaded where none was stays after a rollback") {
  Trip trip;
  trip.node.fails_at = 4;  // switch, sfc, sfc_resource
  const RollbackPlan plan{
      .forward = a_release("9.0", Sfc::Managed), .back = nothing(), .back_to = 0, .foreign_driver = true};
  REQUIRE(trip.run(plan));
  CHECK(trip.stored.outcome == Outcome::RolledBack);
  CHECK(trip.node.is(nothing()));
  CHECK(trip.node.observed.modules.at("sfc").build_id == "9.0-s");
}

TEST_CASE("an upgrade that keeps the driver records no interfaces") {
  Trip trip(a_release("8.1"));
  trip.node.observed.interfaces = {a_port("eth0")};
  REQUIRE(trip.run({.forward = a_release("9.0"), .back = {}}));
  CHECK(trip.stored.interfaces.empty());
}

}  // namespace nrd::onload::operation_runner_test
