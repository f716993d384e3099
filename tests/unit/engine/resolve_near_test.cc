// Where devices, NUMA nodes, CPUs and workloads are, on trees like that of sysfs.
#include <doctest/doctest.h>

#include <string>

#include "engine/resolve.h"
#include "tests/support/temporary_tree.h"
#include "tests/unit/engine/cpu_pool_fixture.h"

namespace nrd::resolve_near_test {

using namespace nrd::testing;

namespace {

constexpr const char* kPort = "/sys/devices/pci0000:16/0000:16:02.0/";

// A network card with a virtual function, an NVMe drive with a partition, and what is virtual.
class Sysfs : public TemporaryTree {
 public:
  Sysfs() {
    device("0000:17:00.0", "8-15\n");
    device("0000:17:01.0", "8-11\n");
    device("0000:18:00.0", "0-3\n");
    device("0000:19:00.0", "\n");
    put(kPort + std::string("0000:17:00.0/net/eth1/address"), "");
    put(kPort + std::string("0000:17:01.0/net/eth1v0/address"), "");
    put(kPort + std::string("0000:18:00.0/nvme/nvme0/nvme0n1/nvme0n1p1/size"), "");
    put(kPort + std::string("0000:19:00.0/virtio0/net/eth2/address"), "");
    put("/sys/devices/virtual/net/lo/address", "");
    put("/sys/devices/virtual/block/loop0/size", "");
    link("/sys/class/net/eth1", kPort + std::string("0000:17:00.0/net/eth1"));
    link("/sys/class/net/eth1v0", kPort + std::string("0000:17:01.0/net/eth1v0"));
    link("/sys/class/net/eth2", kPort + std::string("0000:19:00.0/virtio0/net/eth2"));
    link("/sys/class/net/lo", "/sys/devices/virtual/net/lo");
    link("/sys/class/net/gone", kPort + std::string("0000:17:00.0/net/gone"));
    link("/sys/class/block/nvme0n1", kPort + std::string("0000:18:00.0/nvme/nvme0/nvme0n1"));
    link("/sys/class/block/nvme0n1p1", kPort + std::string("0000:18:00.0/nvme/nvme0/nvme0n1/nvme0n1p1"));
    link("/sys/class/block/loop0", "/sys/devices/virtual/block/loop0");
  }

 private:
  void link(const std::string& name, const std::string& target) const { TemporaryTree::link(name, root() + target); }
  void device(const std::string& address, const std::string& cpus) const {
    put(kPort + address + "/local_cpulist", cpus);
    link("/sys/bus/pci/devices/" + address, kPort + address);
  }
};

}  // namespace

TEST_CASE("CPUs near a network interface, a PCI device or a block device are those of the PCI device above it") {
  const Sysfs sysfs;
  const CpuPoolFixture fixture;
  for (const auto& [name, cpus] :
       {std::pair{"eth1", "8-15"}, std::pair{"eth1v0", "8-11"}, std::pair{"0000:17:00.0", "8-15"},
        std::pair{"0000:17:01.0", "8-11"}, std::pair{"nvme0n1", "0-3"}, std::pair{"nvme0n1p1", "0-3"}}) {
    CAPTURE(name);
    const auto near = value_of(find_near(fixture.state(), {name}, sysfs.root()));
    CHECK(near.front().to_string() == cpus);
  }
  const auto several = value_of(find_near(fixture.state(), {"nvme0n1", "eth1v0"}, sysfs.root()));
  CHECK(several == std::vector{CpuSet{0, 1, 2, 3}, CpuSet{8, 9, 10, 11}});
}

TEST_CASE("devices that are nowhere, or not there, are refused by their position in the list") {
  const Sysfs sysfs;
  const CpuPoolFixture fixture;
  for (const auto& [name, problem] :
       {std::pair{"lo", "lo is not attached to any CPUs"}, std::pair{"loop0", "loop0 is not attached to any CPUs"},
        std::pair{"eth2", "eth2 is not attached to any CPUs"},
        std::pair{"0000:19:00.0", "0000:19:00.0 is not attached to any CPUs"},
        std::pair{"gone", "there is no device gone"}, std::pair{"eth9", "there is no device eth9"},
        std::pair{"../net/eth1", "is not the name of a device"}, std::pair{"..", "is not the name of a device"},
        std::pair{"", "is not the name of a device"}, std::pair{"node:2", "there is no NUMA node 2 with CPUs"},
        std::pair{"node:x", "there is no NUMA node x with CPUs"}, std::pair{"cpu:16", "there is no CPU 16"},
        std::pair{"workload:7", "there is no workload 7"}}) {
    CAPTURE(name);
    const Error refused = error_of(find_near(fixture.state(), {"eth1", name}, sysfs.root()));
    CHECK(refused.code == ErrorCode::BadRequest);
    CHECK(refused.field == "/cpu/near/1");
    CHECK(refused.message == problem);
  }
}

TEST_CASE("nodes, CPUs and workloads are near the online CPUs around them") {
  CpuPoolFixture fixture;
  REQUIRE(fixture.create(for_cpus({.pool = "fast", .cpus = CpuSet{10}})));
  fixture.hardware.facts.rdt.online.remove(CpuId{15});
  fixture.transaction->repair();
  for (const auto& [name, cpus] : {std::pair{"node:0", "0-7"}, std::pair{"node:1", "8-14"}, std::pair{"cpu:3", "0-7"},
                                   std::pair{"cpu:15", "8-14"}, std::pair{"workload:1", "8-14"}}) {
    CAPTURE(name);
    const auto near = value_of(find_near(fixture.state(), {name}));
    CHECK(near.front().to_string() == cpus);
  }
}

}  // namespace nrd::resolve_near_test
