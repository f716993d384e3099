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
#include "engine/onload/record.h"
#include "tests/unit/engine_onload/fake_host.h"

using namespace nrd;
using namespace nrd::testing;

namespace {

using Names = std::vector<std::string>;

// What was stored, as a store would hold it. Writes fail while `broken`.
class MemoryLedger {
 public:
  std::atomic<bool> broken{false};

  Result<void> store(const store::OnloadChange& change) {
    if (broken) return fail(ErrorCode::Store, "the disk is full");
    const std::lock_guard hold(lock_);
    if (change.drained) rows_.drained = *change.drained;
    if (change.freeze) std::tie(rows_.frozen, rows_.reason) = *change.freeze;
    for (const auto& row : change.generations) put(rows_.generations, row, &store::OnloadGenerationRecord::number);
    for (const auto& row : change.operations) put(rows_.operations, row, &store::OnloadOperationRecord::id);
    for (const auto& row : change.interfaces) put(rows_.interfaces, row, &store::OnloadInterfaceRecord::pci);
    for (const uint64_t number : change.removed_generations) {
      std::erase_if(rows_.generations, [number](const auto& row) { return row.number == number; });
    }
    for (const uint64_t id : change.removed_operations) {
      std::erase_if(rows_.operations, [id](const auto& row) { return row.id == id; });
    }
    return {};
  }
  store::OnloadRecords rows() const {
    const std::lock_guard hold(lock_);
    return rows_;
  }

 private:
  template <typename Row, typename Member>
  static void put(std::vector<Row>& rows, const Row& row, Member key) {
    const auto found = std::ranges::find(rows, row.*key, key);
    found == rows.end() ? rows.push_back(row) : void(*found = row);
  }

  mutable std::mutex lock_;
  store::OnloadRecords rows_;
};

Spec a_spec(const std::string& version) { return {.state = State::Loaded, .version = version}; }

// The node is of the controller's thread; between the calls below that thread waits for a task and leaves it alone.
struct House {
  FakeNode node;
  MemoryLedger commit;
  SystemClock clock;
  ControllerOptions options{.look_interval = std::chrono::hours(1)};
  std::unique_ptr<Controller> controller;

  void start() {
    auto started = Controller::start(
        node, [this](store::OnloadChange change) { return commit.store(change); }, commit.rows(), clock, options);
    REQUIRE(started);
    controller = *std::move(started);
  }
  template <typename T, typename Ask>
  Result<T> ask(Ask question) {
    std::promise<Result<T>> answer;
    question([&answer](Result<T> done) { answer.set_value(std::move(done)); });
    return answer.get_future().get();
  }
  Result<Accepted> want(Spec spec, std::optional<uint64_t> if_match = {}) {
    return ask<Accepted>([&](auto done) { controller->want(std::move(spec), if_match, std::move(done)); });
  }
  Result<Accepted> roll_back(std::optional<uint64_t> to) {
    return ask<Accepted>([&](auto done) { controller->roll_back(to, std::move(done)); });
  }
  Result<void> look() {
    return ask<void>([&](auto done) { controller->look(std::move(done)); });
  }
  // Until no operation is under plan and its thread waits.
  std::shared_ptr<const Status> settled() {
    (void)look();  // no task is served before what the start begins is begun
    while (running(*controller->status()) != nullptr) std::this_thread::yield();
    (void)look();
    return controller->status();
  }
  std::shared_ptr<const Status> load(const std::string& version) {
    const auto accepted = want(a_spec(version));
    REQUIRE(accepted);
    REQUIRE(accepted->operation);
    return settled();
  }
};

}  // namespace

TEST_CASE("a first wish loads, is verified and opens the door") {
  House house;
  house.start();
  const auto accepted = house.want(a_spec("8.1"));
  REQUIRE(accepted);
  CHECK(accepted->generation == 1);
  CHECK(accepted->operation == 1);
  const auto status = house.settled();
  CHECK(house.node.is(a_release("8.1")));
  CHECK(status->door_open);
  CHECK(status->drift.empty());
  REQUIRE(effective(*status) != nullptr);
  CHECK(effective(*status)->spec == a_spec("8.1"));
  CHECK(effective(*status)->verified.has_value());
  CHECK(status->operations.back().outcome == Outcome::Succeeded);
  const auto rows = house.commit.rows();
  REQUIRE(rows.generations.size() == 1);
  CHECK(from_record(rows.generations.front()).value() == status->generations.front());
  CHECK(from_record(rows.operations.front()).value() == status->operations.front());
}

