#include "cli/table.h"

#include <doctest/doctest.h>

namespace nrd::cli::table_test {
namespace {

Table a_table() {
  Table table({"ID", "NAME", "POOL"});
  table.add({"1", "a-very-long-name-of-a-workload", "guarantee"});
  table.add({"22", "b", "shared"});
  return table;
}

}  // namespace

TEST_CASE("columns are as wide as their cells") {
  CHECK(a_table().drawn(true, 0) ==
        "ID  NAME                            POOL\n"
        "1   a-very-long-name-of-a-workload  guarantee\n"
        "22  b                               shared\n");
  CHECK(a_table().drawn(false, 0).starts_with("1   a-very"));
}

TEST_CASE("the widest column is cut to the width of the terminal") {
  CHECK(a_table().drawn(true, 28) ==
        "ID  NAME           POOL\n"
        "1   a-very-lon...  guarantee\n"
        "22  b              shared\n");
  CHECK(a_table().drawn(true, 45) == a_table().drawn(true, 0));
}

TEST_CASE("a column keeps eight characters, however narrow the terminal is") {
  CHECK(a_table().drawn(false, 1) ==
        "1   a-ver...  guara...\n"
        "22  b         shared\n");
}

TEST_CASE("the width counts characters, not bytes") {
  Table table({"A", "B"});
  table.add({"\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc", "x"});
  CHECK(table.drawn(false, 11) == "\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc...  x\n");
  CHECK(table.drawn(false, 12).find("...") == std::string::npos);
  CHECK(Table({}).drawn(true, 5) == "\n");
}

}  // namespace nrd::cli::table_test
