#include "hw/pstate/pstate.h"

#include <doctest/doctest.h>

#include <ostream>

#include "tests/unit/hw_pstate/tree.h"

namespace nrd::pstate::pstate_test {

using nrd::testing::Tree;

namespace {

CpuSet all() { return CpuSet::parse("0-15").value(); }

FrequencySetting a_window(uint32_t min, uint32_t max) {
  return {.min = {min}, .max = {max}, .governor = "powersave", .epp = "balance_performance"};
}

Setting a_setting(std::map<CpuId, FrequencySetting> cpus) { return {.cpus = std::move(cpus)}; }

// CPUs 0 to 3 under intel_pstate, as after boot.
class IntelTree : public Tree {
 public:
  IntelTree() {
    online("0-3");
    for (const uint32_t cpu : {0U, 1U, 2U, 3U}) intel(cpu);
  }
  // Both CPUs set the same files, as those of one policy do.
  void share_policy(uint32_t owner, uint32_t other) {
    put(cpufreq(owner, "related_cpus"), std::to_string(owner) + " " + std::to_string(other) + "\n");
    remove(cpu(other, "cpufreq"));
    std::filesystem::create_directory_symlink("../cpu" + std::to_string(owner) + "/cpufreq",
                                              root() + "/" + cpu(other, "cpufreq"));
  }
};

// The same, discovered.
struct Discovered : IntelTree {
  Discovered() { REQUIRE(pstate.discover().has_value()); }
  Pstate pstate{root()};
};

// CPUs from 0 on without a driver.
class RegisterTree : public Tree {
 public:
  explicit RegisterTree(uint32_t cpus) {
    online(CpuSet::first(cpus).to_string());
    part("GenuineIntel", 6);
    for (uint32_t cpu = 0; cpu < cpus; ++cpu) perf_ctl(cpu);
  }
};

}  // namespace

TEST_CASE("each online CPU is discovered, and what was discovered is observed") {
  const IntelTree tree;
  Pstate pstate(tree.root());
  const Node node = pstate.discover().value();
  CHECK(node.cpus.size() == 4);
  CHECK(node.cpus.at(CpuId{3}).domain == CpuSet{3});
  CHECK(node.missing.empty());
  const Observed observed = pstate.observe(all()).value();
  CHECK(observed.cpus.size() == 4);
  CHECK(observed.cpus.at(CpuId{2}) == a_window(800000, 3500000));
  CHECK(pstate.current({2}).at(CpuId{2}) == KHz{1200013});
}

TEST_CASE("a missing list of online CPUs is an error for every call") {
  Discovered tree;
  for (const char* text : {"", "0-", "garbage\n", "0-3"}) {
    tree.put("sys/devices/system/cpu/online", text);
    CHECK_FALSE(tree.pstate.discover().has_value());
  }
  tree.remove("sys/devices/system/cpu/online");
  CHECK_FALSE(tree.pstate.discover().has_value());
  CHECK_FALSE(tree.pstate.observe(all()).has_value());
  CHECK_FALSE(tree.pstate.converge(a_setting({{CpuId{0}, a_window(800000, 900000)}})).has_value());
}

TEST_CASE("an offline CPU stays a part of its domain") {
  IntelTree tree;
  tree.put(Tree::cpufreq(0, "related_cpus"), "0 1 2\n");
  tree.online("0,2-3");
  CHECK(Pstate(tree.root()).discover().value().cpus.at(CpuId{0}).domain == CpuSet{0, 1, 2});
}

TEST_CASE("wanted CPUs are set, and the others are untouched") {
  Discovered tree;
  const FrequencySetting fast{.min = {3000000}, .max = {3000000}, .governor = "performance", .epp = "performance"};
  REQUIRE(tree.pstate.converge(a_setting({{CpuId{1}, fast}, {CpuId{2}, a_window(800000, 1000000)}})).has_value());
  const Observed observed = tree.pstate.observe(all()).value();
  CHECK(observed.cpus.at(CpuId{0}) == a_window(800000, 3500000));
  CHECK(observed.cpus.at(CpuId{1}) == fast);
  CHECK(observed.cpus.at(CpuId{2}) == a_window(800000, 1000000));
  CHECK(observed.cpus.at(CpuId{3}) == a_window(800000, 3500000));
}

TEST_CASE("an unchanged setting is not written") {
  Discovered tree;
  const std::filesystem::path file = tree.root() + "/" + Tree::cpufreq(1, "scaling_max_freq");
  const std::filesystem::file_time_type long_ago{};
  std::filesystem::last_write_time(file, long_ago);
  CHECK(tree.pstate.converge(a_setting({{CpuId{1}, a_window(800000, 3500000)}})).has_value());
  CHECK(tree.pstate.converge(a_setting({{CpuId{1}, a_window(900000, 3500000)}})).has_value());
  CHECK(std::filesystem::last_write_time(file) == long_ago);
}

TEST_CASE("CPUs that share a policy are set together") {
  IntelTree tree;
  tree.share_policy(0, 1);
  Pstate pstate(tree.root());
  CHECK(pstate.discover().value().cpus.at(CpuId{1}).domain == CpuSet{0, 1});
  const FrequencySetting slow = a_window(800000, 900000);
  REQUIRE(pstate.converge(a_setting({{CpuId{0}, slow}, {CpuId{1}, slow}})).has_value());
  CHECK(pstate.observe(all()).value().cpus.at(CpuId{1}) == slow);
}

TEST_CASE("a CPU that was right before its neighbour's write is read back as well") {
  IntelTree tree;
  tree.share_policy(0, 1);
  Pstate pstate(tree.root());
  REQUIRE(pstate.discover().has_value());
  const Result<CpuSet> converged =
      pstate.converge(a_setting({{CpuId{0}, a_window(800000, 3500000)}, {CpuId{1}, a_window(800000, 900000)}}));
  REQUIRE_FALSE(converged.has_value());
  CHECK(converged.error().code == ErrorCode::Hardware);
  CHECK(converged.error().message == "CPU 0 did not take max 3500000 kHz (found 900000)");

  const FrequencySetting right = pstate.observe(all()).value().cpus.at(CpuId{0});
  FrequencySetting saving = right;
  saving.epp = "power";
  CHECK(pstate.converge(a_setting({{CpuId{0}, right}, {CpuId{1}, saving}})).error().message ==
        "CPU 0 did not take EPP balance_performance (found power)");
}

TEST_CASE("a CPU that goes offline after discover is left out") {
  Discovered tree;
  tree.online("0-2");
  tree.remove(Tree::cpufreq(3));
  CHECK(tree.pstate.observe(all()).value().cpus.size() == 3);
  const FrequencySetting slow = a_window(800000, 900000);
  CHECK(tree.pstate.converge(a_setting({{CpuId{2}, slow}, {CpuId{3}, slow}})).has_value());
  CHECK(tree.pstate.observe(all()).value().cpus.at(CpuId{2}) == slow);
}

TEST_CASE("a CPU whose driver went away is no longer observed and cannot be set") {
  Discovered tree;
  tree.remove(Tree::cpufreq(3));
  CHECK_FALSE(tree.pstate.observe(all()).value().cpus.contains(CpuId{3}));
  CHECK(tree.pstate.converge(a_setting({{CpuId{3}, a_window(800000, 900000)}})).error().message ==
        "CPU 3 has no cpufreq driver any more");
}

TEST_CASE("a CPU that cannot be set is refused before anything is written") {
  IntelTree tree;
  tree.remove(Tree::cpufreq(3));
  Pstate pstate(tree.root());
  REQUIRE(pstate.discover().has_value());
  const FrequencySetting slow = a_window(800000, 900000);
  const Result<CpuSet> converged = pstate.converge(a_setting({{CpuId{0}, slow}, {CpuId{3}, slow}}));
  REQUIRE_FALSE(converged.has_value());
  CHECK(converged.error().code == ErrorCode::Unsupported);
  CHECK(converged.error().message == "CPU 3 has no frequency that can be set");
  CHECK(pstate.observe(all()).value().cpus.at(CpuId{0}) == a_window(800000, 3500000));
}

TEST_CASE("a window with min above max is refused before anything is written") {
  Discovered tree;
  const Result<CpuSet> converged =
      tree.pstate.converge(a_setting({{CpuId{0}, a_window(800000, 900000)}, {CpuId{1}, a_window(3000000, 2000000)}}));
  REQUIRE_FALSE(converged.has_value());
  CHECK(converged.error().message == "CPU 1: min 3000000 kHz is above max 2000000 kHz");
  CHECK(tree.pstate.observe(all()).value().cpus.at(CpuId{0}) == a_window(800000, 3500000));
}

TEST_CASE("a knob that the CPU does not have is an error, one that is not wanted is not") {
  IntelTree tree;
  tree.remove(Tree::cpufreq(0, "energy_performance_preference"));
  Pstate pstate(tree.root());
  REQUIRE(pstate.discover().has_value());
  FrequencySetting slow = a_window(800000, 900000);
  CHECK(pstate.converge(a_setting({{CpuId{0}, slow}})).error().message == "CPU 0 did not take EPP balance_performance");
  slow.epp.clear();
  CHECK(pstate.converge(a_setting({{CpuId{0}, slow}})).has_value());
}

TEST_CASE("a CPU with an invalid file is not observed and cannot be set") {
  Discovered tree;
  tree.put(Tree::cpufreq(2, "scaling_max_freq"), "3500");
  CHECK(tree.pstate.observe(all()).value().cpus.size() == 3);
  CHECK(tree.pstate.converge(a_setting({{CpuId{2}, a_window(800000, 900000)}})).error().message ==
        "CPU 2: scaling_max_freq of cpufreq has unexpected content");
  CHECK(tree.pstate.converge(a_setting({{CpuId{1}, a_window(800000, 900000)}})).has_value());
  tree.online("0-1,3");
  CHECK(tree.pstate.observe(all()).value().cpus.size() == 3);
}

TEST_CASE("an empty setting reads and writes nothing") {
  const Tree tree;
  Pstate pstate(tree.root());
  CHECK(pstate.converge({}).has_value());
}

TEST_CASE("a node without driver and device reports the remedy") {
  struct Row {
    const char* vendor;
    unsigned family;
    const char* missing;
  };
  auto* absent = "/dev/cpu/0/msr cannot be opened; load a driver, or the msr module and install the drop-in msr.conf";
  for (const Row& row :
       {Row{"GenuineIntel", 6, absent}, Row{"AuthenticAMD", 25, absent},
        Row{"AuthenticAMD", 21, "nrd does not set registers of AuthenticAMD family 21 model 1; load a driver"}}) {
    Tree tree;
    tree.online("0-15");
    tree.part(row.vendor, row.family);
    Pstate pstate(tree.root());
    const Node node = pstate.discover().value();
    CHECK(node.cpus.empty());
    CHECK(node.missing ==
          std::vector<std::string>{std::string("P-states: no cpufreq driver holds CPUs 0-15, and ") + row.missing});
    CHECK(pstate.observe(all()).value() == Observed{});
  }
}

TEST_CASE("a node whose vendor is unknown needs a driver") {
  Tree tree;
  tree.online("2");
  tree.perf_ctl(2);
  CHECK(
      Pstate(tree.root()).discover().value().missing ==
      std::vector<std::string>{"P-states: no cpufreq driver holds CPU 2, and nrd does not set registers of a part that "
                               "does not tell its vendor; load a driver"});
}

TEST_CASE("CPUs without a driver are set through registers") {
  IntelTree tree;
  tree.online("0-6");
  tree.part("GenuineIntel", 6);
  tree.perf_ctl(4);
  tree.registers(5);
  Pstate pstate(tree.root());
  const Node node = pstate.discover().value();
  CHECK(node.cpus.at(CpuId{3}).way == Interface::Cpufreq);
  CHECK(node.cpus.at(CpuId{4}) == Cpu{.way = Interface::PerfCtl,
                                      .driver = "msr",
                                      .min = {800000},
                                      .max = {2200000},
                                      .base = KHz{2200000},
                                      .domain = {4},
                                      .hwp = false});
  CHECK(
      node.missing ==
      std::vector<std::string>{
          "P-states: no cpufreq driver holds CPU 6, and /dev/cpu/6/msr cannot be opened; load a driver, or the msr "
          "module and install the drop-in msr.conf",
          "P-states: no cpufreq driver holds CPU 5, and the registers tell no ratios, as in a virtual machine; load a "
          "driver, if the machine has one"});
}

TEST_CASE("without a driver the threads of a core are one domain") {
  RegisterTree tree(4);
  for (const uint32_t cpu : {0U, 2U}) tree.put(Tree::cpu(cpu, "topology/thread_siblings_list"), "0,2\n");
  Pstate pstate(tree.root());
  const Node node = pstate.discover().value();
  CHECK(node.cpus.at(CpuId{0}).domain == CpuSet{0, 2});
  CHECK(node.cpus.at(CpuId{1}).domain == CpuSet{1});
  for (const char* text : {"", "0-", "0,2 x\n", "0,2"}) {
    INFO("list \"" << text << "\"");
    tree.put(Tree::cpu(2, "topology/thread_siblings_list"), text);
    const Node found = pstate.discover().value();
    const std::string path = tree.path(Tree::cpu(2, "topology/thread_siblings_list"));
    CHECK(found.missing == std::vector<std::string>{"P-states: unexpected list in " + path});
    CHECK(found.cpus.size() == 3);
  }
}

TEST_CASE("an offline thread stays in the domain of its core") {
  RegisterTree tree(4);
  for (const uint32_t cpu : {0U, 2U}) tree.put(Tree::cpu(cpu, "topology/thread_siblings_list"), "0,2\n");
  Pstate pstate(tree.root());
  REQUIRE(pstate.discover());
  tree.online("0-1,3");
  tree.put(Tree::cpu(0, "topology/thread_siblings_list"), "0\n");
  CHECK(pstate.discover().value().cpus.at(CpuId{0}).domain == CpuSet{0, 2});
}

TEST_CASE("turbo is reported where the driver reports it") {
  IntelTree tree;
  Pstate pstate(tree.root());
  CHECK_FALSE(pstate.observe({}).value().turbo.has_value());
  tree.put("sys/devices/system/cpu/cpufreq/boost", "1\n");
  CHECK(pstate.observe({}).value().turbo == true);
  tree.put("sys/devices/system/cpu/cpufreq/boost", "0\n");
  CHECK(pstate.observe({}).value().turbo == false);
  tree.put("sys/devices/system/cpu/intel_pstate/no_turbo", "0\n");
  CHECK(pstate.observe({}).value().turbo == true);
  tree.put("sys/devices/system/cpu/intel_pstate/no_turbo", "1\n");
  CHECK(pstate.observe({}).value().turbo == false);
}

TEST_CASE("the limit of intel_pstate for all CPUs is reported while there is one") {
  IntelTree tree;
  Pstate pstate(tree.root());
  CHECK(pstate.discover().value().max_percent == std::nullopt);
  tree.put("sys/devices/system/cpu/intel_pstate/max_perf_pct", "100\n");
  CHECK(pstate.discover().value().max_percent == std::nullopt);
  tree.put("sys/devices/system/cpu/intel_pstate/max_perf_pct", "60\n");
  CHECK(pstate.discover().value().max_percent == 60);
}

TEST_CASE("turbo is that of the driver in use where intel_pstate is off and its own file cannot be read") {
  IntelTree tree;
  tree.put("sys/devices/system/cpu/intel_pstate/no_turbo/unreadable", "");
  tree.put("sys/devices/system/cpu/cpufreq/boost", "0\n");
  CHECK(Pstate(tree.root()).observe({}).value().turbo == false);
}

TEST_CASE("a maximum that may be hidden while turbo is off is restored as none") {
  const Cpu cpu{.max = {3500000}, .base = KHz{2200000}};
  const Cpu without_base{.max = {3500000}};
  const Cpu with_table{.max = {3500000}, .base = KHz{2200000}, .steps = {{2200000}, {3500000}}};
  const FrequencySetting at_base = a_window(800000, 2200000);
  CHECK(without_hidden_maximum(at_base, cpu, false).max == kNoLimit);
  CHECK(without_hidden_maximum(a_window(800000, 2000000), cpu, false).max == KHz{2000000});
  CHECK(without_hidden_maximum(at_base, cpu, true) == at_base);
  CHECK(without_hidden_maximum(at_base, cpu, std::nullopt) == at_base);
  CHECK(without_hidden_maximum(at_base, without_base, false) == at_base);
  CHECK(without_hidden_maximum(at_base, with_table, false) == at_base);
  CHECK(shown({{3000000}, kNoLimit}, cpu, false) == FrequencySetting{{2200000}, {2200000}});
  CHECK(shown({{800000}, kNoLimit}, cpu, true) == FrequencySetting{{800000}, {3500000}});
}

TEST_CASE("only requested CPUs are observed") {
  Discovered tree;
  tree.put(Tree::cpufreq(3, "scaling_min_freq"), "garbage\n");
  CHECK(tree.pstate.observe(CpuSet{1, 2}).value().cpus.size() == 2);
  CHECK(tree.pstate.observe(CpuSet{2, 3}).value().cpus.size() == 1);
  CHECK(tree.pstate.observe({}).value() == Observed{});
}

TEST_CASE("a register is set and read back like a file") {
  IntelTree tree;
  tree.online("0-4");
  tree.part("GenuineIntel", 6);
  tree.perf_ctl(4);
  tree.ratio(4, 0x198, 8, 14);
  Pstate pstate(tree.root());
  REQUIRE(pstate.discover().has_value());
  CHECK(pstate.observe(all()).value().cpus.at(CpuId{4}) == FrequencySetting{.min = {1500000}, .max = {1500000}});
  CHECK(pstate.current({4}).at(CpuId{4}) == KHz{1400000});
  const FrequencySetting slow{.min = {900000}, .max = {900000}};
  REQUIRE(pstate.converge(a_setting({{CpuId{0}, a_window(800000, 900000)}, {CpuId{4}, slow}})).has_value());
  CHECK(pstate.observe(all()).value().cpus.at(CpuId{4}) == slow);
  CHECK(pstate.observe(all()).value().cpus.at(CpuId{0}) == a_window(800000, 900000));
}

TEST_CASE("a value that a register cannot hold is refused before any write") {
  IntelTree tree;
  tree.online("0-4");
  tree.part("GenuineIntel", 6);
  tree.perf_ctl(4);
  Pstate pstate(tree.root());
  REQUIRE(pstate.discover().has_value());
  const FrequencySetting slow{.min = {900000}, .max = {950000}};
  CHECK_FALSE(pstate.converge(a_setting({{CpuId{0}, a_window(800000, 900000)}, {CpuId{4}, slow}})).has_value());
  CHECK(pstate.observe(all()).value().cpus.at(CpuId{0}) == a_window(800000, 3500000));
}

TEST_CASE("a vanished device is not observed, and is an error for an online CPU") {
  RegisterTree tree(2);
  Pstate pstate(tree.root());
  REQUIRE(pstate.discover().has_value());
  tree.remove("dev/cpu/1");
  const Setting slow = a_setting({{CpuId{1}, {.min = {900000}, .max = {900000}}}});
  CHECK(pstate.observe(all()).value().cpus.size() == 1);
  CHECK(pstate.converge(slow).error().message == "CPU 1 no longer provides register access");
  tree.online("0");
  CHECK(pstate.observe(all()).value().cpus.size() == 1);
  CHECK(pstate.converge(slow).has_value());
}

TEST_CASE("a CPU with unreadable registers is reported and does not affect other CPUs") {
  RegisterTree tree(2);
  Pstate pstate(tree.root());
  REQUIRE(pstate.discover().has_value());
  for (const char* text : {"", "cut off"}) {
    tree.put(Tree::msr(1), text);
    CHECK(pstate.observe(all()).value().cpus.size() == 1);
    const Node node = Pstate(tree.root()).discover().value();
    CHECK(node.cpus.size() == 1);
    CHECK(node.missing == std::vector<std::string>{"P-states: CPU 1: a register could not be read"});
  }
  tree.online("0");
  CHECK(pstate.observe(all()).value().cpus.size() == 1);
}

}  // namespace nrd::pstate::pstate_test
