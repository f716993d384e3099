
#include <doctest/doctest.h>

#include "engine/model/baselines.h"
#include "engine/model/documents.h"
#include "engine/model/workload.h"
#include "tests/unit/results.h"

namespace nrd::workload_document_test {

using nrd::testing::error_of;
using nrd::testing::value_of;
namespace {

Task a_task(pid_t id) { return {.id = id, .process = 4711, .start = 99, .boot_id = "boot-1"}; }

Workload a_full_workload() {
  Workload workload{.id = WorkloadId{3}, .created = {}, .updated = {}, .origin = "OPENSTACK", .revision = 7};
  workload.created += std::chrono::milliseconds(1'700'000'000'123);
  workload.updated += std::chrono::milliseconds(1'700'000'000'456);
  workload.spec = {.uuid = "u",
                   .core_ids = {"4-7", "9", "4"},
                   .cpus = CpuSet{4, 5, 6, 7, 9},
                   .policy = "gold",
                   .cache = CacheRequest{.max = 3, .min = 1, .code = 1},
                   .frequency = FrequencyRequest{.unit = FrequencyRequest::Unit::Mhz,
                                                 .min = 1200,
                                                 .max = 3000,
                                                 .governor = "powersave",
                                                 .epp = "power",
                                                 .turbo = false,
                                                 .shared_domain = FrequencyRequest::SharedDomain::Allow,
                                                 .threshold = BranchMissThreshold{0.1},
                                                 .monitoring = FrequencyRequest::Monitoring::Off},
                   .owner = Owner{.pid = 4711, .start = 18446744073709551615U, .boot_id = "boot-1"},
                   .given_id = "web",
                   .onload = OnloadUse{.profiles = {"b", "a"},
                                       .env = {{"EF_A", "1"}, {"EF_B", ""}},
                                       .profiles_win = true,
                                       .generation = 2,
                                       .version = "9.0"},
                   .tasks = {a_task(4711), a_task(4712)},
                   .mba = MbaRequest{.unit = MbaRequest::Unit::Mbps, .value = 5000},
                   .task_cpus = CpuSet{0, 1, 2},
                   .l2 = L2Request{.ways = 4, .code = 1},
                   .name = "feed",
                   .labels = {{"team", "trading"}}};
  workload.grant = {
      .pool = Pool::BestEffort,
      .clos = ClosId{2},
      .ways = {{CacheId{3, 0}, WayMask(0x30)}, {CacheId{2, 0}, WayMask(0xf)}, {CacheId{3, 7}, WayMask(0xffffffff)}},
      .frequencies = {{CpuId{4}, {KHz{1'200'000}, KHz{3'000'000}, "powersave", ""}},
                      {CpuId{5}, {KHz{1'200'000}, KHz{3'000'000}, "powersave", ""}},
                      {CpuId{9}, {KHz{1'200'000}, KHz{2'000'000}, "", "power"}}},
      .bandwidth = {{CacheId{3, 0}, {rdt::MbaUnit::Percent, 50}},
                    {CacheId{3, 7}, {rdt::MbaUnit::EighthsOfGbps, 2048}}}};
  return workload;
}

// Databases in the field have documents such as this one: what is read here must stay readable.
constexpr const char* kFull =
    R"({"spec":{"core_ids":["4-7","9","4"],"policy":"gold","cache":{"max":3,"min":1,"code":1},)"
    R"("l2":{"ways":4,"code":1},"mba":{"percentage":null,"mbps":5000},)"
    R"("frequency":{"min_ratio":null,"max_ratio":null,"min_mhz":1200,"max_mhz":3000,"governor":"powersave",)"
    R"("epp":"power","ratio":0.1,"monitoring":"off","turbo":false,"shared_domain":"allow"},)"
    R"("owner":{"pid":4711,"start":18446744073709551615,"boot_id":"boot-1"},)"
    R"("onload":{"profiles":["b","a"],"env":[["EF_A","1"],["EF_B",""]],"profiles_win":true,"generation":2,)"
    R"("version":"9.0"},"tasks":[{"id":4711,"process":4711,"start":99,"boot_id":"boot-1"},)"
    R"({"id":4712,"process":4711,"start":99,"boot_id":"boot-1"}],"task_cpus":"0-2",)"
    R"("name":"feed","labels":[["team","trading"]],"cpu":null,"near_cpus":null,"further_cpus":null,"runs_caller":null,"unit":null,"cgroup":null,"cgroup_owner":null,"quota_uid":null},)"
    R"("grant":{"pool":"besteffort","clos":2,)"
    R"("ways":[["0","30"],["7","ffffffff"],)"
    R"(["L2:0","f"]],)"
    R"("frequencies":[["4-5",{"min_khz":1200000,"max_khz":3000000,"governor":"powersave","epp":null}],)"
    R"(["9",{"min_khz":1200000,"max_khz":2000000,"governor":null,"epp":"power"}]],)"
    R"("bandwidth":[["0",{"unit":"percent","value":50}],)"
    R"(["7",{"unit":"eighths_of_gbps","value":2048}]],"cpu":null,"cpu_by_pool":null},)"
    R"("created":1700000000123,"updated":1700000000456})";

constexpr const char* kSmall =
    R"({"spec":{"core_ids":["4"]},"grant":{"pool":"none"},"created":1700000000123,"updated":1700000000456})";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  REQUIRE(at != text.npos);
  return text.replace(at, from.size(), to);
}

// Why a workload with this document is refused.
std::string detail_of(const std::string& document) {
  const Result<Workload> read = from_row({.id = WorkloadId{3}, .origin = "REST", .document = document});
  if (read) return "accepted";
  CHECK(read.error().code == ErrorCode::Store);
  CHECK(read.error().message == "the store contains an invalid workload; restore a backup");
  return read.error().detail;
}

}  // namespace

