#include "cli/processes/process_list.h"

#include <doctest/doctest.h>

namespace nrd::cli::process_list_test {
namespace {

constexpr const char* kTwo =
    R"([{"container": "a", "processes": [{"process": "/bin/x", "args": ["-v", ""], "pool": "fast", "cpus": 2},
                                         {"process": "log", "pool": "common", "cpus": 500}]},
        {"container": "b", "processes": [{"process": "y", "pool": "fast", "cpus": 1}]}])";

std::string problem_of(const std::string& text, const std::string& container = "") {
  const auto parsed = parse_processes(text, container);
  return parsed ? "" : parsed.error().message;
}

}  // namespace

TEST_CASE("the processes of a container are read") {
  CHECK(*parse_processes(kTwo, "a") ==
        std::vector<ListedProcess>{{{"/bin/x", "-v", ""}, "fast", 2}, {{"log"}, "common", 500}});
  CHECK(*parse_processes(kTwo, "b") == std::vector<ListedProcess>{{{"y"}, "fast", 1}});
}

TEST_CASE("a wrong list of processes is refused with pointer and allowed values") {
  struct Row {
    const char* text;
    const char* problem;
  };
  for (const auto& [text, problem] :
       {Row{"{}", "/: is no list"}, Row{"[]", "/: has no container"}, Row{"[1]", "/0: is no object"},
        Row{R"([{"processes": []}])", "/0/container: is missing"},
        Row{R"([{"container": "a"}])", "/0/processes: is missing"},
        Row{R"([{"container": "a", "processes": []}])", "/0/processes: is empty"},
        Row{R"([{"container": "a", "processes": [{"pool": "p", "cpus": 1}]}])", "/0/processes/0/process: is missing"},
        Row{R"([{"container": "a", "processes": [{"process": "x", "cpus": 1}]}])", "/0/processes/0/pool: is missing"},
        Row{R"([{"container": "a", "processes": [{"process": "x", "pool": "p"}]}])", "/0/processes/0/cpus: is missing"},
        Row{R"([{"container": "a", "processes": [{"process": "x", "pool": "p", "cpus": 0}]}])", "/cpus: is no such"},
        Row{R"([{"container": "a", "processes": [{"process": "x", "pool": "p", "cpus": 1.5}]}])", "/cpus: is no such"},
        Row{R"([{"container": "a", "processes": [{"process": "x", "pool": "p", "cpus": -1}]}])", "/cpus: is no such"},
        Row{R"([{"container": "a", "processes": [{"process": "x", "pool": "p", "cpus": 1, "nice": 1}]}])",
            "/0/processes/0/nice: unknown member; expected process, args, pool, cpus"}}) {
    CAPTURE(text);
    CHECK_MESSAGE(problem_of(text).find(problem) != std::string::npos, problem_of(text));
  }
  CHECK(problem_of(kTwo, "c") == "/: has no container c; expected a, b");
  CHECK(problem_of(kTwo).starts_with("/1/container: occurs a second time"));
}

TEST_CASE("requests are summed by pool") {
  CHECK(pool_requests(*parse_processes(kTwo, "a"), {"common"}) == std::vector<std::string>{"fast=2", "common=500m"});
  const std::vector<ListedProcess> twice{{{"x"}, "fast", 2}, {{"y"}, "fast", 3}};
  CHECK(pool_requests(twice, {}) == std::vector<std::string>{"fast=5"});
}

TEST_CASE("each process gets exclusive CPUs of its own, and all CPUs of a shared pool") {
  const std::vector<ListedProcess> processes{{{"x"}, "fast", 2}, {{"log"}, "common", 500}, {{"y"}, "fast", 1}};
  const GrantedCpus granted{.workload = "1",
                            .by_pool = {{"fast", *CpuSet::parse("4-6"), {}}, {"common", {}, CpuSet{8, 9}}}};
  CHECK(*assign_cpus(processes, granted) == std::vector<CpuSet>{CpuSet{4, 5}, CpuSet{8, 9}, CpuSet{6}});
  const GrantedCpus less{.workload = "1", .by_pool = {{"fast", CpuSet{4, 5}, {}}, {"common", {}, CpuSet{8, 9}}}};
  const auto refused = assign_cpus(processes, less);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message == "y needs 1 CPUs of pool fast, and 0 of 2 are left");
}

TEST_CASE("the environment of a container says which CPUs are exclusive and which are shared") {
  const std::vector<ListedProcess> both{{{"x"}, "fast", 2}, {{"log"}, "shared-1", 500}};
  const auto granted = cpus_of_container({{"EXCLUSIVE_CPUS", "4-5"}, {"SHARED_CPUS", "1,3"}}, both);
  REQUIRE(granted);
  CHECK(granted->by_pool ==
        std::vector<GrantedCpus::OfPool>{{"fast", CpuSet{4, 5}, {}}, {"shared-1", {}, CpuSet{1, 3}}});
  const auto alone = cpus_of_container({{"SHARED_CPUS", "1"}}, {{{"log"}, "common", 500}});
  REQUIRE(alone);
  CHECK(alone->by_pool.front().shared == CpuSet{1});
  CHECK_FALSE(cpus_of_container({{"EXCLUSIVE_CPUS", "4-x"}}, both));
  const std::vector<ListedProcess> ambiguous{{{"x"}, "fast", 2}, {{"y"}, "faster", 1}};
  CHECK_FALSE(cpus_of_container({{"EXCLUSIVE_CPUS", "4-6"}}, ambiguous));
}

TEST_CASE("NRD_POOLS says which CPUs of a container are of which pool, whatever their names") {
  const std::vector<ListedProcess> processes{{{"x"}, "fast", 2}, {{"y"}, "faster", 1}, {{"log"}, "common", 500}};
  const auto in = [&](const char* pools) {
    return cpus_of_container({{"EXCLUSIVE_CPUS", "4,5,6"}, {"SHARED_CPUS", "8,9"}, {"NRD_POOLS", pools}}, processes);
  };
  const auto granted = in("fast=4-5;faster=6;common=8-9");
  REQUIRE(granted);
  CHECK(granted->by_pool == std::vector<GrantedCpus::OfPool>{
                                {"fast", CpuSet{4, 5}, {}}, {"faster", CpuSet{6}, {}}, {"common", {}, CpuSet{8, 9}}});
  CHECK(*assign_cpus(processes, *granted) == std::vector<CpuSet>{CpuSet{4, 5}, CpuSet{6}, CpuSet{8, 9}});
  for (const char* wrong : {"fast", "=4", "fast=", "fast=4-x", "fast=4;;common=8", ";", "fast=7"}) {
    CAPTURE(wrong);
    const auto refused = in(wrong);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().message.find("NRD_POOLS: \"") == 0);
  }
}

}  // namespace nrd::cli::process_list_test
