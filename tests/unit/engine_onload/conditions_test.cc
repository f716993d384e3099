#include "engine/onload/conditions.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <ostream>

#include "engine/onload/view.h"
#include "tests/unit/engine_onload/fake_node.h"

using namespace nrd::testing;

namespace {

using Status = Condition::Status;
const Time kNow{std::chrono::milliseconds(5000)};

// A node on which all is well.
View well() {
  FakeNode node;
  node.put(a_release("9.0"));
  View view;
  view.target = a_release("9.0");
  view.generations = {
      {.number = 1, .desired = {.state = State::Loaded, .version = "9.0"}, .verdict = Verdict::Verified}};
  view.operations = {{.id = 1, .generation = 1, .outcome = nrd::onload::Outcome::Succeeded}};
  view.seen = node.seen;
  view.seen.current = "9.0";
  view.seen.library_fits = true;
  view.seen.interfaces = {{.name = "eth0", .operstate = "up", .accelerated = true}};
  view.door_open = true;
  return view;
}

std::string told(const View& view, const char* type) {
  const auto conditions = conditions_of(view, {}, kNow);
  const auto found = std::ranges::find(conditions, type, &Condition::type);
  REQUIRE(found != conditions.end());
  const char* status = found->status == Status::True ? "True " : found->status == Status::False ? "False " : "Unknown ";
  return status + found->reason;
}

struct Row {
  const char* type;
  std::function<void(View&)> change;
  const char* expected;
};

}  // namespace

TEST_CASE("where all is well each condition says so") {
  const View view = well();
  for (const auto& [type, expected] : {std::pair{"Loaded", "True Loaded"},
                                       {"VersionMatch", "True AsWanted"},
                                       {"UserspaceMatch", "True SameInterface"},
                                       {"ControlPlaneReady", "True Running"},
                                       {"DevicesReady", "True Ready"},
                                       {"NicAvailable", "True Available"},
                                       {"Verified", "True Verified"},
                                       {"Frozen", "False NotFrozen"},
                                       {"Progressing", "False NothingToDo"},
                                       {"Drifted", "False AsWanted"},
                                       {"RebootRequired", "False NotNeeded"},
                                       {"DoorOpen", "True Open"}}) {
    CHECK(told(view, type) == expected);
  }
  CHECK(conditions_of(view, {}, kNow).size() == 12);
}

TEST_CASE("each condition tells what is not so") {
  const auto fails = [](View& view, const char* cause) {
    view.operations.back().outcome = nrd::onload::Outcome::RolledBack;
    view.operations.back().cause = cause;
    view.operations.back().steps = {{.act = Act::Remove, .subject = "onload", .cause = cause}};
  };
  const Row rows[] = {
      {"Loaded", [](View& v) { v.seen.modules.erase("onload"); }, "False NotLoaded"},
      {"Loaded", [](View& v) { v.seen.modules["onload"].state = ModuleState::Going; }, "False NotLive"},
      {"VersionMatch", [](View& v) { v.seen.modules["sfc_char"].build_id = "x"; }, "False OtherModule"},
      {"VersionMatch", [](View& v) { v.seen.modules.erase("sfc_char"); }, "False NotLoaded"},
      {"VersionMatch", [](View& v) { v.target.reset(); }, "Unknown NothingWanted"},
      {"UserspaceMatch", [](View& v) { v.seen.library_fits = false; }, "False OtherInterface"},
      {"UserspaceMatch", [](View& v) { v.seen.library_fits.reset(); }, "Unknown NothingToCompare"},
      {"ControlPlaneReady", [](View& v) { v.seen.servers.clear(); }, "False NoServer"},
      {"ControlPlaneReady", [](View& v) { v.target->modules.back().parameters["cplane_server_path"] = "/b"; },
       "False OtherServer"},
      {"DevicesReady",
       [](View& v) {
         v.seen.devices.front().node->number = DeviceNumber{1, 1};
       },
       "False WrongNode"},
      {"DevicesReady", [](View& v) { v.seen.devices.front().node->access.mode = 0600; }, "False WrongNode"},
      {"DevicesReady", [](View& v) { v.seen.devices.front().node->access.gid = 7; }, "False WrongNode"},
      {"DevicesReady", [](View& v) { v.seen.devices.front().node.reset(); }, "False WrongNode"},
      {"NicAvailable", [](View& v) { v.seen.interfaces.clear(); }, "False NoInterface"},
      {"NicAvailable", [](View& v) { v.seen.interfaces.front().accelerated = false; }, "False SwitchedOff"},
      {"NicAvailable", [](View& v) { v.seen.interfaces.front().operstate = "down"; }, "False NoLink"},
      {"NicAvailable", [](View& v) { v.seen.interfaces = {{.name = "a", .operstate = "up", .afxdp = true}}; },
       "True Available"},
      {"Verified", [&](View& v) { fails(v, "interface_changed"); }, "False InterfaceChanged"},
      {"Verified", [](View& v) { v.operations.back().outcome = nrd::onload::Outcome::Running; }, "Unknown UnderWay"},
      {"Frozen",
       [](View& v) {
         v.freeze = {true, "trading"};
       },
       "True Frozen"},
      {"Progressing", [](View& v) { v.operations.back().outcome = nrd::onload::Outcome::Running; }, "True UnderWay"},
      {"Drifted", [](View& v) { v.drift = "onload is another one"; }, "True ChangedByOthers"},
      {"Drifted", [](View& v) { v.problem = "no /sys"; }, "Unknown Unreadable"},
      {"RebootRequired", [&](View& v) { fails(v, "in_transition"); }, "True ModuleStuck"},
      {"RebootRequired", [&](View& v) { fails(v, "in_use"); }, "False NotNeeded"},
      {"RebootRequired",
       [&](View& v) {
         fails(v, "in_transition");
         v.seen.modules.clear();  // after the boot
       },
       "False NotNeeded"},
      {"DoorOpen", [](View& v) { v.door_open = false; }, "False Shut"}};
  for (const Row& row : rows) {
    View view = well();
    row.change(view);
    CAPTURE(row.type);
    CHECK(told(view, row.type) == row.expected);
  }
}

TEST_CASE("nodes with another mode are no fault while the door is shut on purpose") {
  View view = well();
  view.door_open = false;
  view.seen.devices.front().node->access.mode = 0;
  CHECK(told(view, "DevicesReady") == "True Ready");
}

TEST_CASE("a condition keeps the time of its last change") {
  View view = well();
  const auto first = conditions_of(view, {}, kNow);
  const Time later = kNow + std::chrono::seconds(9);
  view.freeze.frozen = true;
  for (const Condition& condition : conditions_of(view, first, later)) {
    CHECK(condition.last_transition == (condition.type == "Frozen" ? later : kNow));
  }
}
