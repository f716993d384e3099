#include "engine/onload/allocations.h"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <set>
#include <thread>

#include "engine/owner_watcher.h"
#include "tests/unit/api_v1/fake_controller.h"
#include "tests/unit/hw_onload_modules/folder.h"
#include "tests/unit/results.h"

namespace nrd::onload::allocations_test {

using nrd::testing::error_of;
using nrd::testing::value_of;

namespace {

constexpr std::chrono::seconds kDeadline{30};

template <typename T, typename Ask>
Result<T> answer(Ask ask) {
  std::promise<Result<T>> promise;
  ask([&promise](Result<T> done) { promise.set_value(std::move(done)); });
  return promise.get_future().get();
}

// Onload 9.0 is loaded and verified, and its profiles lie in its tree.
struct Fixture {
  Fixture() { renew(); }
  ~Fixture() { owners->stop(); }
  Fixture(const Fixture&) = delete;
  Fixture& operator=(const Fixture&) = delete;

  void renew(const Stored& stored = {}) {
    folder.folder("state");
    folder.put("opt/versions/9.0/usr/lib64/libonload.so", "");
    controller.known.generations = {
        {.number = 3, .spec = {.state = State::Loaded, .version = "9.0"}, .verdict = Verdict::Verified}};
    controller.known.observed.current = "9.0";
    controller.known.observed.devices = {
        {.name = "onload", .number = DeviceNumber{240, 0}, .node = NodeFile{DeviceNumber{240, 0}, {}}},
        {.name = "sfc_char", .number = DeviceNumber{241, 0}, .node = NodeFile{DeviceNumber{7, 0}, {}}}};
    controller.known.device_access_open = true;
    allocations = Allocations::start(controller, *owners,
                                     [this](const Change& change) {
                                       if (commit) return commit(change);
                                       if (refuse_commits)
                                         return Result<void>(fail(ErrorCode::Store, "the disk is full"));
                                       changes.push_back(change);
                                       return Result<void>();
                                     },
                                     stored, clock,
                                     {.versions = "/opt",
                                      .trust = folder.trust(),
                                      .profiles = {"/etc/one", "/etc/two"},
                                      .state_directory = folder.path("state"),
                                      .limits = {.most = 2},
                                      .count_workloads = [this] {
                                        return std::map<std::string, size_t>{{kOriginRest, workloads.load()}};
                                      }});
  }

  Result<Allocated> allocate(const Owner& owner, RenderRequest what = {}, Preload preload = Preload::Yes) {
    return answer<Allocated>([&](auto done) { allocations->allocate({std::move(what), preload, owner}, done); });
  }
  Result<RenderedProfiles> render(RenderRequest request, Form form) {
    return answer<RenderedProfiles>([&](auto done) { allocations->render(request, form, done); });
  }
  Result<ProfileEntry> put(const std::string& id, const std::string& text) {
    return answer<ProfileEntry>([&](auto done) { allocations->put_profile(id, text, done); });
  }
  Owner myself() { return *owners->identify(::getpid()); }
  bool wait_until_free() {
    const auto until = std::chrono::steady_clock::now() + kDeadline;
    while (!allocations->allocations()->empty() && std::chrono::steady_clock::now() < until) std::this_thread::yield();
    return allocations->allocations()->empty();
  }

