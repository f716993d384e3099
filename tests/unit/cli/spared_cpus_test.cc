#include "cli/spared_cpus.h"

#include <doctest/doctest.h>

#include "base/json/reader.h"

namespace nrd::cli::spared_cpus_test {

TEST_CASE("the CPUs of workloads are those that their lists leave") {
  const auto workloads = json::parse(R"([{"id": "1", "core_ids": ["0-7", "^2-3"]}, {"id": "2", "task_ids": ["4711"]},
                                         {"id": "3", "core_ids": ["9"]}])");
  CHECK(cpus_of(*workloads)->to_string() == "0-1,4-7,9");
  const auto pooled = json::parse(
      R"([{"id": "5", "cpu": {"exclusive": "2-3"}}, {"id": "6", "cpu": [{"exclusive": "6"}, {"exclusive": ""}]}])");
  CHECK(cpus_of(*pooled)->to_string() == "2-3,6");
  const auto wrong = cpus_of(*json::parse(R"([{"id": "4", "core_ids": ["x"]}])"));
  REQUIRE_FALSE(wrong);
  CHECK(wrong.error().error.starts_with("workload 4: "));
}

TEST_CASE("irqbalance gets no empty list, which would end its care for isolated CPUs") {
  CHECK(irqbalance_line({4, 5}) == "IRQBALANCE_BANNED_CPULIST=4-5\n");
  CHECK(irqbalance_line({}).find("\n#IRQBALANCE_BANNED_CPULIST=\n") != std::string::npos);
}

TEST_CASE("the cgroup of a process is found in each hierarchy, and the root is none") {
  CHECK(cgroup_in("0::/system.slice/feed.service\n") == "/system.slice/feed.service");
  CHECK(cgroup_in("4:cpuset:/x\n1:name=systemd:/system.slice/a.service\n0::/b\n") == "/system.slice/a.service");
  CHECK(cgroup_in("10::/no\n0::/a") == "/a");
  for (const char* none : {"", "0::/\n", "0::", "4:cpuset:/x\n", "1:name=systemd:/\n"}) {
    CAPTURE(none);
    CHECK(cgroup_in(none).empty());
  }
}

TEST_CASE("tuned spares the cgroups of workloads, quoted as regular expressions") {
  const std::string text =
      tuned_text({.cpus = {4, 5}, .cgroups = {"/system.slice/a.service", "/x;y"}, .unknown = {"5 (feed)"}});
  CHECK(text.find("\n[scheduler]\nisolated_cores=4-5\n"
                  "cgroup_ps_blacklist=:/system\\.slice/a\\.service(?![^/,]);:/x\\;y(?![^/,])\n") != std::string::npos);
  CHECK(text.find("# workload 5 (feed): processes unknown") != std::string::npos);
  CHECK(tuned_text({}).find("[scheduler]") == std::string::npos);
}

}  // namespace nrd::cli::spared_cpus_test
