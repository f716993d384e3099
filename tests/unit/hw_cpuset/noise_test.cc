// Work of the kernel on plain files, which accept any write.
#include "hw/cpuset/noise.h"

#include <doctest/doctest.h>

#include "tests/support/temporary_tree.h"

namespace nrd::cpuset::noise_test {

using Kind = NoiseSource::Kind;

namespace {

constexpr const char* kDefault = "proc/irq/default_smp_affinity";
constexpr const char* kWorkqueues = "sys/devices/virtual/workqueue/cpumask";
constexpr const char* kWatchdog = "proc/sys/kernel/watchdog_cpumask";

class Tree : public testing::TemporaryTree {
 public:
  static std::string interrupt(uint32_t number) { return "proc/irq/" + std::to_string(number) + "/smp_affinity_list"; }
  // O_NOFOLLOW: its write is refused.
  void refuse_writes(const std::string& file) const {
    rename(file, file + ".target");
    link(file, path(file + ".target"));
  }
};

CpuSet cpus(const char* list) { return *CpuSet::parse(list); }

}  // namespace

TEST_CASE("sources are read as lists and masks") {
  Tree tree;
  tree.put(Tree::interrupt(24), "0-3,8\n");
  tree.put(kDefault, "3,00000001\n");
  tree.put(kWorkqueues, "f\n");
  tree.put(kWatchdog, "0-15\n");
  Noise noise(tree.root());
  CHECK(noise.observe() == std::map<NoiseSource, CpuSet>{{{Kind::Interrupt, 24}, cpus("0-3,8")},
                                                         {{Kind::NewInterrupts, 0}, cpus("0,32-33")},
                                                         {{Kind::Workqueues, 0}, cpus("0-3")},
                                                         {{Kind::Watchdog, 0}, cpus("0-15")}});
}

TEST_CASE("empty, truncated and unexpected contents are left out") {
  for (const char* text : {"", "\n", "0-3", "x\n", "3-\n", "fffffffff\n", "0,\n", ",1\n"}) {
    CAPTURE(text);
    Tree tree;
    tree.put(Tree::interrupt(24), text);
    tree.put(kDefault, text);
    Noise noise(tree.root());
    CHECK(noise.observe().empty());
    CHECK(noise.converge({{{Kind::Interrupt, 24}, cpus("1")}, {{Kind::NewInterrupts, 0}, cpus("1")}}));
    CHECK(tree.get(kDefault) == text);
  }
  CHECK(Noise("/nonexistent").observe().empty());
}

TEST_CASE("sources are written as lists and masks") {
  Tree tree;
  for (const char* path : {kDefault, kWorkqueues}) tree.put(path, "ff,ffffffff\n");
  tree.put(kWatchdog, "0-39\n");
  tree.put(Tree::interrupt(24), "0-39\n");
  Noise noise(tree.root());
  REQUIRE(noise.converge({{{Kind::Interrupt, 24}, cpus("0-1,33")},
                          {{Kind::Interrupt, 25}, cpus("0")},  // gone
                          {{Kind::NewInterrupts, 0}, cpus("0-1,33")},
                          {{Kind::Workqueues, 0}, cpus("4")},
                          {{Kind::Watchdog, 0}, cpus("0-1,33")}}));
  CHECK(tree.get(Tree::interrupt(24)) == "0-1,33\n");
  CHECK(tree.get(kDefault) == "2,00000003\n");
  CHECK(tree.get(kWorkqueues) == "10\n");
  CHECK(tree.get(kWatchdog) == "0-1,33\n");
}

TEST_CASE("an interrupt that cannot be moved is left out from then on, until it is another one") {
  Tree tree;
  tree.put(Tree::interrupt(24), "0-3\n");
  tree.put(Tree::interrupt(25), "0-3\n");
  tree.refuse_writes(Tree::interrupt(24));
  Noise noise(tree.root());
  REQUIRE(noise.converge({{{Kind::Interrupt, 24}, cpus("0")}, {{Kind::Interrupt, 25}, cpus("0")}}));
  CHECK(noise.observe() == std::map<NoiseSource, CpuSet>{{{Kind::Interrupt, 25}, cpus("0")}});
  std::filesystem::remove_all(tree.root() + "/proc/irq/24");
  CHECK(noise.observe().size() == 1);
  tree.put(Tree::interrupt(24), "0-3\n");
  CHECK(noise.observe().size() == 2);
}

TEST_CASE("an interrupt that cannot be moved back is observed, and tried again") {
  Tree tree;
  tree.put(Tree::interrupt(24), "0\n");
  Noise noise(tree.root());
  tree.refuse_writes(Tree::interrupt(24));
  const std::map<NoiseSource, CpuSet> before{{{Kind::Interrupt, 24}, cpus("0-3")}};
  REQUIRE(noise.restore(before));
  CHECK(noise.observe() == std::map<NoiseSource, CpuSet>{{{Kind::Interrupt, 24}, cpus("0")}});
  std::filesystem::remove(tree.root() + "/" + Tree::interrupt(24));
  tree.put(Tree::interrupt(24), "0\n");
  REQUIRE(noise.restore(before));
  CHECK(noise.observe() == before);
}

TEST_CASE("another source that does not take its CPUs is an error with its name") {
  Tree tree;
  tree.put(kWorkqueues, "f\n");
  tree.refuse_writes(kWorkqueues);
  Noise noise(tree.root());
  const auto refused = noise.converge({{{Kind::Workqueues, 0}, cpus("0")}});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::Hardware);
  CHECK(refused.error().message == "unbound workqueues did not take CPUs 0");
}

TEST_CASE("a source that refuses does not block the others") {
  Tree tree;
  tree.put(kWorkqueues, "1\n");
  tree.put(kWatchdog, "0\n");
  tree.refuse_writes(kWorkqueues);
  Noise noise(tree.root());
  CHECK_FALSE(noise.restore({{{Kind::Workqueues, 0}, cpus("0-3")}, {{Kind::Watchdog, 0}, cpus("0-3")}}));
  CHECK(tree.get(kWatchdog) == "0-3\n");
  CHECK_FALSE(noise.converge({{{Kind::Workqueues, 0}, cpus("2")}, {{Kind::Watchdog, 0}, cpus("2")}}));
  CHECK(tree.get(kWatchdog) == "2\n");
}

}  // namespace nrd::cpuset::noise_test
