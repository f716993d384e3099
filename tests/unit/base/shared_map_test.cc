#include "base/shared_map.h"

#include <doctest/doctest.h>

#include <string>

using Names = nrd::SharedMap<int, std::string>;

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