TEST_CASE("the document of a workload in a CPU pool") {
  Workload workload{.id = WorkloadId{3}, .spec = {}, .grant = {}, .created = {}, .updated = {}};
  workload.spec.cpu = CpuRequest{
      .pool = "fast", .count = 2, .near = {"eth1"}, .strict = true, .apart = {"7"}, .level = cpuset::Level::L3};
  workload.spec.near_cpus = {CpuSet{4, 5, 6}};
  workload.spec.quota_uid = 1001;
  workload.grant.cpu = CpuGrant{.pool = "fast",
                                .exclusive = CpuSet{4, 5},
                                .idle_siblings = CpuSet{36, 37},
                                .zone = "node 0, l3 1",
                                .reason = "nearest to eth1"};
  const store::WorkloadRow row = to_row(workload);
  CHECK(
      row.document.find(
          R"("cpu":{"pool":"fast","count":2,"cores":null,"cpus":null,"request_milli":null,"limit_milli":null,)"
          R"("near":["eth1"],"strict":true,"apart":["7"],"level":"l3","among":null,"enforce":null,"memory":null,"migrate":null},"near_cpus":["4-6"],"further_cpus":null,"runs_caller":null,"unit":null,"cgroup":null,"cgroup_owner":null,"quota_uid":1001})") !=
      std::string::npos);
  CHECK(row.document.find(R"("cpu":{"pool":"fast","exclusive":"4-5","idle_siblings":"36-37","zone":"node 0, l3 1",)"
                          R"("memory_nodes":null,"reason":"nearest to eth1","has_scope":null},"cpu_by_pool":null})") !=
        std::string::npos);
  CHECK(from_row(row).value() == workload);
  store::WorkloadRow halved = row;
  halved.document = replaced(row.document, R"("cpu":{"pool":"fast","count")", R"("cpus":{"pool":"fast","count")");
  CHECK_FALSE(from_row(halved));
}

TEST_CASE("the document of a workload has every member") {
  const store::WorkloadRow row = to_row(a_full_workload());
  CHECK(row == store::WorkloadRow{.id = WorkloadId{3},
                                  .uuid = "u",
                                  .given_id = "web",
                                  .revision = 7,
                                  .origin = "OPENSTACK",
                                  .document = kFull});
  CHECK(from_row(row) == a_full_workload());
}

TEST_CASE("members that a document lacks have their defaults") {
  Workload expected{.id = WorkloadId{3}, .spec = {.core_ids = {"4"}, .cpus = CpuSet{4}}};
  expected.created = a_full_workload().created;
  expected.updated = a_full_workload().updated;
  CHECK(from_row({.id = WorkloadId{3}, .origin = "REST", .document = kSmall}) == expected);
}

TEST_CASE("a grant on 1,024 CPUs is one line of the document") {
  Workload workload = *from_row({.id = WorkloadId{3}, .origin = "REST", .document = kSmall});
  for (uint32_t cpu = 0; cpu < 1024; ++cpu) workload.grant.frequencies[CpuId{cpu}] = {KHz{1}, KHz{2}, "powersave", ""};
  const store::WorkloadRow row = to_row(workload);
  CHECK(row.document.size() < 1000);
  CHECK(from_row(row) == workload);
}

