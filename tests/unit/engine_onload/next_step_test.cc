#include "engine/onload/next_step.h"

#include <doctest/doctest.h>

#include <ostream>

#include "tests/unit/engine_onload/fake_host.h"

using namespace nrd::testing;

namespace {

using Names = std::vector<std::string>;

Seen loaded(const Target& target) {
  FakeNode node;
  node.put(target);
  return node.seen;
}

}  // namespace

TEST_CASE("modules are removed from the top, and none that may stay") {
  const Target old = a_release("8.1"), now = a_release("9.0");
  CHECK(removals(old, loaded(old)).empty());
  CHECK(removals(now, loaded(old)) == Names{"onload", "sfc_char", "sfc_resource"});
  Target partly = old;
  partly.modules[1].build_id = "another";
  CHECK(removals(partly, loaded(old)) == Names{"onload", "sfc_char"});
  CHECK(removals(nothing(), loaded(old)) == Names{"onload", "sfc_char", "sfc_resource"});
  CHECK(removals({.state = State::Unmanaged}, loaded(old)).empty());
}

TEST_CASE("the driver of the interfaces is left alone unless it is managed, and then goes last") {
  const Seen seen = loaded(a_release("8.1", Sfc::Managed));
  CHECK(removals(nothing(), seen) == Names{"onload", "sfc_char", "sfc_resource"});
  CHECK(removals(nothing(Sfc::Managed), seen) == Names{"onload", "sfc_char", "sfc_resource", "sfc"});
  // Only the driver is another one, but it must not be taken from under onload.
  Target driver = a_release("8.1", Sfc::Managed);
  driver.modules[0].build_id = "another";
  CHECK(removals(driver, seen) == Names{"onload", "sfc_char", "sfc_resource", "sfc"});
}

TEST_CASE("modules of releases long gone are removed as well") {
  Seen seen = loaded(a_release("8.1"));
  seen.modules["onload_cplane"] = {.name = "onload_cplane", .build_id = "x"};
  CHECK(removals(a_release("8.1"), seen) == Names{"onload", "onload_cplane"});
}

TEST_CASE("a parameter that can be set live is, one that cannot needs a reload") {
  Target target = a_release("8.1");
  Seen seen = loaded(target);
  target.modules[2].parameters["cplane_server_params"] = "-K -s";
  const RunState idle{};
  CHECK(next_step(target, seen, idle) == NextStep{Act::SetParameter, "onload.cplane_server_params", "-K -s"});
  seen.modules["onload"].parameters["cplane_server_params"].writable = false;
  CHECK(next_step(target, seen, idle) == NextStep{Act::CloseDoor, {}, {}});
  CHECK(removals(target, seen) == Names{"onload"});
  seen.modules["onload"].parameters["cplane_server_params"].value = "-K -s";
  CHECK(next_step(target, seen, {.verified = true}) == std::nullopt);
}

TEST_CASE("nothing is removed before the door is closed, users have ended and the control plane has stopped") {
  const Target target = nothing();
  Seen seen = loaded(a_release("8.1"));
  CHECK(next_step(target, seen, {}) == NextStep{Act::CloseDoor, {}, {}});
  CHECK(next_step(target, seen, {.door_closed = true}) == NextStep{Act::EndUsers, {}, {}});
  CHECK(next_step(target, seen, {.users_ended = true, .door_closed = true}) == NextStep{Act::StopControlPlane, {}, {}});
  seen.servers.clear();
  CHECK(next_step(target, seen, {.users_ended = true, .door_closed = true}) == NextStep{Act::Remove, "onload", {}});
  seen.modules.clear();
  CHECK(next_step(target, seen, {.users_ended = true, .door_to_open = true}) == NextStep{Act::OpenDoor, {}, {}});
  CHECK(next_step(target, seen, {}) == std::nullopt);
}

TEST_CASE("files are switched between the last removal and the first insertion") {
  Seen seen;
  seen.current = "8.1";
  const Target target = a_release("9.0");
  CHECK(next_step(target, seen, {}) == NextStep{Act::Switch, "9.0", {}});
  seen.current = "9.0";
  CHECK(next_step(target, seen, {}) == NextStep{Act::Insert, "sfc_resource", {}});
}

TEST_CASE("a door that an operation before left shut is opened at the end") {
  const Target target = a_release("8.1");
  Seen seen = loaded(target);
  seen.devices = {
      {.name = "onload", .number = DeviceNumber{240, 0}, .node = NodeFile{DeviceNumber{240, 0}, {0, 0, 0}}}};
  CHECK(next_step(target, seen, {}) == NextStep{Act::Verify, {}, {}});
  CHECK(next_step(target, seen, {.verified = true}) == NextStep{Act::OpenDoor, {}, {}});
  seen.devices.front().node->access.mode = 0666;
  CHECK(next_step(target, seen, {.verified = true}) == std::nullopt);
}