TEST_CASE("a wish that is fulfilled already starts no operation") {
  House house;
  house.start();
  house.load("8.1");
  house.node.done.clear();
  const auto accepted = house.want(a_spec("8.1"));
  REQUIRE(accepted);
  CHECK(accepted->generation == 1);
  CHECK_FALSE(accepted->operation);
  CHECK(house.node.done.empty());
  CHECK(house.commit.rows().generations.size() == 1);
}

TEST_CASE("a client that knows an older generation changes nothing") {
  House house;
  house.start();
  house.load("8.1");
  const auto refused = house.want(a_spec("9.0"), 0);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::Stale);
  CHECK(house.want(a_spec("9.0"), 1));
  CHECK(house.settled()->generations.size() == 2);
}

TEST_CASE("with the policy to fail, users are a conflict before anything is touched") {
  House house;
  house.start();
  house.load("8.1");
  house.node.users = {User{.process = {4711, 99}, .comm = "feed"}};
  house.node.done.clear();
  const auto refused = house.want(a_spec("9.0"));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::Conflict);
  CHECK(refused.error().message.find("feed (pid 4711)") != std::string::npos);
  CHECK(house.node.done.empty());
  CHECK(house.controller->status()->door_open);
}

TEST_CASE("a frozen node takes no wish until it is thawed, and stays frozen after a restart") {
  House house;
  house.start();
  REQUIRE(house.ask<void>([&](auto done) { house.controller->set_freeze({true, "trading"}, std::move(done)); }));
  for (int life = 0; life < 2; ++life) {
    const auto refused = house.want(a_spec("8.1"));
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ErrorCode::Locked);
    CHECK(refused.error().message == "Onload is frozen: trading");
    house.controller.reset();
    house.start();
  }
  REQUIRE(house.ask<void>([&](auto done) { house.controller->set_freeze({}, std::move(done)); }));
  house.load("8.1");
}

TEST_CASE("what the node does not allow to be asked for is refused and named") {
  House house;
  house.start();
  Spec spec = a_spec("8.1");
  spec.users = UsersPolicy::Kill;
  const auto refused = house.want(spec);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::BadRequest);
  CHECK(refused.error().field == "/users_policy");
}

TEST_CASE("a rollback goes to the generation that was verified before, or to the one that is named") {
  House house;
  house.start();
  house.load("8.1");
  house.load("9.0");
  house.load("9.1");
  REQUIRE(house.roll_back({}));
  CHECK(house.settled()->generations.back().spec == a_spec("9.0"));
  CHECK(house.node.is(a_release("9.0")));
  REQUIRE(house.roll_back(1));
  CHECK(house.settled()->generations.back().spec == a_spec("8.1"));
  CHECK(house.node.is(a_release("8.1")));
  const auto refused = house.roll_back(77);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::NotFound);
}

TEST_CASE("without anything verified before there is nothing to roll back to") {
  House house;
  house.start();
  house.load("8.1");
  const auto refused = house.roll_back({});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::NotFound);
}

TEST_CASE("a version that does not start is taken back, and the one before stays in force") {
  House house;
  house.start();
  house.load("8.1");
  house.node.acts = 0;
  house.node.fails_at = 7;  // close, stop, 3 x remove, switch, insert
  house.node.cause = "syscall_table";
  REQUIRE(house.want(a_spec("9.0")));
  const auto status = house.settled();
  CHECK(status->operations.back().outcome == Outcome::RolledBack);
  CHECK(status->operations.back().cause == "syscall_table");
  CHECK(status->generations.back().verdict == Verdict::Failed);
  CHECK(effective(*status)->number == 1);
  CHECK(house.node.is(a_release("8.1")));
  CHECK(status->door_open);
}

TEST_CASE("a first wish that fails gives the distribution's driver back that it had replaced") {
  House house;
  house.node.seen.modules["sfc"] = {.name = "sfc", .build_id = "system"};
  house.start();
  house.node.fails_at = 6;  // close, remove, switch, sfc, sfc_resource
  Spec spec = a_spec("8.1");
  spec.sfc = Sfc::Managed;
  REQUIRE(house.want(spec));
  const auto status = house.settled();
  CHECK(status->operations.back().outcome == Outcome::RolledBack);
  REQUIRE(house.node.seen.modules.size() == 1);
  CHECK(house.node.seen.modules.at("sfc").build_id == "system");
}

