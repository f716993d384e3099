#include "base/json/fields.h"

#include <doctest/doctest.h>

#include <array>

#include "base/ids.h"

using namespace nrd;

namespace {

enum class Colour { Red, Blue };

struct Inner {
  Colour colour = Colour::Red;
  std::optional<double> share;
  friend bool operator==(const Inner&, const Inner&) = default;
};

struct Outer {
  uint32_t count = 0;
  bool is_open = true;
  int64_t delta = 0;
  std::string text;
  std::optional<Inner> inner;
  std::vector<Inner> list;
  std::map<ClosId, WayMask> ways;
  std::set<std::string> words;
  CpuSet cpus;
  std::chrono::seconds wait{30};
  std::chrono::sys_time<std::chrono::milliseconds> time;
  friend bool operator==(const Outer&, const Outer&) = default;
};

}  // namespace

template <>
inline constexpr auto json::kNames<Colour> = std::array{std::pair{Colour::Red, "red"}, std::pair{Colour::Blue, "blue"}};
template <>
inline constexpr auto json::kFields<Inner> = std::tuple(json::Field("colour", &Inner::colour),
                                                        json::Field("share", &Inner::share));
template <>
inline constexpr auto json::kFields<Outer> =
    std::tuple(json::Field("count", &Outer::count), json::Field("is_open", &Outer::is_open).or_default(),
               json::Field("delta", &Outer::delta).or_default(), json::Field("text", &Outer::text).or_default(),
               json::Field("inner", &Outer::inner), json::Field("list", &Outer::list).or_default(),
               json::Field("ways", &Outer::ways).or_default(), json::Field("words", &Outer::words).or_default(),
               json::Field("cpus", &Outer::cpus).or_default(), json::Field("wait", &Outer::wait).or_default(),
               json::Field("time", &Outer::time).or_default());

namespace {

std::string error_of(const std::string& text) {
  const Result<Outer> read = json::from_json<Outer>(text);
  return read ? "accepted" : read.error().field + ": " + read.error().message;
}

}  // namespace

TEST_CASE("a described struct survives writing and reading") {
  Outer full{.count = 4294967295,
             .is_open = false,
             .delta = -7,
             .text = "\"a\"\n\xc3\xa4",
             .inner = Inner{.colour = Colour::Blue, .share = 0.1},
             .list = {{}, {.colour = Colour::Blue}},
             .ways = {{ClosId{2}, WayMask(0x7f0)}, {ClosId{11}, WayMask(0xffffffff)}},
             .words = {"a", "b"},
             .cpus = CpuSet{0, 1, 2, 8},
             .wait = std::chrono::seconds(0),
             .time = {}};
  full.time += std::chrono::milliseconds(1'700'000'000'123);
  CHECK(json::from_json<Outer>(json::to_json(full)) == full);
  CHECK(json::from_json<Outer>(json::to_json(Outer{})) == Outer{});
}

TEST_CASE("absent members and defaults are written as null") {
  CHECK(json::to_json(Outer{.count = 3, .is_open = false}) ==
        R"({"count":3,"is_open":false,"delta":null,"text":null,"inner":null,"list":null,"ways":null,"words":null,)"
        R"("cpus":null,"wait":null,"time":null})");
}

TEST_CASE("members that no field describes are skipped") {
  CHECK(json::from_json<Outer>(R"({"count": 3, "new": {"a": [1]}, "inner": {"colour": "red", "new": 1}})") ==
        Outer{.count = 3, .inner = Inner{}});
}

TEST_CASE("NUL is not written, because the reader refuses it") {
  const Outer read = *json::from_json<Outer>(json::to_json(Outer{.text = std::string("a\0b", 3)}));
  CHECK(read.text == "a b");
}

TEST_CASE("a mismatch is refused with its JSON pointer") {
  struct Row {
    const char* text;
    const char* says;
  };
  for (const Row& row : {
           Row{"3", ": expected an object, not a number"},
           Row{"{}", "/count: is missing"},
           Row{R"({"count": null})", "/count: is missing"},
           Row{R"({"count": "3"})", "/count: expected a number, not a string"},
           Row{R"({"count": -1})", "/count: the number -1 is out of range"},
           Row{R"({"count": 1.0})", "/count: the number 1.0 is out of range"},
           Row{R"({"count": 4294967296})", "/count: the number 4294967296 is out of range"},
           Row{R"({"count": 1, "is_open": 1})", "/is_open: expected a boolean, not a number"},
           Row{R"({"count": 1, "delta": 9223372036854775808})",
               "/delta: the number 9223372036854775808 is out of range"},
           Row{R"({"count": 1, "inner": {}})", "/inner/colour: is missing"},
           Row{R"({"count": 1, "inner": {"colour": "pink"}})", "/inner/colour: unknown name \"pink\""},
           Row{R"({"count": 1, "inner": {"colour": "red", "share": "1"}})",
               "/inner/share: expected a finite number, not a string"},
           Row{R"({"count": 1, "list": [{"colour": "red"}, 7]})", "/list/1: expected an object, not a number"},
           Row{R"({"count": 1, "ways": {}})", "/ways: expected an array, not an object"},
           Row{R"({"count": 1, "ways": [[1, "0"]]})", "/ways/0/1: \"0\" is not a mask of ways"},
           Row{R"({"count": 1, "ways": [[1, "7"], [1, "7"]]})", "/ways/1: occurs twice"},
           Row{R"({"count": 1, "ways": [[1]]})", "/ways/0: expected an array of two, not an array"},
           Row{R"({"count": 1, "words": ["a", "a"]})", "/words/1: occurs twice"},
       }) {
    CAPTURE(row.text);
    CHECK(error_of(row.text) == row.says);
  }
  CHECK(error_of(R"({"count": 1, "cpus": "4-x"})").starts_with("/cpus: "));
  CHECK(error_of(R"({"count": 1)").starts_with(": invalid JSON"));
}

TEST_CASE("the number of values may be bounded otherwise") {
  const std::string text = R"({"count": 3, "words": ["a", "b"]})";
  CHECK(json::from_json<Outer>(text, 5));
  CHECK_FALSE(json::from_json<Outer>(text, 4));
}
