#include "hw/onload/interface_settings.h"

#include <doctest/doctest.h>

#include <ostream>

#include "tests/unit/hw_onload/cards.h"

namespace nrd::onload::interface_settings_test {

using nrd::testing::Cards;

namespace {

constexpr const char* kDevice = "sys/devices/pci0000:00/0000:00:02.0/0000:01:00.0";
constexpr const char* kRegister = "sys/module/sfc_resource/afxdp/register";
constexpr const char* kUnregister = "sys/module/sfc_resource/afxdp/unregister";

void add_cards(Cards& cards) {
  cards.solarflare("enp1s0f0", "0000:01:00.0", "00:0f:53:00:00:01");
  cards.virtual_one("eth0");
  cards.put(kRegister, "");
  cards.put(kUnregister, "");
}

}  // namespace

TEST_CASE("interface names are short and stay in their directory") {
  for (const char* name : {"e", "enp1s0f0np0", "eth0.100", "123456789012345"}) CHECK(is_interface_name(name));
  for (const char* name : {"", ".", "..", "a/b", "a b", "a\n", "a:1", "1234567890123456"}) {
    INFO("\"" << name << "\"");
    CHECK_FALSE(is_interface_name(name));
  }
}

TEST_CASE("the acceleration setting is found on the device or one below it") {
  for (const char* place : {"/sfc_resource/enable", "/sfc.onload.1/sfc_resource/enable"}) {
    INFO(place);
    Cards cards;
    add_cards(cards);
    CHECK(read_acceleration(cards.root(), "enp1s0f0") == std::nullopt);
    cards.put(std::string(kDevice) + place, "1\n");
    CHECK(read_acceleration(cards.root(), "enp1s0f0") == true);
    CHECK(write_acceleration(cards.root(), "enp1s0f0", SwitchState::Off).has_value());
    CHECK(cards.get(std::string(kDevice) + place) == "0\n");
    CHECK(read_acceleration(cards.root(), "enp1s0f0") == false);
    CHECK(write_acceleration(cards.root(), "enp1s0f0", SwitchState::On).has_value());
    CHECK(cards.get(std::string(kDevice) + place) == "1\n");
  }
}

TEST_CASE("an unknown setting is not reported, and one that does not change is an error") {
  Cards cards;
  add_cards(cards);
  const std::string enable = std::string(kDevice) + "/sfc_resource/enable";
  for (const char* text : {"", "1", "2\n", "on\n"}) {
    cards.put(enable, text);
    CHECK(read_acceleration(cards.root(), "enp1s0f0") == std::nullopt);
  }
  cards.put(enable, "1\n\n");  // more lines than one, also after the first is written
  CHECK(write_acceleration(cards.root(), "enp1s0f0", SwitchState::Off).error().code == ErrorCode::Hardware);
  CHECK(write_acceleration(cards.root(), "eth0", SwitchState::Off).error().code == ErrorCode::NotFound);
  CHECK(write_acceleration(cards.root(), "eth7", SwitchState::Off).error().code == ErrorCode::NotFound);
  CHECK(write_acceleration(cards.root(), "../net/eth0", SwitchState::Off).error().code == ErrorCode::BadRequest);
}

TEST_CASE("interfaces served by Onload are registered unless they are Solarflare's") {
  Cards cards;
  add_cards(cards);
  CHECK_FALSE(is_registered(cards.root(), "eth0"));
  cards.folder("proc/driver/sfc_resource/devices/eth0");
  cards.folder("proc/driver/sfc_resource/devices/enp1s0f0");
  CHECK(is_registered(cards.root(), "eth0"));
  CHECK_FALSE(is_registered(cards.root(), "enp1s0f0"));
}

TEST_CASE("an interface whose map was pinned before is not yet registered") {
  Cards cards;
  add_cards(cards);
  cards.put("sys/fs/bpf/onload_xdp_xsk_eth0", "");
  CHECK_FALSE(is_registered(cards.root(), "eth0"));
}

TEST_CASE("a card of Solarflare is registered where the module leaves such cards to AF_XDP") {
  Cards cards;
  add_cards(cards);
  cards.folder("proc/driver/sfc_resource/devices/enp1s0f0");
  cards.put("sys/module/sfc_resource/parameters/enable_driverlink", "1\n");
  CHECK_FALSE(is_registered(cards.root(), "enp1s0f0"));
  cards.put("sys/module/sfc_resource/parameters/enable_driverlink", "0\n");
  CHECK(is_registered(cards.root(), "enp1s0f0"));
  cards.put(std::string(kDevice) + "/sfc_resource/enable", "1\n");  // attached before the parameter changed
  CHECK_FALSE(is_registered(cards.root(), "enp1s0f0"));
}

TEST_CASE("registering writes a whole line and checks the result") {
  Cards cards;
  add_cards(cards);
  CHECK(write_registration(cards.root(), "eth0", SwitchState::On).error().code == ErrorCode::Hardware);
  CHECK(cards.get(kRegister) == "eth0\n");
  cards.folder("proc/driver/sfc_resource/devices/eth0");
  cards.put(kRegister, "");
  CHECK(write_registration(cards.root(), "eth0", SwitchState::On).has_value());
  CHECK(cards.get(kRegister) == "eth0\n");
  CHECK(write_registration(cards.root(), "eth0", SwitchState::Off).error().code == ErrorCode::Hardware);
  CHECK(cards.get(kUnregister) == "eth0\n");
  cards.remove("proc/driver/sfc_resource/devices/eth0");
  CHECK(write_registration(cards.root(), "eth0", SwitchState::Off).has_value());
}

TEST_CASE("without module, interface or valid name nothing is written") {
  Cards cards;
  add_cards(cards);
  CHECK(write_registration(cards.root(), "eth7", SwitchState::On).error().code == ErrorCode::NotFound);
  CHECK(write_registration(cards.root(), "eth0\neth1", SwitchState::On).error().code == ErrorCode::BadRequest);
  CHECK(write_registration(cards.root(), "eth0 4", SwitchState::Off).error().code == ErrorCode::BadRequest);
  CHECK(cards.get(kRegister).empty());
  CHECK(cards.get(kUnregister).empty());
  cards.remove(kRegister);
  CHECK(write_registration(cards.root(), "eth0", SwitchState::On).error().code == ErrorCode::NotFound);
}

}  // namespace nrd::onload::interface_settings_test
