#include "api/v1/workload_json.h"

#include <doctest/doctest.h>

#include "api/v1/parse_workload.h"
#include "base/json/reader.h"
#include "engine/workload_service.h"
#include "tests/unit/api_v1/fake_engine.h"

namespace nrd::workload_json_test {
namespace {

Result<Spec> spec_of(const std::string& body) {
  return v1::parse_workload(*json::parse(body), {}).map([](const NewWorkload& workload) { return workload.spec; });
}
Result<SpecPatch> patch_of(const std::string& body, const Workload& workload = {}) {
  const auto patch_in = [](const WorkloadPatch& patch) { return patch.patch; };
  return v1::parse_workload_patch(*json::parse(body), {}, workload).map(patch_in);
}

const Spec kTwoWays{
    .uuid = "", .core_ids = {"0", "1-3"}, .cpus = {0, 1, 2, 3}, .cache = CacheRequest{.max = 2, .min = 2}};

struct Refusal {
  std::string body;
  ErrorCode code;
  const char* field;
  const char* message;
};

template <typename T>
void check_refused(const Refusal& row, const Result<T>& parsed) {
  CAPTURE(row.body);
  REQUIRE_FALSE(parsed);
  CHECK(parsed.error().code == row.code);
  CHECK(parsed.error().field == row.field);
  CHECK(parsed.error().message == row.message);
}

constexpr auto kBad = ErrorCode::BadRequest;
constexpr auto kUnsupported = ErrorCode::Unsupported;

}  // namespace

TEST_CASE("both wire shapes parse to the same request") {
  for (const std::string body : {
           R"({"core_ids": ["0", "1-3"], "cache": {"max": 2, "min": 2}})",
           R"({"core_ids": ["0", "1-3"], "rdt": {"cache": {"max": 2, "min": 2}}})",
           R"({"core_ids": ["0", "1-3"], "rdt": {"cache": {"max": 2, "min": 2}}, "cache": {"min": 2, "max": 2}})",
           R"({"core_ids": ["0", "1-3"], "rdt": {"cache": {}}, "cache": {"min": 2, "max": 2}})",
       }) {
    CAPTURE(body);
    const auto spec = spec_of(body);
    REQUIRE(spec);
    CHECK(*spec == kTwoWays);
  }
}

TEST_CASE("tasks or a cgroup alone are a request where there is a default pool, CPUs alone are not") {
  NodeState state;
  const auto is_accepted = [&state](const char* body) {
    return v1::parse_workload(*json::parse(body), state).has_value();
  };
  CHECK_FALSE(is_accepted(R"({"cgroup": "/job"})"));
  NodeConfig config;
  config.default_pool = "common";
  state.config = std::make_shared<const NodeConfig>(config);
  CHECK(is_accepted(R"({"cgroup": "/job"})"));
  CHECK(is_accepted(R"({"task_ids": ["1"]})"));
  CHECK_FALSE(is_accepted(R"({"core_ids": ["4"]})"));
}

TEST_CASE("requests of RMD's operators are accepted") {
  const auto older = spec_of(R"({"core_ids":["4","5"],"status":"","cos_name":"","cache":{"max":0,"min":0},
                                 "pstate":{},"uuid":"rmdworkload-x","origin":""})");
  REQUIRE(older);
  CHECK(*older == Spec{.uuid = "rmdworkload-x", .core_ids = {"4", "5"}, .cpus = {4, 5}, .cache = CacheRequest{}});
  const auto newer = spec_of(R"({"core_ids":["0,3,6-7"],"status":"","cos_name":"",
                                 "rdt":{"cache":{"max":3,"min":1},"mba":{}},"uuid":"x","origin":""})");
  REQUIRE(newer);
  CHECK(newer->cpus == CpuSet{0, 3, 6, 7});
  CHECK(newer->cache == CacheRequest{.max = 3, .min = 1});
}

TEST_CASE("an unsupported key is accepted only if it is empty") {
  CHECK(spec_of(R"({"core_ids":["0","1-3"],"cache":{"max":2,"min":2},"id":"","task_ids":[],"policy":"",
                    "status":"Failed","cos_name":"junk","origin":"OPENSTACK","uuid":"","pstate":{"ratio":0},
                    "plugins":{"pstate":{}},"backend_plugin_info":null,"rdt":{"mba":{"percentage":0}}})") == kTwoWays);
}