TEST_CASE("an invalid document is refused with the place of its fault") {
  struct Row {
    const char* from;
    const char* to;
    const char* says;
  };
  for (const Row& row : {
           Row{"\"besteffort\"", "\"best\"", "workload 3: /grant/pool unknown name \"best\""},
           Row{"\"pool\":\"besteffort\",", "", "workload 3: /grant/pool is missing"},
           Row{"\"clos\":2", "\"clos\":4294967297", "workload 3: /grant/clos the number 4294967297 is out of range"},
           Row{"\"max\":3", "\"max\":\"3\"", "workload 3: /spec/cache/max expected a number, not a string"},
           Row{"\"L2:0\"", "\"L3:0\"", "workload 3: /grant/ways/2/0 \"L3:0\" is not a cache"},
           Row{"\"30\"", "\"x\"", "workload 3: /grant/ways/0/1 \"x\" is not a mask of ways"},
           Row{"\"4-5\"", "\"4-9\"", "workload 3: /grant/frequencies CPU 9 occurs twice"},
           Row{"\"max\":3,\"min\":1", "\"max\":3,\"min\":4", "workload 3:  its members contradict each other"},
           Row{"\"code\":1},\"mba\"", "\"code\":4},\"mba\"", "workload 3:  its members contradict each other"},
           Row{"\"mbps\":5000", "\"mbps\":0", "workload 3:  its members contradict each other"},
           Row{"\"ratio\":0.1", "\"ratio\":0", "workload 3: /spec/frequency/ratio must be a number above 0"},
           Row{"\"pid\":4711", "\"pid\":0", "workload 3:  its members contradict each other"},
           Row{"\"max_khz\":2000000", "\"max_khz\":1", "workload 3:  its members contradict each other"},
       }) {
    CAPTURE(row.to);
    CHECK(detail_of(replaced(kFull, row.from, row.to)) == row.says);
  }
  CHECK(detail_of(kFull) == "accepted");
  CHECK(detail_of(replaced(kSmall, "[\"4\"]", "[]")) == "workload 3:  its members contradict each other");
  CHECK(detail_of(replaced(kSmall, "\"none\"", "\"guarantee\"")) == "workload 3:  its members contradict each other");
  CHECK(detail_of(replaced(kSmall, "\"4\"", "\"4-x\"")).starts_with("workload 3: "));
  CHECK(detail_of("").starts_with("workload 3: "));
  CHECK(detail_of("{").starts_with("workload 3: "));
  CHECK(detail_of("[]") == "workload 3:  expected an object, not an array");
}

TEST_CASE("a workload of a unit or cgroup without CPUs is written and read") {
  Workload workload{.id = WorkloadId{3}, .spec = {}, .grant = {}, .created = {}, .updated = {}};
  workload.spec.cgroup = "/kubepods/pod/container";
  workload.spec.cache = CacheRequest{.max = 2, .min = 2};
  workload.grant.pool = Pool::Guarantee;
  workload.grant.clos = ClosId{2};
  const auto read = value_of(from_row(to_row(workload)));
  CHECK(read == workload);
}

TEST_CASE("the documents of baselines lead from one state to the other") {
  Baselines before;
  before.ways = {{ClosId{0}, {{CacheId{3, 0}, WayMask(0x7ff)}, {CacheId{3, 1}, WayMask(0x7ff)}}}};
  before.cpus = {{CpuId{4}, ClosId{0}}};
  before.frequencies = {{CpuId{4}, {{KHz{1}, KHz{2}, "powersave", "power"}, "intel_pstate"}}};
  before.frequencies_of_others = {{CpuId{4}, {KHz{1}, KHz{3}, "powersave", ""}}};
  before.groups = {ClosId{2}};
  before.tasks = {{a_task(4711), ClosId{2}}, {a_task(4711), ClosId{3}}};
  const store::DocumentChange all = changes_between({}, before);
  CHECK(all.removed.empty());
  CHECK(all.put ==
        std::vector<store::Document>{
            {{"ways", R"([0,"0"])"}, R"("7ff")"},
            {{"ways", R"([0,"1"])"}, R"("7ff")"},
            {{"cpu", "4"}, "0"},
            {{"frequency", "4"},
             R"({"min_khz":1,"max_khz":2,"governor":"powersave","epp":"power","driver":"intel_pstate"})"},
            {{"external_frequency", "4"}, R"({"min_khz":1,"max_khz":3,"governor":"powersave","epp":null})"},
            {{"group", "2"}, "{}"},
            {{"task", R"({"task":{"id":4711,"process":4711,"start":99,"boot_id":"boot-1"},"clos":2})"}, "{}"},
            {{"task", R"({"task":{"id":4711,"process":4711,"start":99,"boot_id":"boot-1"},"clos":3})"}, "{}"}});
  CHECK(baselines_of(all.put) == before);

  Baselines after = before;
  after.ways[ClosId{0}].erase(CacheId{3, 1});
  after.cpus.edit()[CpuId{5}] = ClosId{1};
  after.frequencies_of_others.at(CpuId{4}).max = KHz{9};
  after.groups.clear();
  const store::DocumentChange some = changes_between(before, after);
  CHECK(some.removed == std::vector<store::DocumentId>{{"ways", R"([0,"1"])"}, {"group", "2"}});
  CHECK(some.put == std::vector<store::Document>{{{"cpu", "5"}, "1"},
                                                 {{"external_frequency", "4"},
                                                  R"({"min_khz":1,"max_khz":9,"governor":"powersave","epp":null})"}});
  CHECK(changes_between(after, after).put.empty());
}

TEST_CASE("an invalid baseline is refused and an unknown kind is skipped") {
  for (const store::Document& document : std::vector<store::Document>{
           {{"cpu", "4294967296"}, "0"}, {{"cpu", "4"}, "\"0\""}, {{"ways", "[0]"}, "\"1\""}, {{"task", "{}"}, "{}"}}) {
    CAPTURE(document.id.key);
    CHECK(error_of(baselines_of({document})).code == ErrorCode::Store);
  }
  CHECK(baselines_of({{{"uncore", "0"}, "{}"}}) == Baselines{});
}

}  // namespace nrd::workload_document_test
