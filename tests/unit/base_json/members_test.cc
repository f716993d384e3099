#include "base/json/members.h"

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "base/json/reader.h"

using namespace nrd;

namespace {

enum class Colour { Red, Green };

struct Lamp {
  enum class Unit { Watt, Lumen };
  uint32_t count = 0;
  uint32_t spare = 0;
  std::optional<uint32_t> light;
  Unit unit = Unit::Watt;
  std::string name;
  bool dimmed = false;
  Colour colour = Colour::Red;
  friend bool operator==(const Lamp&, const Lamp&) = default;
};

// Sent whole.
struct Room {
  std::string name;
  std::chrono::seconds stay{30};
  std::map<std::string, std::map<std::string, std::string>> lamps;
  std::vector<std::string> walls = {"north"};
  friend bool operator==(const Room&, const Room&) = default;
};

}  // namespace

template <>
inline constexpr auto nrd::json::kNames<Colour> =
    std::array{std::pair{Colour::Red, "red"}, std::pair{Colour::Green, "green"}};
template <>
inline constexpr const char* nrd::json::kExample<Lamp> = "an object such as {\"count\": 2}";
template <>
inline constexpr auto nrd::json::kFields<Lamp> = std::tuple(
    Field("count", &Lamp::count, {.expected = "a count", .least = 1, .most = 9, .unset = Unset::Null}),
    Field("spare", &Lamp::spare, {.expected = "a count", .unset = Unset::NullIsDefault}).or_default(),
    Field("watt", &Lamp::light, &Lamp::unit, Lamp::Unit::Watt, {.expected = "a number"}),
    Field("lumen", &Lamp::light, &Lamp::unit, Lamp::Unit::Lumen, {.expected = "a number", .unset = Unset::Empty}),
    Field("name", &Lamp::name, {.expected = "a short name", .most = 3}).or_default(),
    Field("dimmed", &Lamp::dimmed).or_default(), Field("colour", &Lamp::colour, {.unset = Unset::Null}).or_default());
template <>
inline constexpr auto nrd::json::kFields<Room> = std::tuple(
    Field("name", &Room::name, {.expected = "a name"}),
    Field("stay_seconds", &Room::stay, {.expected = "seconds", .most = 60, .required = false}).stored_as("stay"),
    Field("lamps", &Room::lamps, {.expected = "an object of lamps"}).or_default(),
    Field("walls", &Room::walls, {.expected = "an array of walls", .required = false}));

namespace {

Result<json::Partial<Lamp>> parsed(const std::string& text) {
  return json::parse_members<Lamp>(*json::parse(text), "/lamp");
}

std::string written(const Lamp& lamp) {
  json::Writer w;
  json::write_object(w, lamp);
  return w.take();
}

}  // namespace

TEST_CASE("the given members replace those of a struct and the others stay") {
  const auto some = parsed(R"({"lumen": 800, "name": "a", "dimmed": true, "colour": "green"})");
  REQUIRE(some);
  CHECK(has(*some, "lumen"));
  CHECK_FALSE(has(*some, "watt"));
  CHECK_FALSE(is_whole(*some));
  Lamp lamp{.count = 2, .light = 60};
  json::assign(*some, lamp);
  CHECK(
      lamp ==
      Lamp{.count = 2, .light = 800, .unit = Lamp::Unit::Lumen, .name = "a", .dimmed = true, .colour = Colour::Green});
}

TEST_CASE("null and empty values count as absent or as the default where the description says so") {
  CHECK(parsed(R"({"count": null, "lumen": 0, "colour": ""})")->given == 0);
  CHECK(parsed(R"({"colour": null, "lumen": []})")->given == 0);
  const auto some = parsed(R"({"spare": null})");
  REQUIRE(some);
  Lamp lamp{.count = 2, .spare = 3};
  json::assign(*some, lamp);
  CHECK(lamp == Lamp{.count = 2});
}

