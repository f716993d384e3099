#include "hw/cpuset/kernel_work.h"

#include <doctest/doctest.h>

#include "tests/unit/hw_cpuset/tree.h"

namespace nrd::cpuset::kernel_work_test {

using nrd::testing::Tree;
using Source = Disturbance::Source;

namespace {

CheckQuery of(const char* cpus) { return {.cpus = *CpuSet::parse(cpus)}; }

void interrupt(Tree& tree, const std::string& number, const std::string& cpus, const std::string& name) {
  tree.put("proc/irq/" + number + "/smp_affinity_list", cpus + "\n");
  tree.put("proc/irq/" + number + "/spurious", "count 0\n");
  if (!name.empty()) std::filesystem::create_directories(tree.root() + "/proc/irq/" + number + "/" + name);
}

// 0x04208040: PF_KTHREAD and PF_NO_SETAFFINITY, as of ksoftirqd.
void process(Tree& tree, const std::string& pid, const std::string& name, const std::string& cpus,
             const std::string& flags = "69238848") {
  tree.put("proc/" + pid + "/stat", pid + " (" + name + ") S 2 0 0 0 -1 " + flags + " 0 0 0 0 0 0 0 0 20 0 1 0 77 0\n");
  tree.put("proc/" + pid + "/status", "Name:\t" + name + "\nCpus_allowed:\tff\nCpus_allowed_list:\t" + cpus + "\n");
}

}  // namespace

TEST_CASE("queues of a device have its name") {
  CHECK(device_of("nvme0q12") == "nvme0");
  CHECK(device_of("eth0-rx-3") == "eth0-rx");
  CHECK(device_of("virtio3-req.0") == "virtio3-req");
  for (const char* name : {"i8042", "acpi", "7", "-7", "", "mlx5_comp3@pci:0000:3b:00.0x"})
    CHECK(device_of(name) == name);
}

TEST_CASE("interrupts are found by device, unless no driver has requested them") {
  Tree tree;
  interrupt(tree, "1", "0-7", "");
  interrupt(tree, "30", "2", "nvme0q1");
  interrupt(tree, "31", "3-4", "nvme0q2");
  interrupt(tree, "40", "0-1", "eth0");
  tree.put("proc/irq/default_smp_affinity", "ff\n");
  const auto found = find_interrupts({.cpus = {2, 3}, .low_noise = true}, tree.root());
  REQUIRE(found.size() == 2);
  CHECK(found[0].source == Source::NewInterrupts);
  CHECK(found[1] == Disturbance{.source = Source::Interrupt,
                                .name = "nvme0",
                                .cpus = {2, 3},
                                .text = "2 interrupts of nvme0 may arrive (30, 31); the kernel does not move them",
                                .remedy = "give the driver fewer queues, or add isolcpus=managed_irq,2-3 to the "
                                          "kernel's command line"});
  CHECK(find_interrupts(of("0"), tree.root())[1].remedy == "low_noise = true in the pool");
  CHECK(find_interrupts(of("9"), tree.root()).empty());
}

TEST_CASE("threads that one CPU only may run are distinguished from others") {
  Tree tree;
  process(tree, "20", "ksoftirqd/2", "2");
  process(tree, "21", "ksoftirqd/3", "3");
  process(tree, "22", "kworker/3:0H)x", "3");
  process(tree, "23", "kswapd0", "0-7");
  process(tree, "24", "ksoftirqd/5", "5");
  process(tree, "25", "bash", "0-7", "4194304");
  const auto found = find_kernel_threads(of("2-3"), tree.root());
  REQUIRE(found.size() == 2);
  CHECK(found[0].source == Source::BoundThreads);
  CHECK(found[0].text == "kernel threads bound to these CPUs: 2 ksoftirqd, 1 kworker");
  CHECK(found[1].source == Source::UnboundThreads);
  CHECK(found[1].text == "kernel threads that may run here: 1 kswapd0");
  CHECK(found[1].cpus == CpuSet{2, 3});
}

TEST_CASE("empty, truncated and vanished files of processes are left out") {
  for (const char* text : {"", "20", "20 (", "20 (x", "20 (x)", "20 (x) S 2 0 0", "20 (x) S 2 0 0 0 -1 y", ") 20 ("}) {
    CAPTURE(text);
    Tree tree;
    process(tree, "20", "x", "2");
    tree.put("proc/20/stat", text);
    CHECK(find_kernel_threads(of("2"), tree.root()).empty());
  }
  for (const char* text : {"", "Name:\tx\n", "Name:\tx\nCpus_allowed_list:", "Name:\tx\nCpus_allowed_list:\tx\n"}) {
    CAPTURE(text);
    Tree tree;
    process(tree, "20", "x", "2");
    tree.put("proc/20/status", text);
    CHECK(find_kernel_threads(of("2"), tree.root()).empty());
  }
  CHECK(find_kernel_threads(of("2"), "/nonexistent").empty());
  CHECK(find_interrupts(of("2"), "/nonexistent").empty());
}

TEST_CASE("a text names a few of very many interrupts") {
  Tree tree;
  for (int number = 100; number < 120; ++number)
    interrupt(tree, std::to_string(number), "2", "eth0-" + std::to_string(number));
  const auto found = find_interrupts(of("2"), tree.root());
  REQUIRE(found.size() == 1);
  CHECK(found[0].text.ends_with("114, 115 and 4 more)"));
}

}  // namespace nrd::cpuset::kernel_work_test
