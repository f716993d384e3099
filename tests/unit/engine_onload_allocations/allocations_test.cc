#include "engine/onload/allocations.h"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <set>
#include <thread>

#include "tests/unit/api/fake_controller.h"
#include "tests/unit/hw_onload_modules/folder.h"

using namespace nrd;
using namespace nrd::onload;

namespace {

constexpr std::chrono::seconds kDeadline{30};

template <typename T, typename Ask>
Result<T> answer(Ask ask) {
  std::promise<Result<T>> promise;
  ask([&promise](Result<T> done) { promise.set_value(std::move(done)); });
  return promise.get_future().get();
}

// Onload 9.0 is loaded and verified, and its profiles lie in its tree.
struct House {
  House() { renew(); }
  ~House() { owners->stop(); }
  House(const House&) = delete;
  House& operator=(const House&) = delete;

  void renew(const store::OnloadRecords& records = {}) {
    folder.folder("state");
    folder.put("opt/versions/9.0/usr/lib64/libonload.so", "");
    controller.known.generations = {
        {.number = 3, .spec = {.state = State::Loaded, .version = "9.0"}, .verdict = Verdict::Verified}};
    controller.known.seen.current = "9.0";
    controller.known.seen.devices = {
        {.name = "onload", .number = DeviceNumber{240, 0}, .node = NodeFile{DeviceNumber{240, 0}, {}}},
        {.name = "sfc_char", .number = DeviceNumber{241, 0}, .node = NodeFile{DeviceNumber{7, 0}, {}}}};
    controller.known.door_open = true;
    allocations = *Allocations::start(controller, *owners,
                                      [this](const store::OnloadChange& change) {
                                        if (commit) return commit(change);
                                        if (refuse_commits)
                                          return Result<void>(fail(ErrorCode::Store, "the disk is full"));
                                        changes.push_back(change);
                                        return Result<void>();
                                      },
                                      records, clock,
                                      {.versions = "/opt",
                                       .trust = folder.trust(),
                                       .profiles = {"/etc/one", "/etc/two"},
                                       .state_directory = folder.path("state"),
                                       .most_allocations = 2,
                                       .count_workloads = [this] { return workloads.load(); }});
  }

  Result<Allocated> allocate(const store::Owner& owner, RenderRequest what = {}, Preload preload = Preload::Yes) {
    return answer<Allocated>([&](auto done) { allocations->allocate({std::move(what), preload, owner}, done); });
  }
  Result<RenderedProfiles> render(RenderRequest request, Form form) {
    return answer<RenderedProfiles>([&](auto done) { allocations->render(request, form, done); });
  }
  Result<ProfileEntry> put(const std::string& id, const std::string& text) {
    return answer<ProfileEntry>([&](auto done) { allocations->put_profile(id, text, done); });
  }
  store::Owner myself() { return *owners->identify(::getpid()); }
  bool wait_until_free() {
    const auto until = std::chrono::steady_clock::now() + kDeadline;
    while (!allocations->allocations()->empty() && std::chrono::steady_clock::now() < until) std::this_thread::yield();
    return allocations->allocations()->empty();
  }

  nrd::testing::Folder folder;
  nrd::testing::FakeController controller;
  SystemClock clock;
  std::unique_ptr<ProcessWatcher> owners{*ProcessWatcher::start()};
  std::vector<store::OnloadChange> changes;
  bool refuse_commits = false;
  std::atomic<size_t> workloads{0};
  Controller::CommitFn commit;  // in place of these two
  std::unique_ptr<Allocations> allocations;
};

}  // namespace

TEST_CASE("of profiles with one name the first folder's is found") {
  House house;
  house.folder.put("opt/versions/9.0/usr/libexec/onload/profiles/latency.opf", "onload_set EF_A shipped\n");
  house.folder.put("opt/versions/9.0/usr/libexec/onload/profiles/safe.opf", "onload_set EF_A shipped\n");
  const auto value = [&](const char* name) {
    const auto rendered = house.render({.profiles = {name}}, Form::Json);
    return rendered ? rendered->environment.at("EF_A") : rendered.error().message;
  };
  CHECK(value("latency") == "shipped");
  REQUIRE(house.put("latency", "onload_set EF_A own\n"));
  CHECK(value("latency") == "own");
  house.folder.put("etc/two/latency.opf", "onload_set EF_A two\n");
  CHECK(value("latency") == "two");
  house.folder.put("etc/one/latency.opf", "onload_set EF_A one\n");
  CHECK(value("latency") == "one");
  CHECK(value("safe") == "shipped");
}

