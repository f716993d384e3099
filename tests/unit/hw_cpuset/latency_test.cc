// Limits of idle states on plain files, which accept any write.
#include "hw/cpuset/latency.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include "tests/support/temporary_tree.h"

namespace nrd::cpuset::latency_test {
namespace {

class Tree : public testing::TemporaryTree {
 public:
  Tree() { put("sys/devices/system/cpu/online", "1-3\n"); }
  static std::string limit(uint32_t cpu) {
    return "sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/power/pm_qos_resume_latency_us";
  }
};

using Limits = std::map<CpuId, LatencyLimit>;

}  // namespace

TEST_CASE("limits are read as the kernel shows them") {
  Tree tree;
  tree.put(Tree::limit(1), "0\n");
  tree.put(Tree::limit(2), "n/a\n");
  tree.put(Tree::limit(3), "120\n");
  CHECK(why_no_latency_limits(tree.root()).empty());
  CHECK(observe_latency(tree.root(), CpuSet{1, 2, 3, 4}) ==
        Limits{{CpuId{1}, "0"}, {CpuId{2}, "n/a"}, {CpuId{3}, "120"}});
}

TEST_CASE("an empty, truncated or unexpected limit is none") {
  for (const char* text : {"", "\n", "12", "n/a", "n\n", "0x10\n", "1 2\n", "99999999999\n"}) {
    CAPTURE(text);
    Tree tree;
    tree.put(Tree::limit(1), text);
    CHECK(observe_latency(tree.root(), CpuSet{1}).empty());
    CHECK(why_no_latency_limits(tree.root()) == "CPU 1: pm_qos_resume_latency_us has unexpected content");
    const auto refused = converge_latency(tree.root(), {{CpuId{1}, "n/a"}});
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ErrorCode::Hardware);
    CHECK(tree.get(Tree::limit(1)) == text);
  }
}

TEST_CASE("a kernel without limits says so") {
  Tree tree;
  CHECK(why_no_latency_limits(tree.root()) == "CPU 1 has no pm_qos_resume_latency_us");
  tree.put("sys/devices/system/cpu/online", "");
  CHECK(why_no_latency_limits(tree.root()) == "the online CPUs cannot be read");
}

TEST_CASE("only limits that differ are written, and a CPU that was removed is skipped") {
  Tree tree;
  tree.put(Tree::limit(1), "0\n");
  tree.put(Tree::limit(2), "n/a\n");
  std::filesystem::permissions(tree.root() + "/" + Tree::limit(2), std::filesystem::perms::owner_read);
  REQUIRE(converge_latency(tree.root(), {{CpuId{1}, "n/a"}, {CpuId{2}, "n/a"}, {CpuId{9}, "n/a"}}));
  CHECK(tree.get(Tree::limit(1)) == "n/a\n");
  CHECK_FALSE(std::filesystem::exists(tree.root() + "/" + Tree::limit(9)));
}

TEST_CASE("a limit that the kernel does not take is an error with the CPU") {
  Tree tree;
  tree.put("limit", "0\n");
  std::filesystem::create_directories(std::filesystem::path(tree.root() + "/" + Tree::limit(1)).parent_path());
  // O_NOFOLLOW: ELOOP.
  std::filesystem::create_symlink(tree.root() + "/limit", tree.root() + "/" + Tree::limit(1));
  const auto refused = converge_latency(tree.root(), {{CpuId{1}, "20"}});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message == "CPU 1 did not take the idle latency limit 20");
  CHECK(tree.get("limit") == "0\n");
}

TEST_CASE("a CPU that refuses its limit does not block the others") {
  Tree tree;
  tree.put(Tree::limit(1), "unexpected\n");
  for (const uint32_t cpu : {2U, 3U}) tree.put(Tree::limit(cpu), "n/a\n");
  const auto refused = converge_latency(tree.root(), {{CpuId{1}, "0"}, {CpuId{2}, "0"}, {CpuId{3}, "0"}});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message == "CPU 1: pm_qos_resume_latency_us has unexpected content");
  for (const uint32_t cpu : {2U, 3U}) CHECK(tree.get(Tree::limit(cpu)) == "0\n");
}

}  // namespace nrd::cpuset::latency_test
