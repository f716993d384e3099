#include "hw/rdt/monitor.h"

#include <doctest/doctest.h>

namespace nrd::rdt::monitor_test {

TEST_CASE("a counter is one complete line with a number") {
  struct Row {
    const char* text;
    std::optional<uint64_t> count;
  };
  for (const Row& row : {Row{"0\n", 0}, Row{"18446744073709551615\n", UINT64_MAX}, Row{"18446744073709551616\n", {}},
                         Row{"Unavailable\n", {}}, Row{"Error\n", {}}, Row{"", {}}, Row{"\n", {}}, Row{"12", {}},
                         Row{"-1\n", {}}, Row{"1 2\n", {}}}) {
    CAPTURE(row.text);
    CHECK(parse_count(row.text) == row.count);
  }
}

TEST_CASE("mon_features names the counted events") {
  CHECK(parse_monitoring("224\n", "llc_occupancy\nmbm_total_bytes\nmbm_local_bytes\n") ==
        Monitoring{.groups = 224, .occupancy = true, .total = true, .local = true});
  CHECK(parse_monitoring("8\n", "llc_occupancy\nmbm_total_bytes_config\nmbm_local") ==
        Monitoring{.groups = 8, .occupancy = true, .total = false, .local = false});
  CHECK(parse_monitoring("8\n", "something_new\n") == std::nullopt);
  CHECK(parse_monitoring("8\n", "") == std::nullopt);
  CHECK(parse_monitoring("many\n", "llc_occupancy\n") == std::nullopt);
  CHECK(parse_monitoring(std::nullopt, "llc_occupancy\n") == std::nullopt);
  CHECK(parse_monitoring("8\n", std::nullopt) == std::nullopt);
}

TEST_CASE("counters are assigned in the mode mbm_event only") {
  CHECK(parse_assigned_counters("[mbm_event]\ndefault\n", "0=32;1=32\n") == 32);
  CHECK(parse_assigned_counters("[mbm_event]\ndefault\n", "0=32\n") == 32);
  CHECK(parse_assigned_counters("[mbm_event]\ndefault\n", std::nullopt) == 0);
  CHECK(parse_assigned_counters("mbm_event\n[default]\n", "0=32;1=32\n") == std::nullopt);
  CHECK(parse_assigned_counters("[default]\n", std::nullopt) == std::nullopt);
  CHECK(parse_assigned_counters(std::nullopt, std::nullopt) == std::nullopt);
}

TEST_CASE("a group has the counters that its assignments name") {
  CHECK(parse_assignments("mbm_total_bytes:0=e;1=_;12=e\nmbm_local_bytes:0=_;1=_;12=_\n") ==
        Assignments{{"mbm_total_bytes", {0, 12}}, {"mbm_local_bytes", {}}});
  for (const char* text : {"", "mbm_total_bytes:0=e", "mbm_total_bytes:x=e\n", "mbm_total_bytes:=e\n"}) {
    CAPTURE(text);
    CHECK(parse_assignments(text) == std::nullopt);
  }
}

}  // namespace nrd::rdt::monitor_test