TEST_CASE("the control plane is not restarted while stacks use it") {
  House house;
  house.start();
  house.load("8.1");
  house.node.in_use = {{.id = 3}, {.id = 4}};
  const auto restart = [&] {
    return house.ask<Accepted>([&](auto done) { house.controller->restart_control_plane(std::move(done)); });
  };
  const auto refused = restart();
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::Conflict);
  CHECK(refused.error().message.starts_with("2 stacks use the control plane server"));
  house.node.in_use.clear();
  REQUIRE(restart());
  CHECK(house.settled()->operations.back().outcome == Outcome::Succeeded);
}

TEST_CASE("a rollback that fails as well leaves the door shut until somebody wishes anew") {
  House house;
  house.start();
  house.load("8.1");
  house.node.acts = 0;
  house.node.fails_at = 7;
  house.node.fails_until = 1000;
  REQUIRE(house.want(a_spec("9.0")));
  auto status = house.settled();
  CHECK(status->operations.back().outcome == Outcome::Failed);
  CHECK_FALSE(status->door_open);
  CHECK_FALSE(house.node.door_is_open);
  house.node.fails_at = 0;
  CHECK(house.load("8.1")->door_open);
  CHECK(house.node.door_is_open);
}

TEST_CASE("an operation that was open when the daemon died is gone on with") {
  House house;
  const Generation generation{.number = 1, .spec = a_spec("8.1")};
  Operation operation{.id = 1, .generation = 1};
  operation.steps.push_back({.act = Act::Insert, .subject = "sfc_resource"});
  REQUIRE(house.commit.store({.generations = {to_record(generation)}, .operations = {to_record(operation)}}));
  house.start();
  const auto status = house.settled();
  CHECK(house.node.is(a_release("8.1")));
  REQUIRE(status->operations.size() == 1);
  CHECK(status->operations.front().outcome == Outcome::Succeeded);
  CHECK(status->operations.front().steps.front().progress == Progress::Interrupted);
  CHECK(effective(*status)->number == 1);
}

TEST_CASE("an open operation to a version that is gone fails and says so") {
  House house;
  house.node.missing = {"8.1"};
  REQUIRE(house.commit.store({.generations = {to_record(Generation{.number = 1, .spec = a_spec("8.1")})},
                              .operations = {to_record(Operation{.id = 1, .generation = 1})}}));
  house.start();
  const auto status = house.settled();
  CHECK(status->operations.front().outcome == Outcome::Failed);
  CHECK(status->operations.front().cause == "version");
  CHECK(status->generations.front().verdict == Verdict::Failed);
}

TEST_CASE("after a boot what was verified last is loaded again, unless the node only observes or is frozen") {
  for (const bool applies : {true, false}) {
    for (const bool frozen : {true, false}) {
      CAPTURE(applies);
      CAPTURE(frozen);
      House house;
      house.start();
      house.load("8.1");
      house.controller.reset();
      house.node.seen = {};
      house.options.at_start = applies ? AtStart::Apply : AtStart::Observe;
      REQUIRE(house.commit.store({.freeze = std::pair(frozen, std::string())}));
      house.start();
      const auto status = house.settled();
      CHECK(house.node.seen.modules.contains("onload") == (applies && !frozen));
      CHECK(status->drift.empty() == (applies && !frozen));
      CHECK(status->generations.size() == 1);
    }
  }
}

TEST_CASE("a version that does not come up after a boot is tried again at the next") {
  House house;
  house.start();
  house.load("8.1");
  house.controller.reset();
  house.node.seen = {};
  house.node.acts = 0;
  house.node.fails_at = 1;
  house.node.fails_until = 1000;
  house.start();
  auto status = house.settled();
  CHECK(status->operations.back().outcome == Outcome::Failed);
  CHECK(effective(*status)->number == 1);
  house.controller.reset();
  house.node.fails_at = 0;
  house.start();
  CHECK(house.settled()->door_open);
}

TEST_CASE("what somebody else loaded is shown as drift and left alone, also at a start") {
  House house;
  house.start();
  house.load("8.1");
  house.node.put(a_release("7.0"));
  house.node.done.clear();
  REQUIRE(house.look());
  for (int life = 0; life < 2; ++life) {
    const auto status = house.settled();
    CHECK(status->drift.find("another one") != std::string::npos);
    CHECK_FALSE(status->door_open);
    CHECK(house.node.done.empty());
    house.controller.reset();
    house.start();
  }
  // Who wants it all the same says so.
  CHECK(house.load("8.1")->door_open);
}

