#include "engine/plan/frequencies.h"

#include <doctest/doctest.h>

#include <memory>
#include <ostream>

#include "engine/model/node_config.h"
#include "engine/model/node_state.h"
#include "tests/unit/engine/fake_node.h"

namespace nrd::frequencies_test {

using namespace nrd::testing;

namespace {

using Request = FrequencyRequest;

// 800 to 3500 MHz, 2200 without turbo, as each CPU of a FakeHardware.
NodeState a_node(const NodeShape& shape = {}) {
  FakeHardware hardware(shape);
  NodeState state;
  state.facts = hardware.facts;
  state.observed = hardware.tree;
  return state;
}

Result<std::pair<uint32_t, uint32_t>> planned(const NodeState& state, const Request& request, const char* cpus = "4") {
  const auto granted = plan::plan_frequencies(state, {.id = WorkloadId{1},
                                                      .spec = a_spec(cpus).no_cache().frequency(request),
                                                      .grant = {},
                                                      .created = {},
                                                      .updated = {}});
  if (!granted) return Failure(granted.error());
  const pstate::FrequencySetting& knobs = granted->at(CpuId{4});
  return std::pair(knobs.min.value / 1000, knobs.max.value / 1000);
}

using Window = std::pair<uint32_t, uint32_t>;

}  // namespace

TEST_CASE("a window is rounded down to ratios, and to the entries of a table where there is one") {
  struct Row {
    Request request;
    Window any, table;
  };
  NodeState any = a_node();
  NodeState table = a_node();
  for (auto& [cpu, facts] : table.facts.pstate.cpus.edit()) facts.steps = {{800000}, {1500000}, {2201000}};
  for (const Row& row : {Row{{.min = 12, .max = 30}, {1200, 3000}, {800, 2201}},
                         Row{{.min = 22}, {2200, 2200}, {1500, 1500}}, Row{{.max = 23}, {2300, 2300}, {2201, 2201}},
                         Row{{.unit = Request::Unit::Mhz, .min = 1599, .max = 3499}, {1500, 3400}, {1500, 2201}},
                         Row{{.max = 35}, {3500, 3500}, {2201, 2201}},
                         Row{{.max = 30, .threshold = BranchMissThreshold{3}}, {800, 3000}, {800, 2201}},
                         Row{{.turbo = false}, {800, 2200}, {800, 1500}}}) {
    CAPTURE(row.any.first);
    CAPTURE(row.any.second);
    CHECK(planned(any, row.request).value() == row.any);
    CHECK(planned(table, row.request).value() == row.table);
  }
}

TEST_CASE("a window that was not requested is granted as without turbo being off, which may end first") {
  NodeState state = a_node();
  state.observed.pstate.turbo = false;
  for (auto& [cpu, knobs] : state.observed.pstate.cpus.edit()) knobs.max = KHz{2'200'000};
  CHECK(planned(state, {.governor = "performance"}).value() == Window{800, 3500});
  CHECK(planned(state, {.threshold = BranchMissThreshold{3}}).value() == Window{800, 3500});
  CHECK(planned(state, {.turbo = false}).value() == Window{800, 2200});
}

TEST_CASE("turbo cannot be left out where the highest P-state includes it, unless the window ends below") {
  NodeState amd = a_node();  // as acpi-cpufreq describes an EPYC: boost exceeds the table
  for (auto& [cpu, facts] : amd.facts.pstate.cpus.edit()) {
    facts.steps = {{1500000}, {2000000}, {2200000}};
    facts.driver = "acpi-cpufreq";
  }
  amd.observed.pstate.turbo = true;
  const Error refused = error_of(planned(amd, {.turbo = false}));
  CHECK(refused.code == ErrorCode::Unsupported);
  CHECK(refused.field == "/pstate/turbo");
  CHECK(refused.allowed == "a maximum of at most 20, or 0 in /sys/devices/system/cpu/cpufreq/boost");
  CHECK(planned(amd, {.min = 15, .max = 20, .turbo = false}).value() == Window{1500, 2000});
  CHECK(planned(amd, {.max = 22}).value() == Window{2200, 2200});
  amd.observed.pstate.turbo = false;
  CHECK(planned(amd, {.max = 22, .turbo = false}).value() == Window{2200, 2200});
}

TEST_CASE("an unsupported frequency is refused with the supported range") {
  const NodeState state = a_node();
  struct Row {
    Request request;
    const char *field, *allowed;
  };
  for (const Row& row :
       {Row{{.max = 36}, "/pstate/max_ratio", "8 to 35"}, Row{{.min = 7}, "/pstate/min_ratio", "8 to 35"},
        Row{{.min = 0, .max = 20}, "/pstate/min_ratio", "8 to 35"},
        Row{{.max = UINT32_MAX}, "/pstate/max_ratio", "8 to 35"},
        Row{{.unit = Request::Unit::Mhz, .max = 9999}, "/pstate/max_mhz", "800 MHz to 3500 MHz"},
        Row{{.min = 20, .max = 10}, "/pstate/min_ratio", "at most 10"},
        Row{{.min = 25, .turbo = false}, "/pstate/turbo", "at most 22"}}) {
    CAPTURE(row.allowed);
    const Error refused = error_of(planned(state, row.request));
    CHECK(refused.field == row.field);
    CHECK(refused.allowed == row.allowed);
  }
}

TEST_CASE("a CPU without a preference refuses each, and takes the governor performance") {
  NodeState state = a_node();
  for (auto& [cpu, facts] : state.facts.pstate.cpus.edit()) facts.epps = {};
  for (auto& [cpu, knobs] : state.observed.pstate.cpus.edit()) knobs.epp = {};
  for (const char* epp : {"performance", "power"}) {
    const Error refused = error_of(planned(state, {.epp = epp}));
    CHECK(refused.code == ErrorCode::Unsupported);
    CHECK(refused.message == "CPU 4 does not support this setting");
    CHECK(refused.field == "/pstate/epp");
  }
  CHECK(planned(state, {.governor = "performance"}).value() == Window{800, 3500});
}

TEST_CASE("under the governor performance the only preference is performance") {
  const NodeState state = a_node();
  CHECK(planned(state, {.governor = "performance", .epp = "performance"}).value() == Window{800, 3500});
  CHECK(error_of(planned(state, {.governor = "performance", .epp = "power"})).field == "/pstate/epp");
}

TEST_CASE("a CPU with a single ratio refuses a window") {
  NodeState state = a_node();
  for (auto& [cpu, facts] : state.facts.pstate.cpus.edit()) facts.way = pstate::Interface::Amd17h;
  CHECK(planned(state, {.max = 20}).value() == Window{2000, 2000});
  CHECK(planned(state, {.min = 10, .max = 20}).error().code == ErrorCode::Unsupported);
}

TEST_CASE("a shared frequency domain needs permission, and one with another workload the same request") {
  NodeState state = a_node({.cpus_per_domain = 2});
  CHECK(planned(state, {.max = 20}).error().allowed == "core_ids with all of 4-5, or \"shared_domain\": \"allow\"");
  CHECK(planned(state, {.max = 20}, "4-5").value() == Window{2000, 2000});
  const Request allowed{.max = 20, .shared_domain = Request::SharedDomain::Allow};
  CHECK(planned(state, allowed).value() == Window{2000, 2000});

  Workload other{.id = WorkloadId{2}, .spec = a_spec("5").no_cache().frequency(allowed), .grant = {}};
  other.grant.frequencies[CpuId{5}] = {.min = {2000000}, .max = {2000000}};
  state.workloads.put(other);
  CHECK(planned(state, allowed).value() == Window{2000, 2000});
  const Request faster{.max = 21, .shared_domain = Request::SharedDomain::Allow};
  CHECK(planned(state, faster).error().allowed == "the same request as that workload");
}

TEST_CASE("a refusal over a shared frequency domain names the other workload by the id that its client chose") {
  NodeState state = a_node({.cpus_per_domain = 2});
  const Request allowed{.max = 20, .shared_domain = Request::SharedDomain::Allow};
  Workload other{.id = WorkloadId{2}, .spec = a_spec("5").no_cache().frequency(allowed), .grant = {}};
  other.spec.given_id = "batch";
  other.grant.frequencies[CpuId{5}] = {.min = {1000000}, .max = {1000000}};
  state.workloads.put(other);
  CHECK(planned(state, allowed).error().message ==
        "CPU 4 shares its frequency with CPU 5, for which workload batch requests a different frequency");
}

TEST_CASE("workloads are reported whose frequencies cannot be set any more, or not reach their maximum") {
  NodeState state = a_node();
  state.config = std::make_shared<const NodeConfig>();
  Workload workload{.id = WorkloadId{1}, .spec = a_spec("4").no_cache().frequency({.max = 35}), .grant = {}};
  workload.grant.frequencies[CpuId{4}] = {.min = {3500000}, .max = {3500000}};
  state.workloads.put(workload);
  CHECK(problem_of(state).empty());
  state.facts.pstate.max_percent = 60;
  CHECK(problem_of(state).starts_with(
      "CPU 4 of workload 1 cannot reach its maximum: max_perf_pct of intel_pstate is 60"));
  CHECK(planned(state, {.max = 22}).error().allowed == "8 to 21");
  state.facts.pstate.missing = {"P-states: no driver"};
  state.facts.pstate.cpus.edit().erase(CpuId{4});
  CHECK(problem_of(state) ==
        "the frequency of CPU 4 of workload 1 cannot be set (P-states: no driver); boot as before, or change the "
        "workload");
  state.facts.rdt.online.remove(CpuId{4});
  CHECK(problem_of(state).empty());
}

}  // namespace nrd::frequencies_test