TEST_CASE("a profile that a configured folder has cannot be put, and one that is wrong neither") {
  House house;
  house.folder.put("etc/one/latency.opf", "onload_set EF_A one\n");
  CHECK(house.put("latency", "onload_set EF_A own\n").error().code == ErrorCode::Conflict);
  const auto wrong = house.put("mine", "onload_set LD_PRELOAD x.so\n");
  REQUIRE_FALSE(wrong);
  CHECK(wrong.error().code == ErrorCode::BadRequest);
  CHECK(wrong.error().field == "/text");
  CHECK(wrong.error().message.starts_with("mine.opf:1: "));
  for (const char* id : {"../mine", "mine.opf", ".mine", "", "a b"}) {
    CAPTURE(id);
    CHECK(house.put(id, "onload_set EF_A 1\n").error().code == ErrorCode::NotFound);
  }
  CHECK_FALSE(house.folder.has("state/profiles"));
}

TEST_CASE("profiles are listed as what they are") {
  House house;
  house.folder.put("etc/one/caller.opf", "onload_set EF_A \"$WORKERS\"\n");
  house.folder.put("etc/one/shell.opf", "\nif true; then :; fi\n");
  house.folder.put("etc/one/importer.opf", "onload_import shell\n");
  house.folder.put("etc/one/broken.opf", "onload_set EF_A \"x\n");
  house.folder.put("etc/one/part.opf-fragment", "onload_set EF_A 1\n");
  REQUIRE(house.put("own", "onload_set EF_A 1\n"));
  const auto list = answer<std::vector<ProfileEntry>>([&](auto done) { house.allocations->list_profiles(done); });
  REQUIRE(list);
  const auto kind = [&](const std::string& id) {
    for (const ProfileEntry& entry : *list) {
      if (entry.id == id) return std::pair(entry.kind, entry.place);
    }
    FAIL(id);
    return std::pair(ProfileEntry::Kind::Wrong, std::string());
  };
  using Kind = ProfileEntry::Kind;
  CHECK(list->size() == 6);
  CHECK(kind("caller") == std::pair(Kind::Static, std::string()));
  CHECK(kind("shell") == std::pair(Kind::Dynamic, house.folder.path("etc/one/shell.opf:2")));
  CHECK(kind("importer") == std::pair(Kind::Dynamic, house.folder.path("etc/one/shell.opf:2")));
  CHECK(kind("broken").first == Kind::Wrong);
  CHECK(kind("part.opf-fragment") == std::pair(Kind::Static, std::string()));
  CHECK(kind("own") == std::pair(Kind::Static, std::string()));
}

TEST_CASE("a profile that needs a shell is refused with its place and who runs it") {
  House house;
  house.folder.put("etc/one/shell.opf", "\nif true; then :; fi\n");
  const auto refused = house.render({.profiles = {"shell"}}, Form::Env);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::Unsupported);
  CHECK(refused.error().message.starts_with(house.folder.path("etc/one/shell.opf:2: ")));
  CHECK(refused.error().message.find("nrdctl run") != std::string::npos);
  const auto missing = house.render({.profiles = {"nowhere"}}, Form::Env);
  REQUIRE_FALSE(missing);
  CHECK(missing.error().code == ErrorCode::BadRequest);
  CHECK(missing.error().field == "/profiles");
}

TEST_CASE("an allocation has the library in front, the profiles' variables and the devices that work") {
  House house;
  REQUIRE(house.put("p", "onload_set EF_A profile\nonload_set EF_B profile\n"));
  const auto made =
      house.allocate(house.myself(), {.profiles = {"p"}, .environment = {{"LD_PRELOAD", "x.so"}, {"EF_A", "caller"}}});
  REQUIRE(made);
  const std::string library = "/opt/versions/9.0/usr/lib64/libonload.so";
  CHECK(made->launch.environment ==
        profiles::Environment{{"EF_A", "caller"}, {"EF_B", "profile"}, {"LD_PRELOAD", library + ":x.so"}});
  CHECK(made->launch.devices == std::vector<std::string>{"/dev/onload"});
  CHECK(made->launch.mounts == std::vector<Mount>{{library, library}});
  CHECK(made->allocation.generation == 3);
  REQUIRE(house.changes.size() == 1);
  CHECK(house.changes.front().allocations.front().owner == house.myself());
  CHECK(*house.allocations->allocations() == std::vector{made->allocation});

  const auto bare = house.allocate(house.myself(), {.environment = {{"LD_PRELOAD", "x.so"}}}, Preload::No);
  REQUIRE(bare);
  CHECK(bare->launch.environment == profiles::Environment{{"LD_PRELOAD", "x.so"}});
}

TEST_CASE("workloads with Onload have their places among the allocations, from the moment they are admitted") {
  House house;
  const auto admit = [&house](Allocations::Place place = Allocations::Place::New) {
    return answer<Admitted>([&](auto done) { house.allocations->admit({}, place, done); });
  };
  auto first = admit();
  REQUIRE(first);
  CHECK(first->launch.generation == 3);
  CHECK(first->launch.environment.contains("LD_PRELOAD"));
  house.workloads = 1;  // stored and counted, as it still is among those that were admitted
  const auto refused = house.allocate(house.myself());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::Busy);
  first = fail(ErrorCode::Internal, "given back");
  CHECK(house.allocate(house.myself()));
  CHECK_FALSE(admit());
  CHECK(admit(Allocations::Place::Kept));
  CHECK(house.changes.size() == 1);
}