TEST_CASE("a wish that cannot be stored changes nothing") {
  House house;
  house.start();
  house.commit.broken = true;
  const auto refused = house.want(a_spec("8.1"));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::Store);
  CHECK(house.settled()->generations.empty());
  CHECK(house.node.done.empty());
}

TEST_CASE("an operation whose steps cannot be stored stays open and ends when they can") {
  House house;
  house.options.look_interval = std::chrono::milliseconds(2);
  Operation operation{.id = 1, .generation = 1};
  REQUIRE(house.commit.store({.generations = {to_record(Generation{.number = 1, .spec = a_spec("8.1")})},
                              .operations = {to_record(operation)}}));
  house.commit.broken = true;
  house.start();
  for (int i = 0; i < 5; ++i) REQUIRE(house.look());
  CHECK(running(*house.controller->status()) != nullptr);
  house.commit.broken = false;
  while (running(*house.controller->status()) != nullptr) std::this_thread::yield();
  CHECK(effective(*house.controller->status())->number == 1);
  house.controller.reset();
  CHECK(house.node.is(a_release("8.1")));
}

TEST_CASE("generations and operations are bounded, and the effective one is kept") {
  House house;
  house.options.kept = 4;
  house.start();
  house.load("8.1");
  house.node.fails_at = 1;
  house.node.fails_until = 1000000;
  for (int i = 0; i < 10; ++i) {
    REQUIRE(house.want(a_spec("9." + std::to_string(i))));
    house.settled();
  }
  const auto status = house.controller->status();
  CHECK(status->generations.size() <= 5);
  CHECK(status->operations.size() <= 4);
  REQUIRE(effective(*status) != nullptr);
  CHECK(effective(*status)->number == 1);
  CHECK(status->generations.back().number == 11);
  CHECK(house.commit.rows().generations.size() == status->generations.size());
  CHECK(house.commit.rows().operations.size() == status->operations.size());
}

TEST_CASE("unloading is a wish like any other") {
  House house;
  house.start();
  house.load("8.1");
  REQUIRE(house.want({.state = State::Unloaded}));
  const auto status = house.settled();
  CHECK(house.node.seen.modules.empty());
  CHECK(status->drift.empty());
  CHECK_FALSE(status->door_open);
}

TEST_CASE("what is not managed is neither loaded nor drift") {
  House house;
  house.start();
  house.load("8.1");
  const auto accepted = house.want({.state = State::Unmanaged});
  REQUIRE(accepted);
  CHECK_FALSE(accepted->operation);
  house.node.put(a_release("7.0"));
  REQUIRE(house.look());
  CHECK(house.controller->status()->drift.empty());
}

TEST_CASE("a version that the node is kept at cannot be removed") {
  House house;
  house.start();
  house.load("8.1");
  const auto remove = [&](const std::string& name) {
    return house.ask<void>([&](auto done) { house.controller->remove_version(name, std::move(done)); });
  };
  const auto refused = remove("8.1");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::Conflict);
  CHECK(remove("7.0"));
  CHECK(house.node.removed_versions == Names{"7.0"});
}

TEST_CASE("a verification says what is wrong and changes nothing") {
  House house;
  house.start();
  const auto verify = [&] {
    return house.ask<Verification>([&](auto done) { house.controller->verify(std::move(done)); });
  };
  CHECK(verify().error().code == ErrorCode::Conflict);
  house.load("8.1");
  CHECK_FALSE(verify()->step_error);
  house.node.acts = 0;
  house.node.fails_at = 1;
  house.node.cause = "control_plane";
  CHECK(verify()->step_error->cause == "control_plane");
  house.node.seen.modules.erase("onload");
  CHECK(verify()->step_error->cause == "drifted");
  CHECK(house.controller->status()->operations.size() == 1);
}

