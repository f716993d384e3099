#include "daemon/cpu_events.h"

#include <doctest/doctest.h>

#include <string>

namespace nrd::daemon::cpu_events_test {
namespace {

// As the kernel sends it, with '|' for the zero that ends each part.
std::optional<CpuId> cpu_of(std::string text) {
  for (char& c : text) {
    if (c == '|') c = '\0';
  }
  return cpu_of_uevent(text);
}

}  // namespace

TEST_CASE("a CPU is identified by the last component of its device path") {
  for (const std::string action : {"online", "offline", "add", "remove"}) {
    CAPTURE(action);
    CHECK(cpu_of(action + "@/devices/system/cpu/cpu13|ACTION=" + action +
                 "|DEVPATH=/devices/system/cpu/cpu13|SUBSYSTEM=cpu|SEQNUM=843|") == CpuId{13});
  }
  // The order is the kernel's affair, and the last zero may be missing.
  CHECK(cpu_of("add@x|SUBSYSTEM=cpu|DEVPATH=/devices/system/cpu/cpu0|ACTION=add") == CpuId{0});
}

TEST_CASE("other messages are ignored") {
  const std::string path = "|DEVPATH=/devices/system/cpu/cpu3";
  for (const std::string& message : {
           std::string(),
           std::string("|"),
           std::string("online@/devices/system/cpu/cpu3"),
           "change@|ACTION=change" + path + "|SUBSYSTEM=cpu|",
           "bind@|ACTION=bind" + path + "|SUBSYSTEM=cpu|",
           "online@|ACTION=online" + path + "|SUBSYSTEM=memory|",
           "online@|ACTION=online" + path + "|",
           "online@|" + path + "|SUBSYSTEM=cpu|",
           std::string("online@|ACTION=online|SUBSYSTEM=cpu|"),
           std::string("online@|ACTION=online|DEVPATH=/devices/system/cpu/cpu|SUBSYSTEM=cpu|"),
           std::string("online@|ACTION=online|DEVPATH=/devices/system/cpu/cpu3x|SUBSYSTEM=cpu|"),
           std::string("online@|ACTION=online|DEVPATH=/devices/system/cpu/cpu-1|SUBSYSTEM=cpu|"),
           std::string("online@|ACTION=online|DEVPATH=/devices/system/cpu/cpu8192|SUBSYSTEM=cpu|"),
           std::string("online@|ACTION=online|DEVPATH=/devices/system/cpu/cpu99999999999|SUBSYSTEM=cpu|"),
       }) {
    CAPTURE(message);
    CHECK_FALSE(cpu_of(message));
  }
}

}  // namespace nrd::daemon::cpu_events_test