TEST_CASE("the same CPU named twice in one request is one CPU") {
  const auto spec = spec_of(R"({"core_ids": ["0", "0-1", "1"], "cache": {"max": 1, "min": 1}})");
  REQUIRE(spec);
  CHECK(spec->cpus == CpuSet{0, 1});
}

TEST_CASE("every error of a POST has a JSON pointer") {
  const Refusal rows[] = {
      {"null", kBad, "", "expected an object that describes a workload, found null"},
      {"[]", kBad, "", "expected an object that describes a workload, found an array"},
      {"{}", kBad, "/core_ids", "No task or core id specified"},
      {R"({"core_ids": []})", kBad, "/core_ids", "No task or core id specified"},
      {R"({"core_ids": null})", kBad, "/core_ids", "No task or core id specified"},
      {R"({"core_ids": "0-3"})", kBad, "/core_ids", R"(expected a list of CPUs such as ["0", "1-3"], found a string)"},
      {R"({"core_ids": ["0", 1]})", kBad, "/core_ids/1",
       R"(expected a CPU list as a string such as "4" or "0-3,8", found a number)"},
      {R"({"core_ids": ["abc"]})", kBad, "/core_ids/0",
       R"("abc" is not a CPU list; expected numbers and upward ranges such as "0-3,8")"},
      {R"({"core_ids": ["0", "3-1"]})", kBad, "/core_ids/1",
       R"("3-1" is not a CPU list; expected numbers and upward ranges such as "0-3,8")"},
      {R"({"core_ids": [""]})", kBad, "/core_ids/0",
       R"("" is not a CPU list; expected numbers and upward ranges such as "0-3,8")"},
      {R"({"core_ids": ["99999"]})", kBad, "/core_ids/0",
       "CPU 99999 does not exist; Linux numbers CPUs from 0 to 8191"},
      {R"({"core_ids": ["0"]})", kBad, "/cache", "No RDT/Plugins params in workload"},
      {R"({"core_ids": ["0"], "cache": {}})", kBad, "/cache", "No RDT/Plugins params in workload"},
      {R"({"core_ids": ["0"], "rdt": {}})", kBad, "/cache", "No RDT/Plugins params in workload"},
      {R"({"core_ids": ["0"], "cache": {"max": 2}})", kBad, "/cache", "Need to provide both cache.* or none of them"},
      {R"({"core_ids": ["0"], "cache": {"code": 1}})", kBad, "/cache", "Need to provide both cache.* or none of them"},
      {R"({"core_ids": ["0"], "cache": {"max": 2, "min": 2, "code": "1"}})", kBad, "/cache/code",
       "expected a whole number of ways, found \"1\""},
      {R"({"core_ids": ["0"], "l2": null})", kBad, "/cache", "No RDT/Plugins params in workload"},
      {R"({"core_ids": ["0"], "l2": 4})", kBad, "/l2", "expected an object such as {\"ways\": 4}, found a number"},
      {R"({"core_ids": ["0"], "l2": {"way": 4}})", kBad, "/l2/way", "unknown key \"way\"; did you mean \"ways\"?"},
      {R"({"core_ids": ["0"], "l2": {"ways": 0}})", kBad, "/l2/ways", "expected a whole number of ways, found 0"},
      {R"({"core_ids": ["0"], "l2": {"ways": "4"}})", kBad, "/l2/ways", "expected a whole number of ways, found \"4\""},
      {R"({"core_ids": ["0"], "l2": {"ways": 4, "code": -1}})", kBad, "/l2/code",
       "expected a whole number of ways, found -1"},
      {R"({"core_ids": ["0"], "l2": {"code": 1}})", kBad, "/l2/ways", "is required with code"},
      {R"({"core_ids": ["0"], "l2": {"ways": 1}, "granted_l2_ways": {}})", kBad, "/granted_l2_ways",
       "read-only; nrd chooses the ways"},
      {R"({"core_ids": ["0"], "cache": null, "rdt": null})", kBad, "/cache", "No RDT/Plugins params in workload"},
      {R"({"core_ids": ["0"], "cache": {"max": null, "min": 2}})", kBad, "/cache",
       "Need to provide both cache.* or none of them"},
      {R"({"core_ids": ["0"], "cache": {"max": -1, "min": 2}})", kBad, "/cache/max",
       "expected a whole number of ways, found -1"},
      {R"({"core_ids": ["0"], "rdt": {"cache": {"max": 2, "min": 1.5}}})", kBad, "/rdt/cache/min",
       "expected a whole number of ways, found 1.5"},
      {R"({"core_ids": ["0"], "cache": {"max": "2", "min": 2}})", kBad, "/cache/max",
       "expected a whole number of ways, found \"2\""},
      {R"({"core_ids": ["0"], "cache": {"max": 4294967296, "min": 2}})", kBad, "/cache/max",
       "expected a whole number of ways, found 4294967296"},
      {R"({"core_ids": ["0"], "cache": {"max": 1, "min": 1}, "rdt": {"cache": {"max": 2, "min": 2}}})", kBad,
       "/rdt/cache", "differs from /cache"},
      {R"({"core_ids": ["0"], "mba": {"percentage": 50}})", kBad, "/mba",
       "unknown key \"mba\"; memory bandwidth is requested in rdt"},
      {R"({"cores": ["0"]})", kBad, "/cores", "unknown key \"cores\"; did you mean \"core_ids\"?"},
      {R"({"Core_IDs": ["0"]})", kBad, "/Core_IDs", "unknown key \"Core_IDs\"; did you mean \"core_ids\"?"},
      {R"({"core_ids": ["0"], "cache": {"mx": 1}})", kBad, "/cache/mx", "unknown key \"mx\"; did you mean \"max\"?"},
      {R"({"core_ids": ["0"], "rdt": {"cach": {}}})", kBad, "/rdt/cach",
       "unknown key \"cach\"; did you mean \"cache\"?"},
      {R"({"core_ids": ["0"], "status": 1})", kBad, "/status", "expected a string, found a number"},
      {R"({"core_ids": ["0"], "cache": {"max": 1, "min": 1}, "uuid": 7})", kBad, "/uuid",
       "expected a string of at most 256 bytes without control characters, found a number"},
      {R"({"core_ids": ["0"], "cache": {"max": 1, "min": 1}, "uuid": "a\nb"})", kBad, "/uuid",
       "is too long or has control characters"},
      {R"({"core_ids": ["0"], "pool": "guarantee"})", kBad, "/pool",
       "read-only; the pool follows from max and min of cache"},
      {R"({"core_ids": ["0"], "cache": {"max": 1, "min": 1}, "id": "a/b"})", kBad, "/id",
       "is too long or has invalid characters"},
      {R"({"core_ids": ["0"], "cache": {"max": 1, "min": 1}, "id": ".."})", kBad, "/id",
       "is too long or has invalid characters"},
      {R"({"task_ids": "1"})", kBad, "/task_ids",
       R"(expected a list of processes and threads such as ["4711", "4712"], found a string)"},
      {R"({"task_ids": [1]})", kBad, "/task_ids/0",
       R"(expected a process or thread ID as a string such as "4711", found a number)"},
      {R"({"task_ids": ["1", "0"]})", kBad, "/task_ids/1", R"(expected a process or thread ID, found "0")"},
      {R"({"task_ids": ["-1"]})", kBad, "/task_ids/0", R"(expected a process or thread ID, found "-1")"},
      {R"({"task_ids": ["07"]})", kBad, "/task_ids/0", R"(expected a process or thread ID, found "07")"},
      {R"({"task_ids": ["4194305"]})", kBad, "/task_ids/0", R"(expected a process or thread ID, found "4194305")"},
      {R"({"task_ids": []})", kBad, "/core_ids", "No task or core id specified"},
      {R"({"task_ids": ["1"]})", kBad, "/cache", "No RDT/Plugins params in workload"},
      {R"({"core_ids": ["0"], "policy": 1})", kBad, "/policy",
       "expected the name of a policy, of at most 64 bytes, found a number"},
      {R"({"core_ids": ["0"], "pstate": {"ratio": -3}})", kBad, "/pstate/ratio",
       "expected a number above 0 (branch misses in percent of hits), found -3"},
      {R"({"core_ids": ["0"], "pstate": {"ratio": "nan"}})", kBad, "/pstate/ratio",
       "expected a number above 0 (branch misses in percent of hits), found \"nan\""},
      {R"({"core_ids": ["0"], "pstate": {"ratio": "3.0 "}})", kBad, "/pstate/ratio",
       "expected a number above 0 (branch misses in percent of hits), found \"3.0 \""},
      {R"({"core_ids": ["0"], "pstate": {"ratio": true}})", kBad, "/pstate/ratio",
       "expected a number above 0 (branch misses in percent of hits), found a boolean"},
      {R"({"core_ids": ["0"], "plugins": {"pstate": {"ratio": 3, "monitoring": "maybe"}}})", kBad,
       "/plugins/pstate/monitoring", "expected \"on\" or \"off\", found \"maybe\""},
      {R"({"core_ids": ["0"], "plugins": {"other": 1}})", kBad, "/plugins/other",
       "Trying to use module that is not loaded"},
      {R"({"core_ids": ["0"], "pstate": {"min_ratio": 0}})", kBad, "/pstate/min_ratio",
       "expected a whole number above 0, found 0"},
      {R"({"core_ids": ["0"], "pstate": {"max_ratio": 2.5}})", kBad, "/pstate/max_ratio",
       "expected a whole number above 0, found 2.5"},
      {R"({"core_ids": ["0"], "pstate": {"max_ratio": 20, "min_mhz": 2000}})", kBad, "/pstate",
       "has bounds in two units"},
      {R"({"core_ids": ["0"], "pstate": {"turbo": "no"}})", kBad, "/pstate/turbo",
       "expected true or false, found \"no\""},
      {R"({"core_ids": ["0"], "pstate": {"shared_domain": "yes"}})", kBad, "/pstate/shared_domain",
       "expected \"allow\" or \"refuse\", found \"yes\""},
      {R"({"core_ids": ["0"], "pstate": {"maxratio": 20}})", kBad, "/pstate/maxratio",
       "unknown key \"maxratio\"; did you mean \"max_ratio\"?"},
      {R"({"core_ids": ["0"], "pstate": {"max_ratio": 20}, "plugins": {"pstate": {"max_ratio": 21}}})", kBad,
       "/plugins/pstate", "differs from /pstate"},
      {R"({"core_ids": ["0"], "rdt": {"mba": {"percentage": 101}}})", kBad, "/rdt/mba/percentage",
       "expected a whole number, found 101"},
      {R"({"core_ids": ["0"], "rdt": {"mba": {"mbps": 4294967291}}})", kBad, "/rdt/mba/mbps",
       "expected a whole number, found 4294967291"},
      {R"({"core_ids": ["0"], "rdt": {"mba": {"percentage": -1}}})", kBad, "/rdt/mba/percentage",
       "expected a whole number, found -1"},
      {R"({"core_ids": ["0"], "rdt": {"mba": {"percentage": 50, "mbps": 7}}})", kBad, "/rdt/mba",
       "has both percentage and mbps"},
      {R"({"core_ids": ["0"], "rdt": {"mba": {"percent": 50}}})", kBad, "/rdt/mba/percent",
       "unknown key \"percent\"; did you mean \"percentage\"?"},
      {R"({"core_ids": ["0"], "granted_bandwidth": {}})", kBad, "/granted_bandwidth",
       "read-only; the grant follows from mba"},
  };
  for (const Refusal& row : rows) check_refused(row, spec_of(row.body));
}