TEST_CASE("a node that is drained stays so over restarts and a boot until it is undrained") {
  House house;
  house.start();
  house.load("8.1");
  const auto drained = house.ask<Accepted>([&](auto done) { house.controller->drain({}, std::move(done)); });
  REQUIRE(drained);
  REQUIRE(drained->operation);
  for (int life = 0; life < 3; ++life) {
    const auto status = house.settled();
    CHECK(status->drained);
    CHECK_FALSE(status->door_open);
    CHECK(status->drift.empty());
    CHECK_FALSE(house.node.door_is_open);
    CHECK(status->generations.size() == 1);
    CHECK(effective(*status)->number == 1);
    house.controller.reset();
    if (life == 1) house.node.seen = {};
    house.start();
  }
  REQUIRE(house.ask<Accepted>([&](auto done) { house.controller->undrain(std::move(done)); }));
  CHECK(house.settled()->door_open);
  CHECK(house.node.door_is_open);
  CHECK_FALSE(house.commit.rows().drained);
}

TEST_CASE("a drain whose users stay leaves the node open and not drained") {
  House house;
  house.start();
  house.load("8.1");
  house.node.users = {User{.process = {4711, 99}, .comm = "feed"}};
  REQUIRE(house.ask<Accepted>([&](auto done) { house.controller->drain({UsersPolicy::Fail, {}}, std::move(done)); }));
  const auto status = house.settled();
  CHECK(status->operations.back().outcome == Outcome::RolledBack);
  CHECK(status->door_open);
  CHECK_FALSE(house.commit.rows().drained);
}

TEST_CASE("an operation that waits for users can be cancelled, one that is over cannot") {
  House house;
  house.start();
  house.load("8.1");
  house.node.users = {User{.process = {4711, 99}, .comm = "feed"}};
  Spec spec = a_spec("9.0");
  spec.users = UsersPolicy::Wait;
  const auto accepted = house.want(spec);
  REQUIRE(accepted);
  const auto cancel = [&](uint64_t id) {
    return house.ask<Accepted>([&](auto done) { house.controller->cancel(id, std::move(done)); });
  };
  REQUIRE(cancel(*accepted->operation));
  const auto status = house.settled();
  CHECK(status->operations.back().outcome == Outcome::RolledBack);
  CHECK(status->operations.back().cause == kCancelled);
  CHECK(status->door_open);
  CHECK(house.node.is(a_release("8.1")));
  CHECK(cancel(*accepted->operation).error().code == ErrorCode::Conflict);
  CHECK(cancel(77).error().code == ErrorCode::NotFound);
}

TEST_CASE("what is foretold is what is done, and foretelling changes nothing") {
  House house;
  house.start();
  house.load("8.1");
  house.node.done.clear();
  const uint64_t revision = house.controller->status()->revision;
  const auto found =
      house.ask<DryRun>([&](auto done) { house.controller->dry_run(a_spec("9.0"), {}, std::move(done)); });
  REQUIRE(found);
  CHECK_FALSE(refusal_of(*found));
  CHECK(house.node.done.empty());
  CHECK(house.controller->status()->revision == revision);
  const auto status = house.load("9.0");
  std::vector<std::pair<Act, std::string>> foretold, done;
  for (const NextStep& step : found->steps) foretold.emplace_back(step.act, step.subject);
  for (const Step& step : status->operations.back().steps) done.emplace_back(step.act, step.subject);
  CHECK(foretold == done);
  house.node.missing = {"9.1"};
  const auto refused =
      house.ask<DryRun>([&](auto answer) { house.controller->dry_run(a_spec("9.1"), {}, std::move(answer)); });
  REQUIRE(refused);
  CHECK(refusal_of(*refused)->field == "/version");
  CHECK(refused->steps.empty());
}

TEST_CASE("an amendment is a generation of its own, and reloads only if it may") {
  House house;
  house.start();
  house.load("8.1");
  const auto patch = [&](SpecPatch change) {
    return house.ask<Accepted>([&](auto done) { house.controller->patch(std::move(change), {}, std::move(done)); });
  };
  REQUIRE(patch({.control_plane = Names{"-K", "-s"}}));
  const auto status = house.settled();
  CHECK(status->generations.back().number == 2);
  CHECK(status->generations.back().spec.control_plane == Names{"-K", "-s"});
  CHECK(status->generations.back().spec.version == "8.1");
  house.node.seen.modules["onload"].build_id = "another";
  const auto refused = patch({.parameters = {{"onload", {{"a", "1"}}}}});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::Conflict);
  REQUIRE(patch({.parameters = {{"onload", {{"a", "1"}}}}, .reload = Reload::Allow}));
  CHECK(house.settled()->generations.back().spec.parameters == Parameters{{"onload", {{"a", "1"}}}});
}

