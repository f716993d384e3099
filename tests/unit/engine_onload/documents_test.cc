#include "engine/onload/documents.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "tests/unit/results.h"

namespace nrd::onload::documents_test {

using nrd::testing::error_of;

namespace {

Time at(int64_t ms) { return Time(std::chrono::milliseconds(ms)); }

Generation a_generation(uint64_t number) {
  return {.number = number,
          .spec = {.state = State::Loaded,
                   .version = "9.0.1",
                   .sfc = Sfc::Managed,
                   .parameters = {{"onload", {{"epoll_max_stacks", "8"}, {"max_packets_per_stack", "1024"}}},
                                  {"sfc", {{"rss_cpus", "4"}}}},
                   .control_plane = {"-K", "-h", "8"},
                   .users = UsersPolicy::Term,
                   .drain = std::chrono::seconds(45),
                   .on_failure = OnFailure::Stop},
          .created = at(1700000000123),
          .verdict = Verdict::Verified,
          .verified = at(1700000000999)};
}

Operation an_operation(uint64_t id) {
  const Time time = at(1700000000500);
  return {.id = id,
          .generation = 2,
          .fallback = 0,
          .outcome = Outcome::Running,
          .started = time,
          .finished = {},
          .cause = "syscall_table",
          .message = "the kernel is too new",
          .steps = {{Act::Insert, "onload", Progress::Failed, time, time, "syscall_table", "no", {"one", "two"}},
                    {.act = Act::Remove, .subject = "sfc_char", .started = time}},
          .kind = OperationKind::Drain,
          .users = UsersPolicy::Term,
          .drain = std::chrono::seconds(7),
          .interfaces = {{"0000:03:00.0", "00:0f:53:00:00:01", "enp3s0f0"}, {"", "00:0f:53:00:00:02", "enp3s0f1"}}};
}

Allocation an_allocation(uint64_t id) {
  return {.id = id,
          .owner = {.pid = 4711, .start = 123456789, .boot_id = "boot-1"},
          .generation = 2,
          .version = "9.0.1",
          .created = at(1700000000321)};
}

const Stored kStored{
    .freeze = {.frozen = true, .reason = "release night"},
    .drained = true,
    .generations = {a_generation(9), a_generation(10)},
    .operations = {an_operation(99), an_operation(100)},
    .allocations = {an_allocation(1)},
    .interfaces = {{"", "00:0f:53:00:00:01", {}, true}, {"0000:03:00.0", "00:0f:53:00:00:01", false, {}}}};

store::DocumentChange all_of(const Stored& stored) {
  return to_documents({.freeze = stored.freeze,
                       .drained = stored.drained,
                       .generations = stored.generations,
                       .operations = stored.operations,
                       .allocations = stored.allocations,
                       .interfaces = stored.interfaces});
}

}  // namespace

TEST_CASE("the stored state of Onload survives the conversion to documents, in order of its numbers") {
  std::vector<store::Document> documents = all_of(kStored).put;
  std::ranges::sort(documents, {}, &store::Document::id);  // as the store does: "10" before "9"
  CHECK(from_documents(documents) == kStored);
  CHECK(from_documents({}) == Stored{});
}

// Databases in the field have documents such as these: what is read here must stay readable.
TEST_CASE("the documents of a generation and an operation have every member") {
  const std::vector<store::Document> documents =
      to_documents({.generations = {a_generation(2)}, .operations = {an_operation(1)}}).put;
  REQUIRE(documents.size() == 2);
  CHECK(documents[0].id == store::DocumentId{"generation", "2"});
  CHECK(documents[0].json ==
        R"({"number":2,"spec":{"state":"loaded","version":"9.0.1","sfc":"managed","parameters":)"
        R"([["onload",[["epoll_max_stacks","8"],["max_packets_per_stack","1024"]]],["sfc",[["rss_cpus","4"]]]],)"
        R"("control_plane":["-K","-h","8"],"users":"term","drain_s":45,"on_failure":"stop"},)"
        R"("created":1700000000123,"verdict":"verified","verified":1700000000999})");
  CHECK(documents[1].id == store::DocumentId{"operation", "1"});
  CHECK(documents[1].json ==
        R"({"id":1,"generation":2,"fallback":0,"outcome":"running","started":1700000000500,"finished":null,)"
        R"("cause":"syscall_table","message":"the kernel is too new","steps":[{"act":"insert","subject":"onload",)"
        R"("progress":"failed","started":1700000000500,"finished":1700000000500,"cause":"syscall_table",)"
        R"("message":"no","kernel":["one","two"]},{"act":"remove","subject":"sfc_char","progress":"running",)"
        R"("started":1700000000500,"finished":null,"cause":null,"message":null,"kernel":null}],)"
        R"("kind":"drain","users":"term","drain_s":7,"interfaces":)"
        R"([{"pci":"0000:03:00.0","mac":"00:0f:53:00:00:01","name":"enp3s0f0"},)"
        R"({"pci":"","mac":"00:0f:53:00:00:02","name":"enp3s0f1"}]})");
}

TEST_CASE("a removal names the documents") {
  const store::DocumentChange change = to_documents(
      {.drained = false, .removed_generations = {1}, .removed_operations = {2, 3}, .removed_allocations = {4}});
  CHECK(change.put.empty());
  CHECK(change.removed ==
        std::vector<store::DocumentId>{
            {"drained", ""}, {"generation", "1"}, {"operation", "2"}, {"operation", "3"}, {"allocation", "4"}});
}

TEST_CASE("an invalid document of Onload is refused and an unknown kind is skipped") {
  const store::Document good = all_of(kStored).put.back();
  REQUIRE(from_documents({good}));
  for (const store::Document& bad : std::vector<store::Document>{
           {{"interface", "another"}, good.json}, {{"generation", "1"}, "{}"}, {{"freeze", ""}, "{"}}) {
    CAPTURE(bad.id.key);
    CHECK(error_of(from_documents({bad})).code == ErrorCode::Store);
  }
  CHECK(from_documents({{{"quota", "1"}, "{}"}}) == Stored{});
}

}  // namespace nrd::onload::documents_test