TEST_CASE("as many task_ids and core_ids as allowed are accepted and one more is not") {
  struct Row {
    const char* member;
    size_t most;
  };
  for (const auto& [member, most] : {Row{"task_ids", 1024}, Row{"core_ids", 8192}}) {
    CAPTURE(member);
    const auto with_items = [member](size_t count) {
      std::string items = "\"1\"";
      for (size_t i = 1; i < count; ++i) items += ",\"1\"";
      return R"({"cache": {"max": 1, "min": 1}, ")" + std::string(member) + "\": [" + items + "]}";
    };
    CHECK(spec_of(with_items(most)));
    CHECK(spec_of(with_items(most + 1)).error().allowed == "at most " + std::to_string(most));
  }
}

TEST_CASE("memory bandwidth is accepted in either unit and removed by null") {
  CHECK(spec_of(R"({"core_ids": ["0"], "rdt": {"mba": {"percentage": 50}}})")->mba == MbaRequest{.value = 50});
  CHECK(spec_of(R"({"core_ids": ["0"], "rdt": {"mba": {"mbps": 5000, "percentage": 0}}})")->mba ==
        MbaRequest{.unit = MbaRequest::Unit::Mbps, .value = 5000});
  CHECK_FALSE(patch_of(R"({"rdt": {"mba": {}}})")->mba);
  const auto taken = patch_of(R"({"rdt": {"mba": null}})");
  REQUIRE(taken);
  REQUIRE(taken->mba);
  CHECK_FALSE(*taken->mba);
  CHECK_FALSE(patch_of(R"({"rdt": {"cache": {"max": 1}}})")->mba);
}

