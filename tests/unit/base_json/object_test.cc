#include "base/json/object.h"

#include <doctest/doctest.h>

namespace nrd::json::object_test {
namespace {

struct Point {
  int x = 0;
  int y = 0;
};

void write_point(Writer& writer, const Point& point) { write_object(writer, {{"x", point.x}, {"y", point.y}}); }

}  // namespace

TEST_CASE("members keep their order and the type of their values") {
  const std::string name = "a\"b";
  const std::vector<std::string> words = {"c", "d"};
  CHECK(document({{"name", name}, {"literal", "e"}, {"count", 3}, {"set", true}, {"words", words}}) ==
        R"({"name":"a\"b","literal":"e","count":3,"set":true,"words":["c","d"]})");
  CHECK(document({}) == "{}");
}

TEST_CASE("absent values are null, and given ones are left out") {
  const std::optional<int> none;
  const std::optional<int> zero = 0;
  CHECK(document({{"a", none}, {"b", or_null("")}, {"c", or_null("x")}}) == R"({"a":null,"b":null,"c":"x"})");
  CHECK(document({{"a", given(none)}, {"b", given(zero)}, {"c", given(std::string())}, {"d", given(false)}}) ==
        R"({"b":0})");
}

TEST_CASE("a value may write itself") {
  const std::vector<Point> points = {{1, 2}, {3, 4}};
  const std::map<std::string, Point> named = {{"p", {5, 6}}};
  const std::map<std::string, std::string> texts = {{"k", "v"}};
  const auto write_first = [&](Writer& writer) { write_point(writer, points.front()); };
  CHECK(document({{"first", write_first}, {"all", array(points, write_point)}}) ==
        R"({"first":{"x":1,"y":2},"all":[{"x":1,"y":2},{"x":3,"y":4}]})");
  CHECK(document({{"named", by_key(named, write_point)}, {"texts", by_key(texts)}}) ==
        R"({"named":{"p":{"x":5,"y":6}},"texts":{"k":"v"}})");
}

}  // namespace nrd::json::object_test
