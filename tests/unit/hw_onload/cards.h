// Network cards of a made-up node.
#pragma once

#include <string>

#include "tests/unit/hw_onload/tree.h"

namespace nrd::testing {

class Cards : public Tree {
 public:
  Cards() { put("proc/net/route", kHeading); }

  static std::string net(const std::string& name, const std::string& file = "") {
    return "sys/class/net/" + name + "/" + file;
  }
  // A card of Solarflare under the driver sfc.
  void solarflare(const std::string& name, const std::string& pci, const std::string& mac) {
    const std::string device = "sys/devices/pci0000:00/0000:00:02.0/" + pci;
    put(device + "/vendor", "0x1924\n");
    put(device + "/sriov_numvfs", "0\n");
    folder("sys/bus/pci/drivers/sfc");
    link("sys/bus/pci/drivers/sfc/module", path("sys/module/sfc"));
    put("sys/module/sfc/version", "6.4.0.1002\n");
    link(device + "/driver", path("sys/bus/pci/drivers/sfc"));
    link(net(name, "device"), path(device));
    put(net(name, "address"), mac + "\n");
    put(net(name, "operstate"), "up\n");
    put(net(name, "speed"), "25000\n");
  }
  // One that is on no bus: a bond, a bridge, lo.
  void virtual_one(const std::string& name) {
    put(net(name, "address"), "02:00:00:00:00:01\n");
    put(net(name, "operstate"), "unknown\n");
    put(net(name, "speed"), "-1\n");
  }
  void default_route(const std::string& name) {
    put("proc/net/route", std::string(kHeading) + name + "\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n");
  }

 private:
  static constexpr const char* kHeading = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\n";
};

}  // namespace nrd::testing