TEST_CASE("tasks and bandwidth are written where RMD has them") {
  Workload workload = a_workload(1);
  workload.spec.core_ids = {};
  workload.spec.cpus = {};
  workload.spec.tasks = {{.id = 4711, .process = 4711, .start = 5, .boot_id = "boot"}};
  workload.spec.mba = MbaRequest{.value = 45};
  workload.grant.bandwidth = {{CacheId{3, 0}, {rdt::MbaUnit::Percent, 50}},
                              {CacheId{3, 1}, {rdt::MbaUnit::EighthsOfGbps, 2}}};
  const std::string text = v1::workload_json(a_node(), workload);
  CHECK(text.starts_with(R"({"id":"1","task_ids":["4711"],"status":)"));
  CHECK(text.find(R"("mba":{"percentage":45})") != std::string::npos);
  CHECK(text.find(R"("granted_bandwidth":{"0":{"percentage":50},"1":{"mbps":250}})") != std::string::npos);
}

TEST_CASE("an invalid number of ways is answered with the allowed range") {
  CHECK(spec_of(R"({"core_ids": ["0"], "cache": {"max": -1, "min": 2}})").error().allowed == "0 to 4294967295");
}

TEST_CASE("a uuid of 256 bytes is accepted and one of 257 is not") {
  const auto with_uuid = [](size_t size) {
    return R"({"core_ids": ["0"], "cache": {"max": 1, "min": 1}, "uuid": ")" + std::string(size, 'u') + "\"}";
  };
  CHECK(spec_of(with_uuid(256)));
  CHECK_FALSE(spec_of(with_uuid(257)));
}

