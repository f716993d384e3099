#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <ostream>

#include "engine/onload/status.h"
#include "tests/unit/engine_onload/fake_host.h"

namespace nrd::onload::conditions_test {

namespace {

const Time kNow{std::chrono::milliseconds(5000)};

// A node on which all is well.
Status well() {
  FakeNode node;
  node.put(a_release("9.0"));
  Status status;
  status.target = a_release("9.0");
  status.generations = {
      {.number = 1, .spec = {.state = State::Loaded, .version = "9.0"}, .verdict = Verdict::Verified}};
  status.operations = {{.id = 1, .generation = 1, .outcome = nrd::onload::Outcome::Succeeded}};
  status.observed = node.observed;
  status.observed.current = "9.0";
  status.observed.library_fits = true;
  status.observed.interfaces = {{.name = "eth0", .operstate = "up", .accelerated = true}};
  status.device_access_open = true;
  return status;
}

std::string listed(const Status& status, const char* type) {
  const auto conditions = conditions_of(status, {}, kNow);
  const auto found = std::ranges::find(conditions, type, &Condition::type);
  REQUIRE(found != conditions.end());
  const char* value = found->status == Condition::Status::True    ? "True "
                      : found->status == Condition::Status::False ? "False "
                                                                  : "Unknown ";
  return value + found->reason;
}

struct Row {
  const char* type;
  std::function<void(Status&)> change;
  const char* expected;
};

}  // namespace

TEST_CASE("all conditions are good on a healthy node") {
  const Status status = well();
  for (const auto& [type, expected] : {std::pair{"Loaded", "True Loaded"},
                                       {"VersionMatch", "True Matches"},
                                       {"UserspaceMatch", "True SameInterface"},
                                       {"ControlPlaneReady", "True Running"},
                                       {"DevicesReady", "True Ready"},
                                       {"NicAvailable", "True Available"},
                                       {"Verified", "True Verified"},
                                       {"Frozen", "False NotFrozen"},
                                       {"Progressing", "False Idle"},
                                       {"Drifted", "False NoDrift"},
                                       {"RebootRequired", "False NotNeeded"},
                                       {"DeviceAccessOpen", "True Open"}}) {
    CHECK(listed(status, type) == expected);
  }
  CHECK(conditions_of(status, {}, kNow).size() == 12);
}

TEST_CASE("each condition reports its fault") {
  const auto fails = [](Status& status, const char* cause) {
    status.operations.back().outcome = nrd::onload::Outcome::RolledBack;
    status.operations.back().cause = cause;
    status.operations.back().steps = {{.act = Act::Remove, .subject = "onload", .cause = cause}};
  };
  const Row rows[] = {
      {"Loaded", [](Status& v) { v.observed.modules.erase("onload"); }, "False NotLoaded"},
      {"Loaded", [](Status& v) { v.observed.modules["onload"].state = ModuleState::Going; }, "False NotLive"},
      {"VersionMatch", [](Status& v) { v.observed.modules["sfc_char"].build_id = "x"; }, "False OtherModule"},
      {"VersionMatch", [](Status& v) { v.observed.modules.erase("sfc_char"); }, "False NotLoaded"},
      {"VersionMatch", [](Status& v) { v.target.reset(); }, "Unknown NotRequested"},
      {"UserspaceMatch", [](Status& v) { v.observed.library_fits = false; }, "False OtherInterface"},
      {"UserspaceMatch", [](Status& v) { v.observed.library_fits.reset(); }, "Unknown NotComparable"},
      {"ControlPlaneReady", [](Status& v) { v.observed.servers.clear(); }, "False NoServer"},
      {"ControlPlaneReady", [](Status& v) { v.target->modules.back().parameters["cplane_server_path"] = "/b"; },
       "False OtherServer"},
      {"DevicesReady",
       [](Status& v) {
         v.observed.devices.front().node->number = DeviceNumber{1, 1};
       },
       "False WrongDevice"},
      {"DevicesReady", [](Status& v) { v.observed.devices.front().node->access.mode = 0600; }, "False WrongDevice"},
      {"DevicesReady", [](Status& v) { v.observed.devices.front().node->access.gid = 7; }, "False WrongDevice"},
      {"DevicesReady", [](Status& v) { v.observed.devices.front().node.reset(); }, "False WrongDevice"},
      {"NicAvailable", [](Status& v) { v.observed.interfaces.clear(); }, "False NoInterface"},
      {"NicAvailable", [](Status& v) { v.observed.interfaces.front().accelerated = false; }, "False Disabled"},
      {"NicAvailable", [](Status& v) { v.observed.interfaces.front().operstate = "down"; }, "False NoLink"},
      {"NicAvailable", [](Status& v) { v.observed.interfaces = {{.name = "a", .operstate = "up", .afxdp = true}}; },
       "True Available"},
      {"Verified", [&](Status& v) { fails(v, "interface_changed"); }, "False InterfaceChanged"},
      {"Verified",
       [&](Status& v) {
         fails(v, "in_use");  // users that did not end
         v.operations.back().kind = OperationKind::Drain;
       },
       "True Verified"},
      {"Verified", [](Status& v) { v.operations.back().outcome = nrd::onload::Outcome::Running; },
       "Unknown InProgress"},
      {"Frozen",
       [](Status& v) {
         v.freeze = {true, "trading"};
       },
       "True Frozen"},
      {"Progressing", [](Status& v) { v.operations.back().outcome = nrd::onload::Outcome::Running; },
       "True InProgress"},
      {"Drifted", [](Status& v) { v.drift = "onload was loaded from an unexpected file"; }, "True ChangedByOthers"},
      {"Drifted", [](Status& v) { v.problem = "no /sys"; }, "Unknown Unreadable"},
      {"RebootRequired", [&](Status& v) { fails(v, "in_transition"); }, "True ModuleStuck"},
      {"RebootRequired", [&](Status& v) { fails(v, "in_use"); }, "False NotNeeded"},
      {"RebootRequired",
       [&](Status& v) {
         fails(v, "in_transition");
         v.observed.modules.clear();  // after the boot
       },
       "False NotNeeded"},
      {"DeviceAccessOpen", [](Status& v) { v.device_access_open = false; }, "False Closed"}};
  for (const Row& row : rows) {
    Status status = well();
    row.change(status);
    CAPTURE(row.type);
    CHECK(listed(status, row.type) == row.expected);
  }
}

TEST_CASE("device modes are not checked while access is closed on purpose") {
  Status status = well();
  status.device_access_open = false;
  status.observed.devices.front().node->access.mode = 0;
  CHECK(listed(status, "DevicesReady") == "True Ready");
}

TEST_CASE("a condition keeps the time of its last transition") {
  Status status = well();
  const auto first = conditions_of(status, {}, kNow);
  const Time later = kNow + std::chrono::seconds(9);
  status.freeze.frozen = true;
  for (const Condition& condition : conditions_of(status, first, later)) {
    CHECK(condition.last_transition == (condition.type == "Frozen" ? later : kNow));
  }
}

}  // namespace nrd::onload::conditions_test