TEST_CASE("an invalid member is refused with its pointer, the value and what is allowed") {
  struct Row {
    const char* text;
    const char* field;
    const char* message;
    const char* allowed;
  };
  for (const Row& row : {
           Row{"[]", "/lamp", R"(expected an object such as {"count": 2}, found an array)",
               R"(an object such as {"count": 2})"},
           Row{R"({"cuont": 1})", "/lamp/cuont", R"(unknown key "cuont"; did you mean "count"?)", "count"},
           Row{R"({"count": 0})", "/lamp/count", "expected a count, found 0", "1 to 9"},
           Row{R"({"count": 10})", "/lamp/count", "expected a count, found 10", "1 to 9"},
           Row{R"({"count": ""})", "/lamp/count", R"(expected a count, found "")", "1 to 9"},
           Row{R"({"spare": 4294967296})", "/lamp/spare", "expected a count, found 4294967296", "0 to 4294967295"},
           Row{R"({"watt": null})", "/lamp/watt", "expected a number, found null", "0 to 4294967295"},
           Row{R"({"name": "abcd"})", "/lamp/name", R"(expected a short name, found "abcd")", "a short name"},
           Row{R"({"name": null})", "/lamp/name", "expected a short name, found null", "a short name"},
           Row{R"({"dimmed": 1})", "/lamp/dimmed", "expected true or false, found 1", "true or false"},
           Row{R"({"colour": "blue"})", "/lamp/colour", R"(expected "red" or "green", found "blue")",
               R"("red" or "green")"},
       }) {
    CAPTURE(row.text);
    const auto refused = parsed(row.text);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().field == row.field);
    CHECK(refused.error().message == row.message);
    CHECK(refused.error().allowed == row.allowed);
  }
}

TEST_CASE("an object is written in its unit and without defaults") {
  CHECK(written({}) == R"({"count":0})");
  CHECK(written({.count = 2, .light = 60, .unit = Lamp::Unit::Lumen, .colour = Colour::Green}) ==
        R"({"count":2,"lumen":60,"colour":"green"})");
  CHECK(json::to_json(Lamp{.light = 60}) ==
        R"({"count":0,"spare":null,"watt":60,"lumen":null,"name":null,"dimmed":null,"colour":null})");
  CHECK(json::from_json<Lamp>(R"({"count": 1, "watt": null, "lumen": 7})") ==
        Lamp{.count = 1, .light = 7, .unit = Lamp::Unit::Lumen});
}

TEST_CASE("a whole object has what is required, and the defaults of the rest") {
  const auto whole = [](const std::string& text) { return json::parse_whole<Room>(*json::parse(text), ""); };
  CHECK(whole(R"({"name": "a"})").value() == Room{.name = "a"});
  const Room full{.name = "a", .stay = std::chrono::seconds(0), .lamps = {{"b", {{"c", "1"}}}}, .walls = {}};
  const char* text = R"({"name":"a","stay_seconds":0,"lamps":{"b":{"c":"1"}},"walls":[]})";
  CHECK(whole(text).value() == full);
  json::Writer w;
  json::write_whole_object(w, full);
  CHECK(w.take() == text);
  CHECK(json::to_json(full) == R"({"name":"a","stay":0,"lamps":[["b",[["c","1"]]]],"walls":[]})");
  CHECK(json::from_json<Room>(json::to_json(full)).value() == full);
  struct Row {
    const char* text;
    const char* field;
    const char* message;
  };
  for (const Row& row :
       {Row{"{}", "/name", "is missing"},
        Row{R"({"name": "a", "stay_seconds": 61})", "/stay_seconds", "expected seconds, found 61"},
        Row{R"({"name": "a", "stay_seconds": -1})", "/stay_seconds", "expected seconds, found -1"},
        Row{R"({"name": "a", "lamps": []})", "/lamps", "expected an object of lamps, found an array"},
        Row{R"({"name": "a", "lamps": {"b": {"c": 1}}})", "/lamps/b/c", "expected a string, not a number"},
        Row{R"({"name": "a", "walls": ["b", 1]})", "/walls/1", "expected a string, not a number"}}) {
    CAPTURE(row.text);
    const auto refused = whole(row.text);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().field == row.field);
    CHECK(refused.error().message == row.message);
  }
}

TEST_CASE("a single member has its range and its default") {
  const auto member = [](const char* text) {
    return json::parse_member<uint32_t>(*json::parse(text), "n", 7, {.expected = "a count", .most = 9});
  };
  CHECK(member("{}").value() == 7);
  CHECK(member(R"({"n": 9})").value() == 9);
  CHECK(member(R"({"n": 10})").error().field == "/n");
}
