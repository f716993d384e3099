#include "base/shared.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace nrd::shared_test {

using Names = nrd::SharedMap<int, std::string>;
using Numbers = nrd::Shared<std::vector<int>>;

TEST_CASE("an edit of a shared map leaves its copies as they were") {
  Names names{{1, "one"}};
  const Names copy = names;
  CHECK(&copy.get() == &names.get());
  names.edit()[2] = "two";
  CHECK(names.size() == 2);
  CHECK(copy.size() == 1);
  CHECK_FALSE(copy == names);
  names.edit().erase(2);
  CHECK(copy == names);
}

TEST_CASE("a shared map that was never filled is empty") {
  Names names;
  CHECK(names.empty());
  CHECK(names.begin() == names.end());
  CHECK_FALSE(names.contains(1));
  CHECK(names == Names(Names::Map()));
  names.edit()[1] = "one";
  CHECK(names.at(1) == "one");
}

TEST_CASE("a shared vector is read like one, and equals another of the same numbers") {
  Numbers numbers = std::vector{1, 2};
  const Numbers copy = numbers;
  CHECK(&copy.get() == &numbers.get());
  CHECK(numbers == Numbers(std::vector{1, 2}));
  numbers.edit().push_back(3);
  CHECK(std::vector<int>(numbers.begin(), numbers.end()) == std::vector{1, 2, 3});
  CHECK(copy.size() == 2);
}

}  // namespace nrd::shared_test
