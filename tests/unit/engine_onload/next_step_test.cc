#include "engine/onload/next_step.h"

#include <doctest/doctest.h>

#include <ostream>

#include "tests/unit/engine_onload/fake_host.h"

namespace nrd::onload::next_step_test {

namespace {

using Names = std::vector<std::string>;

ObservedState loaded(const Target& target) {
  FakeNode node;
  node.put(target);
  return node.observed;
}

}  // namespace

TEST_CASE("modules are removed in unload order, and unaffected ones stay") {
  const Target old = a_release("8.1"), now = a_release("9.0");
  CHECK(removals(old, loaded(old)).empty());
  CHECK(removals(now, loaded(old)) == Names{"onload", "sfc_char", "sfc_resource"});
  Target partly = old;
  partly.modules[1].build_id = "another";
  CHECK(removals(partly, loaded(old)) == Names{"onload", "sfc_char"});
  CHECK(removals(nothing(), loaded(old)) == Names{"onload", "sfc_char", "sfc_resource"});
  CHECK(removals({.state = State::Unmanaged}, loaded(old)).empty());
}

TEST_CASE("the network driver is kept unless it is managed, and then removed last") {
  const ObservedState observed = loaded(a_release("8.1", Sfc::Managed));
  CHECK(removals(nothing(), observed) == Names{"onload", "sfc_char", "sfc_resource"});
  CHECK(removals(nothing(Sfc::Managed), observed) == Names{"onload", "sfc_char", "sfc_resource", "sfc"});
  // Only the driver was loaded from an unexpected file, but it must not be taken from under onload.
  Target driver = a_release("8.1", Sfc::Managed);
  driver.modules[0].build_id = "another";
  CHECK(removals(driver, observed) == Names{"onload", "sfc_char", "sfc_resource", "sfc"});
}

TEST_CASE("a driver that only old releases have is kept with the interfaces it provides") {
  ObservedState observed = loaded(a_release("8.1"));
  observed.modules["sfc_ef100"] = {.name = "sfc_ef100", .build_id = "x"};
  CHECK(removals(a_release("8.1"), observed).empty());
  CHECK(removals(nothing(), observed) == Names{"onload", "sfc_char", "sfc_resource"});
}

TEST_CASE("modules of old releases are removed as well") {
  ObservedState observed = loaded(a_release("8.1"));
  observed.modules["onload_cplane"] = {.name = "onload_cplane", .build_id = "x"};
  CHECK(removals(a_release("8.1"), observed) == Names{"onload", "onload_cplane"});
}

TEST_CASE("a writable parameter is set live, others need a reload") {
  Target target = a_release("8.1");
  ObservedState observed = loaded(target);
  target.modules[2].parameters["cplane_server_params"] = "-K -s";
  const RunState idle{};
  CHECK(next_step(target, observed, idle) == NextStep{Act::SetParameter, "onload.cplane_server_params", "-K -s"});
  observed.modules["onload"].parameters["cplane_server_params"].writable = false;
  CHECK(next_step(target, observed, idle) == NextStep{Act::CloseDeviceAccess, {}, {}});
  CHECK(removals(target, observed) == Names{"onload"});
  observed.modules["onload"].parameters["cplane_server_params"].value = "-K -s";
  CHECK(next_step(target, observed, {.verified = true}) == std::nullopt);
}

TEST_CASE("modules are removed only after access is closed, users have ended and the control plane has stopped") {
  const Target target = nothing();
  ObservedState observed = loaded(a_release("8.1"));
  CHECK(next_step(target, observed, {}) == NextStep{Act::CloseDeviceAccess, {}, {}});
  CHECK(next_step(target, observed, {.access_closed = true}) == NextStep{Act::EndUsers, {}, {}});
  CHECK(next_step(target, observed, {.users_ended = true, .access_closed = true}) ==
        NextStep{Act::StopControlPlane, {}, {}});
  observed.servers.clear();
  CHECK(next_step(target, observed, {.users_ended = true, .access_closed = true}) ==
        NextStep{Act::Remove, "onload", {}});
  observed.modules.clear();
  CHECK(next_step(target, observed, {.users_ended = true, .access_to_open = true}) ==
        NextStep{Act::OpenDeviceAccess, {}, {}});
  CHECK(next_step(target, observed, {}) == std::nullopt);
}

TEST_CASE("files are switched between the last removal and the first insertion") {
  ObservedState observed;
  observed.current = "8.1";
  const Target target = a_release("9.0");
  CHECK(next_step(target, observed, {}) == NextStep{Act::Switch, "9.0", {}});
  observed.current = "9.0";
  CHECK(next_step(target, observed, {}) == NextStep{Act::Insert, "sfc_resource", {}});
}

TEST_CASE("device access left closed by an earlier operation is opened at the end") {
  const Target target = a_release("8.1");
  ObservedState observed = loaded(target);
  observed.devices = {
      {.name = "onload", .number = DeviceNumber{240, 0}, .node = NodeFile{DeviceNumber{240, 0}, {0, 0, 0}}}};
  CHECK(next_step(target, observed, {}) == NextStep{Act::Verify, {}, {}});
  CHECK(next_step(target, observed, {.verified = true}) == NextStep{Act::OpenDeviceAccess, {}, {}});
  observed.devices.front().node->access.mode = 0666;
  CHECK(next_step(target, observed, {.verified = true}) == std::nullopt);
}

}  // namespace nrd::onload::next_step_test