TEST_CASE("who waits is told when something changes, when the time is over and when the service ends") {
  House house;
  house.start();
  house.settled();
  const auto wait = [&](std::chrono::seconds time, auto meanwhile) {
    std::promise<uint64_t> seen;
    const uint64_t since = house.controller->status()->revision;
    house.controller->watch(since, time, [&seen](const auto& status) { seen.set_value((*status)->revision); });
    meanwhile();
    return seen.get_future().get() > since;
  };
  CHECK(wait(std::chrono::seconds(60), [&] { house.load("8.1"); }));
  CHECK_FALSE(wait(std::chrono::seconds(0), [&] { (void)house.look(); }));  // and a look is no news
  CHECK_FALSE(wait(std::chrono::seconds(60), [&] { house.controller->end_watches(); }));
}

TEST_CASE("who waits beyond its share is answered early, and all are answered") {
  const QueueLimits limits;
  std::mutex lock;
  std::condition_variable told;
  size_t answers = 0;
  House house;
  house.start();
  const uint64_t revision = house.settled()->revision;
  const auto answer = [&](const Result<std::shared_ptr<const Status>>& status) {
    const std::lock_guard hold(lock);
    CHECK(status);
    ++answers;
    told.notify_all();
  };
  for (size_t i = 0; i < limits.share + 2; ++i) {
    house.controller->watch(revision, std::chrono::seconds(60), {answer, Client{.client_key = "one"}});
  }
  {
    std::unique_lock hold(lock);
    told.wait(hold, [&] { return answers >= 2; });
    CHECK(answers == 2);
  }
  house.controller.reset();
  CHECK(answers == limits.share + 2);
}

TEST_CASE("one look answers all who asked before it began") {
  std::atomic<int> answers = 0;
  House house;
  house.start();
  for (int i = 0; i < 1000; ++i) {
    house.controller->find_users(
        {[&answers](const Result<InUse>& use) { answers += use ? 1 : 0; }, Client{.client_key = "one"}});
  }
  std::promise<void> looked;
  house.controller->look([&looked](const Result<void>&) { looked.set_value(); });
  looked.get_future().wait();
  house.controller->find_users([&answers](const Result<InUse>&) { ++answers; });
  while (answers < 1001) std::this_thread::yield();
  CHECK(answers == 1001);
}

TEST_CASE("what a client asks for that has hung up is not begun") {
  House house;
  house.start();
  const auto gone = std::make_shared<const std::atomic<bool>>(true);
  std::promise<Result<void>> answer;
  house.controller->set_freeze({true, ""}, {[&answer](const Result<void>& done) { answer.set_value(done); },
                                            Client{.client_key = "one", .hung_up = gone}});
  const Result<void> done = answer.get_future().get();
  REQUIRE_FALSE(done);
  CHECK(done.error().code == ErrorCode::Busy);
  CHECK_FALSE(house.controller->status()->freeze.frozen);
}

TEST_CASE("one who asks while the keeper stops is told so or answered, never forgotten") {
  std::atomic<int> answers = 0;
  House house;
  house.start();
  std::thread asker([&] {
    for (int i = 0; i < 40; ++i) house.controller->find_users([&answers](const Result<InUse>&) { ++answers; });
  });
  asker.join();
  house.controller.reset();
  CHECK(answers == 40);
}

TEST_CASE("who asks without end holds up no operation") {
  House house;
  house.options.most_forceful = UsersPolicy::Term;
  house.start();
  house.load("8.1");
  house.node.users = {User{.process = {4711, 99}, .comm = "feed"}};
  house.node.users_obey_term = true;
  Spec spec = a_spec("9.0");
  spec.users = UsersPolicy::Term;
  spec.drain = std::chrono::seconds(1);
  std::atomic<bool> is_over = false;
  // Six clients that ask again as soon as they are answered: there is always one who waits.
  std::function<void()> ask_again = [&] {
    house.controller->find_users([&](const Result<InUse>&) {
      if (!is_over) ask_again();
    });
  };
  for (int i = 0; i < 6; ++i) ask_again();
  const auto accepted = house.want(spec);
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (running(*house.controller->status()) != nullptr && std::chrono::steady_clock::now() < until) {
    std::this_thread::yield();
  }
  const auto status = house.controller->status();
  is_over = true;
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

Result<Interface> turn(House& house, const std::string& name, InterfaceSwitch what, Turned to) {
  return house.ask<Interface>([&](auto done) { house.controller->set_interface(name, what, to, std::move(done)); });
}

}  // namespace