TEST_CASE("nobody gets an allocation while Onload is not ready, and it is said why") {
  House house;
  const auto refusal = [&] {
    const auto made = house.allocate(house.myself());
    REQUIRE_FALSE(made);
    return made.error().code;
  };
  house.controller.known.door_open = false;
  house.controller.known.drift = "onload is another one";
  CHECK(refusal() == ErrorCode::Busy);
  house.controller.known.operations = {{.id = 4, .outcome = onload::Outcome::Running}};
  CHECK(refusal() == ErrorCode::Busy);
  house.controller.known.operations.clear();
  house.controller.known.generations.front().spec.state = State::Unloaded;
  CHECK(refusal() == ErrorCode::Conflict);
  house.controller.known.generations.clear();
  CHECK(refusal() == ErrorCode::Conflict);
  CHECK(house.changes.empty());
}

TEST_CASE("there are so many allocations and no more, and what is given back is free") {
  House house;
  const auto first = house.allocate(house.myself());
  REQUIRE(first);
  REQUIRE(house.allocate(house.myself()));
  CHECK(house.allocate(house.myself()).error().code == ErrorCode::Busy);
  const auto release = [&](uint64_t id) {
    return answer<void>([&](auto done) { house.allocations->release(id, done); });
  };
  CHECK(release(first->allocation.id));
  CHECK(release(first->allocation.id).error().code == ErrorCode::NotFound);
  CHECK(house.allocate(house.myself()));
}

TEST_CASE("what is not stored was not handed out") {
  House house;
  house.refuse_commits = true;
  CHECK(house.allocate(house.myself()).error().code == ErrorCode::Store);
  CHECK(house.allocations->allocations()->empty());
}

TEST_CASE("an allocation that was stored although that was not known is in nobody's way") {
  House house;
  std::set<uint64_t> rows;  // as the store has them: a number once
  bool is_told = false;
  house.commit = [&](const store::OnloadChange& change) {
    for (const uint64_t id : change.removed_allocations) rows.erase(id);
    for (const auto& row : change.allocations) {
      if (!rows.insert(row.id).second) return Result<void>(fail(ErrorCode::Store, "it is there"));
    }
    return is_told ? Result<void>() : Result<void>(fail(ErrorCode::Frozen, "the outcome is unknown"));
  };
  CHECK(house.allocate(house.myself()).error().code == ErrorCode::Frozen);
  is_told = true;
  CHECK(house.allocate(house.myself()));
  CHECK(house.allocations->allocations()->size() == 1);
  CHECK(rows.size() == 1);
}

TEST_CASE("an allocation ends with its process") {
  House house;
  const pid_t child = ::fork();
  if (child == 0) {
    for (;;) ::pause();
  }
  REQUIRE(house.allocate(*house.owners->identify(child)));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  CHECK(house.wait_until_free());
  CHECK(house.changes.back().removed_allocations == std::vector<uint64_t>{1});
}

TEST_CASE("after a restart those of living processes are known and those of others are not") {
  House house;
  const store::Owner alive = house.myself();
  store::Owner dead = alive;
  ++dead.start;
  store::OnloadRecords records;
  records.allocations = {{.id = 5, .owner = alive, .generation = 3, .version = "9.0"},
                         {.id = 6, .owner = dead, .generation = 3, .version = "9.0"}};
  house.renew(records);
  const auto until = std::chrono::steady_clock::now() + kDeadline;
  while (house.allocations->allocations()->size() > 1 && std::chrono::steady_clock::now() < until)
    std::this_thread::yield();
  REQUIRE(house.allocations->allocations()->size() == 1);
  CHECK(house.allocations->allocations()->front().id == 5);
  const auto next = house.allocate(alive);
  REQUIRE(next);
  CHECK(next->allocation.id == 7);
}

TEST_CASE("each form has what profiles and caller say together") {
  House house;
  REQUIRE(house.put("p", "onload_set EF_A 1\n"));
  const RenderRequest request{.profiles = {"p"}, .environment = {{"EF_B", "2"}}};
  CHECK(house.render(request, Form::Env)->text == "EF_A=\"1\"\nEF_B=\"2\"\n");
  CHECK(house.render(request, Form::Systemd)->text.find("Environment=\"EF_B=2\"\n") != std::string::npos);
  CHECK(house.render(request, Form::ConfigMap)->text.find("name: onload-p-profile\n") != std::string::npos);
  CHECK(house.render(request, Form::Json)->environment == profiles::Environment{{"EF_A", "1"}, {"EF_B", "2"}});
  const RenderRequest forced{.profiles = {"p"}, .environment = {{"EF_A", "2"}}, .winner = profiles::Winner::Profiles};
  CHECK(house.render(forced, Form::Json)->environment == profiles::Environment{{"EF_A", "1"}});
}