TEST_CASE("a patch contains only the members of its body") {
  const auto empty = patch_of("{}");
  REQUIRE(empty);
  CHECK_FALSE(empty->core_ids);
  CHECK_FALSE(empty->cpus);
  CHECK_FALSE(empty->cache);

  const auto max = patch_of(R"({"rdt": {"cache": {"max": 3}}})");
  REQUIRE(max);
  REQUIRE(max->cache);
  CHECK(**max->cache == json::Partial<CacheRequest>{.values = {.max = 3}, .given = 1});

  const auto cores = patch_of(R"({"core_ids": ["2-3"]})");
  REQUIRE(cores);
  CHECK(cores->core_ids == std::vector<std::string>{"2-3"});
  CHECK(cores->cpus == CpuSet{2, 3});
}

TEST_CASE("an answer may be sent back as a patch") {
  Workload workload = a_workload(1);
  workload.spec.uuid = "u";
  const auto patch = patch_of(v1::workload_json(with(a_node(), workload), workload));
  REQUIRE(patch);
  CHECK(patch->core_ids == workload.spec.core_ids);
  REQUIRE(patch->cache);
  CHECK((**patch->cache).values == CacheRequest{.max = 2, .min = 2});
}

TEST_CASE("of the two shapes in an answer that is sent back, the edited one counts") {
  const Workload workload = a_workload(1);  // of 2 ways
  const auto sent = [&workload](const std::string& nested, const std::string& top, Time updated) {
    const std::string cache = R"({"rdt": {"cache": )" + nested + R"(}, "cache": )" + top;
    return patch_of(cache + R"(, "updated": ")" + v1::timestamp(updated) + "\"}", workload);
  };
  const std::string before = R"({"max": 2, "min": 2})";
  const std::string edited = R"({"max": 4, "min": 3})";
  for (const auto& patch : {sent(edited, before, workload.updated), sent(before, edited, workload.updated)}) {
    REQUIRE(patch);
    CHECK(patched(workload.spec, *patch).cache == CacheRequest{.max = 4, .min = 3});
  }
  CHECK_FALSE(sent(edited, R"({"max": 5})", workload.updated));
  CHECK_FALSE(sent(before, edited, Time{}));
}