TEST_CASE("what is wanted of an interface is stored and set again after each load") {
  House house;
  house.node.seen.interfaces = {a_port("eth0")};
  house.start();
  house.load("8.1");
  const auto set = turn(house, "eth0", InterfaceSwitch::Acceleration, Turned::Off);
  REQUIRE(set);
  CHECK(set->accelerated == false);
  CHECK(house.commit.rows().interfaces ==
        std::vector<store::OnloadInterfaceRecord>{{"0000:03:00.0", "00:0f:53:00:00:01", false, {}}});
  house.load("9.0");
  CHECK(house.node.seen.interfaces.front().accelerated == false);
  CHECK(house.settled()->drift.empty());
}

TEST_CASE("at the start of nrd interfaces are set as they are wanted, and others' later changes are drift") {
  House house;
  house.node.seen.interfaces = {a_port("eth0")};
  house.start();
  house.load("8.1");
  REQUIRE(turn(house, "eth0", InterfaceSwitch::Acceleration, Turned::Off));
  house.controller.reset();
  house.node.seen.interfaces = {a_port("eth5")};
  house.start();
  (void)house.settled();
  CHECK(house.node.seen.interfaces.front().accelerated == false);
  house.node.seen.interfaces.front().accelerated = true;
  (void)house.look();
  CHECK(house.settled()->drift == "needs configure eth5.acceleration");
}

TEST_CASE("while Onload is not loaded what is wanted of an interface is only kept") {
  House house;
  house.node.seen.interfaces = {{.name = "ens4", .pci = "0000:00:04.0", .mac = "02:00:00:00:00:04"}};
  house.start();
  REQUIRE(turn(house, "ens4", InterfaceSwitch::Afxdp, Turned::On));
  CHECK_FALSE(house.node.seen.interfaces.front().afxdp);
  house.load("8.1");
  CHECK(house.node.seen.interfaces.front().afxdp);
}

TEST_CASE("an interface that the module keeps is a conflict, and is not registered at the next load") {
  House house;
  house.node.seen.interfaces = {{.name = "ens4", .pci = "0000:00:04.0", .mac = "02:00:00:00:00:04"}};
  house.start();
  house.load("8.1");
  REQUIRE(turn(house, "ens4", InterfaceSwitch::Afxdp, Turned::On));
  const auto kept = turn(house, "ens4", InterfaceSwitch::Afxdp, Turned::Off);
  REQUIRE_FALSE(kept);
  CHECK(kept.error().code == ErrorCode::Conflict);
  CHECK(kept.error().message.find("loaded anew") != std::string::npos);
  CHECK(house.settled()->drift.empty());
  house.load("9.0");
  CHECK_FALSE(house.node.seen.interfaces.front().afxdp);
}

TEST_CASE("what cannot be had of an interface changes nothing") {
  House house;
  Interface plain = a_port("eth0");
  plain.accelerated = std::nullopt;
  house.node.seen.interfaces = {plain};
  house.start();
  house.load("8.1");
  CHECK(turn(house, "eth1", InterfaceSwitch::Afxdp, Turned::On).error().code == ErrorCode::NotFound);
  CHECK(turn(house, "eth0", InterfaceSwitch::Acceleration, Turned::Off).error().code == ErrorCode::Conflict);
  house.node.refuses_interfaces = true;
  CHECK(turn(house, "eth0", InterfaceSwitch::Afxdp, Turned::On).error().code == ErrorCode::Hardware);
  CHECK(house.commit.rows().interfaces.empty());
}

TEST_CASE("a switch that cannot be stored is put back") {
  House house;
  house.node.seen.interfaces = {a_port("eth0")};
  house.start();
  house.load("8.1");
  house.commit.broken = true;
  CHECK_FALSE(turn(house, "eth0", InterfaceSwitch::Acceleration, Turned::Off));
  CHECK(house.node.seen.interfaces.front().accelerated == true);
  CHECK(house.settled()->interfaces.empty());
}

TEST_CASE("the driver below the default route is not begun with") {
  House house;
  house.node.put(a_release("8.1", Sfc::Managed));
  house.node.carries_default_route = true;
  house.start();
  Spec spec = a_spec("9.0");
  spec.sfc = Sfc::Managed;
  CHECK(house.want(spec).error().code == ErrorCode::Conflict);
  CHECK(house.node.done.empty());
  CHECK(house.want(a_spec("9.0")));  // without the driver
}
