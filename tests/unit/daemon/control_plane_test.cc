#include "daemon/onload/control_plane.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <functional>
#include <string>

#include "hw/onload/module_state.h"
#include "tests/unit/hw_onload/tree.h"

namespace nrd::onload::control_plane_test {

using nrd::testing::Tree;

namespace {

constexpr const char* kPids = "proc/driver/onload/cp_server_pids";

// A clock whose every reading may change the node, as the module does during a wait. At the twentieth an hour has
// passed.
class Readings final : public Clock {
 public:
  explicit Readings(std::function<void(int)> at_reading) : at_reading_(std::move(at_reading)) {}
  std::chrono::system_clock::time_point now() const override { return {}; }
  std::chrono::steady_clock::time_point steady() const override {
    at_reading_(++readings_);
    return std::chrono::steady_clock::time_point(readings_ < 20 ? std::chrono::hours(0) : std::chrono::hours(1));
  }
  int readings() const { return readings_; }

 private:
  std::function<void(int)> at_reading_;
  mutable int readings_ = 0;
};

// Files of parameters take values of the same length only: nothing ends them but what was there.
class Plane : public Tree {
 public:
  Plane() {
    load("onload");
    set("cplane_spawn_server", "N");
    set("cplane_server_params", "-K");
    put("proc/uptime", "160.52 1.00\n");
    put(kPids, "");
  }
  void set(const std::string& name, const std::string& value) {
    put(module("onload", "parameters/" + name), value + "\n");
  }
  std::string parameter(const std::string& name) const {
    const std::string text = get(module("onload", "parameters/" + name));
    return text.substr(0, text.find('\n'));
  }
  void serve(const std::string& pids) {
    for (const char* pid : {"300", "301"}) {
      const std::string process = "proc/" + std::string(pid) + "/";
      put(process + "stat",
          std::string(pid) + " (onload_cp_serve) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 77 20\n");
      link(process + "exe", "/x/onload_cp_server");
      link(process + "ns/net", "net:[4026531833]");
    }
    put(kPids, pids);
  }
};

}  // namespace

TEST_CASE("a change of the command line ends once the new server runs and the old one has exited") {
  Plane plane;
  plane.set("cplane_spawn_server", "Y");
  plane.serve("300\n");
  const Readings clock([&](int reading) {
    if (reading == 3) plane.serve("300\n301\n");
    if (reading == 5) plane.serve("301\n");
  });
  CHECK(daemon::set_onload_parameter(plane.root(), "cplane_server_params", "-s", clock));
  CHECK(plane.parameter("cplane_server_params") == "-s");
  CHECK(clock.readings() >= 5);
}

TEST_CASE("a server that does not start is an error, one kept because it is in use is not") {
  Plane plane;
  plane.set("cplane_spawn_server", "Y");
  plane.serve("300\n");
  const Readings stays([](int) {});
  CHECK(daemon::set_onload_parameter(plane.root(), "cplane_server_params", "-s", stays));
  const Readings ends([&](int reading) {
    if (reading == 2) plane.serve("");
  });
  const auto failed = daemon::set_onload_parameter(plane.root(), "cplane_server_params", "-K", ends);
  REQUIRE_FALSE(failed);
  CHECK(failed.error().cause == "control_plane");
}

TEST_CASE("no server is awaited if the module starts none or keeps the change for the next one") {
  const Readings never([](int) { FAIL("it was waited for"); });
  Plane plane;
  CHECK(daemon::set_onload_parameter(plane.root(), "cplane_server_params", "-s", never));
  plane.set("cplane_server_grace_timeout", "0");
  CHECK(daemon::set_onload_parameter(plane.root(), "cplane_spawn_server", "Y", never));
  plane.set("cplane_server_grace_timeout", "30");
  plane.put("proc/driver/onload/stacks_ul", "3: 4242 1000 0 0\n");
  CHECK(daemon::set_onload_parameter(plane.root(), "cplane_server_params", "-K", never));
  CHECK(daemon::set_onload_parameter(plane.root(), "cplane_spawn_server", "N", never));
}

TEST_CASE("the module's own time-out applies, within bounds") {
  Plane plane;
  plane.set("cplane_spawn_server", "Y");
  const auto timeout = [&] {
    return daemon::server_timeout(**read_module(plane.root(), "onload")).value_or(std::chrono::seconds(0)).count();
  };
  CHECK(timeout() == 10);
  for (const auto& [found, seconds] :
       {std::pair("2", 2), std::pair("-1", 10), std::pair("600", 30), std::pair("x", 10)}) {
    plane.set("cplane_init_timeout", found);
    CHECK(timeout() == seconds);
  }
}

}  // namespace nrd::onload::control_plane_test