  nrd::testing::Folder folder;
  nrd::testing::FakeController controller;
  SystemClock clock;
  std::unique_ptr<OwnerWatcher> owners{*OwnerWatcher::start()};
  std::vector<Change> changes;
  bool refuse_commits = false;
  std::atomic<size_t> workloads{0};
  Controller::CommitFn commit;  // in place of these two
  std::unique_ptr<Allocations> allocations;
};

}  // namespace

TEST_CASE("the first folder that has a profile wins") {
  Fixture fixture;
  fixture.folder.put("opt/versions/9.0/usr/libexec/onload/profiles/latency.opf", "onload_set EF_A shipped\n");
  fixture.folder.put("opt/versions/9.0/usr/libexec/onload/profiles/safe.opf", "onload_set EF_A shipped\n");
  const auto value = [&](const char* name) {
    const auto rendered = fixture.render({.profiles = {name}}, Form::Json);
    return rendered ? rendered->environment.at("EF_A") : rendered.error().message;
  };
  CHECK(value("latency") == "shipped");
  REQUIRE(fixture.put("latency", "onload_set EF_A own\n"));
  CHECK(value("latency") == "own");
  fixture.folder.put("etc/two/latency.opf", "onload_set EF_A two\n");
  CHECK(value("latency") == "two");
  fixture.folder.put("etc/one/latency.opf", "onload_set EF_A one\n");
  CHECK(value("latency") == "one");
  CHECK(value("safe") == "shipped");
}

TEST_CASE("an invalid profile, or one shadowed by a configured folder, cannot be stored") {
  Fixture fixture;
  fixture.folder.put("etc/one/latency.opf", "onload_set EF_A one\n");
  CHECK(fixture.put("latency", "onload_set EF_A own\n").error().code == ErrorCode::Conflict);
  const Error wrong = error_of(fixture.put("mine", "onload_set LD_PRELOAD x.so\n"));
  CHECK(wrong.code == ErrorCode::BadRequest);
  CHECK(wrong.field == "/text");
  CHECK(wrong.message.starts_with("mine.opf:1: "));
  for (const char* id : {"../mine", "mine.opf", ".mine", "", "a b"}) {
    CAPTURE(id);
    CHECK(fixture.put(id, "onload_set EF_A 1\n").error().code == ErrorCode::NotFound);
  }
  CHECK_FALSE(fixture.folder.has("state/profiles"));
}

TEST_CASE("profiles are listed with their kind") {
  Fixture fixture;
  fixture.folder.put("etc/one/caller.opf", "onload_set EF_A \"$WORKERS\"\n");
  fixture.folder.put("etc/one/shell.opf", "\nif true; then :; fi\n");
  fixture.folder.put("etc/one/importer.opf", "onload_import shell\n");
  fixture.folder.put("etc/one/broken.opf", "onload_set EF_A \"x\n");
  fixture.folder.put("etc/one/part.opf-fragment", "onload_set EF_A 1\n");
  REQUIRE(fixture.put("own", "onload_set EF_A 1\n"));
  const auto list =
      value_of(answer<std::vector<ProfileEntry>>([&](auto done) { fixture.allocations->list_profiles(done); }));
  const auto kind = [&](const std::string& id) {
    for (const ProfileEntry& entry : list) {
      if (entry.id == id) return std::pair(entry.kind, entry.place);
    }
    FAIL(id);
    return std::pair(ProfileEntry::Kind::Wrong, std::string());
  };
  using Kind = ProfileEntry::Kind;
  CHECK(list.size() == 6);
  CHECK(kind("caller") == std::pair(Kind::Static, std::string()));
  CHECK(kind("shell") == std::pair(Kind::Dynamic, fixture.folder.path("etc/one/shell.opf:2")));
  CHECK(kind("importer") == std::pair(Kind::Dynamic, fixture.folder.path("etc/one/shell.opf:2")));
  CHECK(kind("broken").first == Kind::Wrong);
  CHECK(kind("part.opf-fragment") == std::pair(Kind::Static, std::string()));
  CHECK(kind("own") == std::pair(Kind::Static, std::string()));
}

TEST_CASE("a profile that needs a shell is refused with its place and the alternative") {
  Fixture fixture;
  fixture.folder.put("etc/one/shell.opf", "\nif true; then :; fi\n");
  const Error refused = error_of(fixture.render({.profiles = {"shell"}}, Form::Env));
  CHECK(refused.code == ErrorCode::Unsupported);
  CHECK(refused.message.starts_with(fixture.folder.path("etc/one/shell.opf:2: ")));
  CHECK(refused.message.find("nrdctl run") != std::string::npos);
  const Error missing = error_of(fixture.render({.profiles = {"nowhere"}}, Form::Env));
  CHECK(missing.code == ErrorCode::BadRequest);
  CHECK(missing.field == "/profiles");
}

TEST_CASE("an allocation contains the library, the profiles' variables and the usable devices") {
  Fixture fixture;
  REQUIRE(fixture.put("p", "onload_set EF_A profile\nonload_set EF_B profile\n"));
  const auto made = value_of(fixture.allocate(
      fixture.myself(), {.profiles = {"p"}, .environment = {{"LD_PRELOAD", "x.so"}, {"EF_A", "caller"}}}));
  const std::string library = "/opt/versions/9.0/usr/lib64/libonload.so";
  CHECK(made.launch.environment ==
        profiles::Environment{{"EF_A", "caller"}, {"EF_B", "profile"}, {"LD_PRELOAD", library + ":x.so"}});
  REQUIRE(made.launch.devices.size() == 1);
  CHECK(made.launch.devices.front().name == "onload");
  CHECK(made.launch.mounts == std::vector<Mount>{{library, library}});
  CHECK(made.allocation.generation == 3);
  REQUIRE(fixture.changes.size() == 1);
  CHECK(fixture.changes.front().allocations.front().owner == fixture.myself());
  CHECK(*fixture.allocations->allocations() == std::vector{made.allocation});

  const auto bare =
      value_of(fixture.allocate(fixture.myself(), {.environment = {{"LD_PRELOAD", "x.so"}}}, Preload::No));
  CHECK(bare.launch.environment == profiles::Environment{{"LD_PRELOAD", "x.so"}});
}

TEST_CASE("allocations that are reserved for an origin are for it alone, and its limit") {
  Fixture fixture;
  fixture.allocations->set_limits({.most = 3, .reserved = {{"kubernetes", 2}}});
  const auto admit = [&fixture](const char* origin) {
    return answer<Admitted>([&](auto done) { fixture.allocations->admit({}, Allocations::Renewal::No, origin, done); });
  };
  const auto one = admit(kOriginRest);
  REQUIRE(one);
  const Error refused = error_of(admit(kOriginRest));
  CHECK(refused.code == ErrorCode::Busy);
  CHECK(refused.message.ends_with("; 2 of them are reserved for origin kubernetes (reserve.kubernetes.onload)"));
  const auto first = admit("kubernetes");
  const auto second = admit("kubernetes");
  CHECK(first);
  CHECK(second);
  CHECK(error_of(admit("kubernetes")).message ==
        "all 2 allocations reserved for origin kubernetes are taken (reserve.kubernetes.onload)");
}

TEST_CASE("admitted workloads count towards the allocation limit at once") {
  Fixture fixture;
  const auto admit = [&fixture](Allocations::Renewal renewal = Allocations::Renewal::No) {
    return answer<Admitted>([&](auto done) { fixture.allocations->admit({}, renewal, kOriginRest, done); });
  };
  auto first = admit();
  REQUIRE(first);
  CHECK(first->launch.generation == 3);
  CHECK(first->launch.environment.contains("LD_PRELOAD"));
  fixture.workloads = 1;  // stored and counted, as it still is among those that were admitted
  CHECK(error_of(fixture.allocate(fixture.myself())).code == ErrorCode::Busy);
  first = fail(ErrorCode::Internal, "given back");
  CHECK(fixture.allocate(fixture.myself()));
  CHECK_FALSE(admit());
  CHECK(admit(Allocations::Renewal::Yes));
  CHECK(fixture.changes.size() == 1);
}

TEST_CASE("allocations are refused with the reason while Onload is not ready") {
  Fixture fixture;
  const auto refusal = [&] { return error_of(fixture.allocate(fixture.myself())).code; };
  fixture.controller.known.device_access_open = false;
  fixture.controller.known.drift = "onload was loaded from an unexpected file";
  CHECK(refusal() == ErrorCode::Busy);
  fixture.controller.known.operations = {{.id = 4, .outcome = onload::Outcome::Running}};
  CHECK(refusal() == ErrorCode::Busy);
  fixture.controller.known.operations.clear();
  fixture.controller.known.generations.front().spec.state = State::Unloaded;
  CHECK(refusal() == ErrorCode::Conflict);
  fixture.controller.known.generations.clear();
  CHECK(refusal() == ErrorCode::Conflict);
  CHECK(fixture.changes.empty());
}

TEST_CASE("allocations are limited, and released ones free their place") {
  Fixture fixture;
  const auto first = value_of(fixture.allocate(fixture.myself()));
  REQUIRE(fixture.allocate(fixture.myself()));
  CHECK(fixture.allocate(fixture.myself()).error().code == ErrorCode::Busy);
  const auto release = [&](uint64_t id) {
    return answer<void>([&](auto done) { fixture.allocations->release(id, done); });
  };
  CHECK(release(first.allocation.id));
  CHECK(release(first.allocation.id).error().code == ErrorCode::NotFound);
  CHECK(fixture.allocate(fixture.myself()));
}

TEST_CASE("an allocation that is not stored is not handed out") {
  Fixture fixture;
  fixture.refuse_commits = true;
  CHECK(fixture.allocate(fixture.myself()).error().code == ErrorCode::Store);
  CHECK(fixture.allocations->allocations()->empty());
}

TEST_CASE("an allocation stored by a commit with unknown outcome does no harm") {
  Fixture fixture;
  std::set<uint64_t> rows;  // as the store has them: the later one with an id replaces the earlier
  bool is_told = false;
  fixture.commit = [&](const Change& change) {
    for (const Allocation& allocation : change.allocations) rows.insert(allocation.id);
    return is_told ? Result<void>() : Result<void>(fail(ErrorCode::Frozen, "the outcome is unknown"));
  };
  CHECK(fixture.allocate(fixture.myself()).error().code == ErrorCode::Frozen);
  is_told = true;
  CHECK(fixture.allocate(fixture.myself()));
  CHECK(fixture.allocations->allocations()->size() == 1);
  CHECK(rows.size() == 1);
}

TEST_CASE("an allocation ends with its process") {
  Fixture fixture;
  const pid_t child = ::fork();
  if (child == 0) {
    for (;;) ::pause();
  }
  REQUIRE(fixture.allocate(*fixture.owners->identify(child)));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  CHECK(fixture.wait_until_free());
  CHECK(fixture.changes.back().removed_allocations == std::vector<uint64_t>{1});
}

TEST_CASE("after a restart allocations of living processes are kept and others released") {
  Fixture fixture;
  const Owner alive = fixture.myself();
  Owner dead = alive;
  ++dead.start;
  fixture.renew({.revision = 8,  // allocation 8 was released before the restart
                 .allocations = {{.id = 5, .owner = alive, .generation = 3, .version = "9.0"},
                                 {.id = 6, .owner = dead, .generation = 3, .version = "9.0"}}});
  const auto until = std::chrono::steady_clock::now() + kDeadline;
  while (fixture.allocations->allocations()->size() > 1 && std::chrono::steady_clock::now() < until)
    std::this_thread::yield();
  REQUIRE(fixture.allocations->allocations()->size() == 1);
  CHECK(fixture.allocations->allocations()->front().id == 5);
  const auto next = value_of(fixture.allocate(alive));
  CHECK(next.allocation.id == 9);
}

TEST_CASE("each form contains the variables of profiles and caller") {
  Fixture fixture;
  REQUIRE(fixture.put("p", "onload_set EF_A 1\n"));
  const RenderRequest request{.profiles = {"p"}, .environment = {{"EF_B", "2"}}};
  CHECK(fixture.render(request, Form::Env)->text == "EF_A=\"1\"\nEF_B=\"2\"\n");
  CHECK(fixture.render(request, Form::Systemd)->text.find("Environment=\"EF_B=2\"\n") != std::string::npos);
  CHECK(fixture.render(request, Form::ConfigMap)->text.find("name: onload-p-profile\n") != std::string::npos);
  CHECK(fixture.render(request, Form::Json)->environment == profiles::Environment{{"EF_A", "1"}, {"EF_B", "2"}});
  const RenderRequest forced{.profiles = {"p"}, .environment = {{"EF_A", "2"}}, .winner = profiles::Winner::Profiles};
  CHECK(fixture.render(forced, Form::Json)->environment == profiles::Environment{{"EF_A", "1"}});
}

}  // namespace nrd::onload::allocations_test