TEST_CASE("an answer with CPUs of pools that is sent back has the same request") {
  const std::string grant =
      R"("cpu": {"pool": "fast", "cpus": "2-3", "exclusive": "2-3", "shared": "", "idle_siblings": "", "reason": ""})";
  const auto count = patch_of("{" + grant + R"(, "cpu_request": {"pool": "fast", "count": 2}})");
  REQUIRE(count);
  REQUIRE(count->cpu);
  CHECK((**count->cpu).values.count == 2);
  CHECK((**count->cpu).values.cpus.empty());

  const auto edited = patch_of(
      R"({"cpu": {"pool": "fast", "cpus": "2-4", "exclusive": "2-3", "shared": ""}, "cpu_request": {"count": 2}})");
  REQUIRE(edited);
  REQUIRE(edited->cpu);
  CHECK((**edited->cpu).values.cpus == CpuSet{2, 3, 4});

  const auto shared = patch_of(
      R"({"cpu": {"pool": "common", "cpus": "8-9", "exclusive": "", "shared": "8-9"}, "cpu_request": {"pool": "common"}})");
  REQUIRE(shared);
  REQUIRE(shared->cpu);
  CHECK((**shared->cpu).values.cpus.empty());
  check_refused({"{" + grant + R"(, "cpu_request": {"count": 0}})", kBad, "/cpu_request/count",
                 "expected a whole number of CPUs, found 0"},
                patch_of("{" + grant + R"(, "cpu_request": {"count": 0}})"));
}

TEST_CASE("every error of a PATCH has a JSON pointer") {
  const Refusal rows[] = {
      {"null", kBad, "", "expected an object that describes a workload, found null"},
      {R"({"core_ids": []})", kBad, "/core_ids", "No task or core id specified"},
      {R"({"id": 1})", kBad, "/id", "expected a string, found a number"},
      {R"({"policy": ["gold"]})", kBad, "/policy",
       "expected the name of a policy, of at most 64 bytes, found an array"},
      {R"({"cahce": {}})", kBad, "/cahce", "unknown key \"cahce\"; did you mean \"cache\"?"},
  };
  for (const Refusal& row : rows) check_refused(row, patch_of(row.body));
}

TEST_CASE("an answer has RMD's keys in RMD's order, then nrd's") {
  Workload workload = a_workload(12);
  CHECK(v1::workload_json(with(a_node(), workload), workload) ==
        R"({"id":"12","core_ids":["0","1"],"status":"Successful","cos_name":"COS2",)"
        R"("rdt":{"cache":{"max":2,"min":2},"mba":{}},"origin":"REST","cache":{"max":2,"min":2},"pool":"guarantee",)"
        R"("exclusive":true,"shared_with":[],)"
        R"("granted_ways":{"0":{"mask":"30","ways":2}},)"
        R"("created":"2023-11-14T22:13:20.123Z","updated":"2023-11-14T22:13:20.123Z"})");
  workload.spec.uuid = "u-1";
  CHECK(v1::workload_json(with(a_node(), workload), workload).find(R"("uuid":"u-1","origin")") != std::string::npos);
}

TEST_CASE("a policy is parsed by name and written where RMD has it") {
  const auto spec = spec_of(R"({"core_ids": ["0"], "policy": "gold"})");
  REQUIRE(spec);
  CHECK(spec->policy == "gold");
  CHECK_FALSE(spec->cache);
  CHECK(patch_of(R"({"policy": "silver"})")->policy == "silver");
  for (const char* body : {"{}", R"({"policy": ""})", R"({"policy": null})"}) CHECK(patch_of(body)->policy.empty());
  Workload workload = a_workload(1);
  workload.spec.policy = "gold";
  CHECK(v1::workload_json(a_node(), workload).find(R"("core_ids":["0","1"],"policy":"gold","status")") !=
        std::string::npos);
}

TEST_CASE("a workload that is not applied to the hardware has status Failed") {
  NodeState state = with(a_node(), a_workload(1));
  state.observed.rdt.classes[ClosId{2}].ways[CacheId{3, 0}] = WayMask::all(11);
  CHECK(v1::workload_json(state, a_workload(1)).find(R"("status":"Failed")") != std::string::npos);
}

TEST_CASE("the list is sorted by numeric id") {
  NodeState state = a_node();
  for (const uint64_t id : {10u, 2u, 1u}) state.workloads.put(a_workload(id));
  const auto list = json::parse(v1::workloads_json(state));
  REQUIRE(list);
  std::vector<std::string> ids;
  for (const json::Value& item : list->items()) ids.push_back(*item.find("id")->as_string());
  CHECK(ids == std::vector<std::string>{"1", "2", "10"});
  CHECK(v1::workloads_json(a_node()) == "[]");
}

}  // namespace nrd::workload_json_test
