#include "cli/draw.h"

#include <doctest/doctest.h>

#include "api/json/reader.h"

using namespace nrd;
using cli::Colour;

namespace {

std::string drawn(const char* node, const char* workloads, Colour colour = Colour::No) {
  return cli::draw_ways(*json::parse(node), *json::parse(workloads), colour);
}

constexpr const char* kNode = R"({
  "capabilities": {"l3_cat": {"classes": 16, "ways": 11, "min_ways": 1}, "missing": []},
  "layout": {"os": {"mask": "1"}, "guarantee": {"mask": "3e"}, "besteffort": {"mask": "1c0"}, "shared": {"mask": "600"},
             "infra": {"mask": "0"}},
  "caches": [{"id": 4, "socket": 1, "cpus": "0-7", "os": {"mask": "3"}, "free": {"mask": "4"},
              "foreign": [{"group": "theirs", "ways": {"mask": "8"}}],
              "workloads": [{"id": "1", "ways": {"mask": "30"}}, {"id": "2", "ways": {"mask": "600"}}]}]})";

constexpr const char* kWorkloads = R"([
  {"id": "1", "core_ids": ["4-5", "7"], "status": "Successful", "cos_name": "COS2", "pool": "guarantee", "uuid": "a\nb"},
  {"id": "2", "core_ids": ["6"], "status": "Failed", "cos_name": "COS3", "pool": "shared"}])";

}  // namespace

TEST_CASE("the drawing shows the owner of every way and the pools beneath") {
  CHECK(drawn(kNode, kWorkloads) ==
        "cache 4   socket 1   CPUs 0-7\n"
        "   way  0 1 2 3 4 5 6 7 8 9 10\n"
        " owner  O O . x A A . . . S S\n"
        "  pool  o g g g g g b b b s s\n"
        "\n"
        "  O  OS: all ways below the first one in use (COS0)      .  free      x  others'\n"
        "  A  workload 1: guarantee, COS2, CPUs 4-5,7, uuid a?b\n"
        "  S  workload 2: shared, COS3, CPUs 6, Failed\n"
        "  pools: o OS floor, g guarantee, b best effort, s shared, i infra\n");
}

TEST_CASE("colour is for terminals only") {
  CHECK(drawn(kNode, kWorkloads).find('\x1b') == std::string::npos);
  CHECK(drawn(kNode, kWorkloads, Colour::Yes).find("\x1b[") != std::string::npos);
}

TEST_CASE("a node without ways to give says what is missing") {
  CHECK(drawn(R"({"capabilities": {"l3_cat": null, "missing": ["L3 CAT: the CPU has none"]}})", "[]") ==
        "This node has no L3 ways to give.\n  L3 CAT: the CPU has none\n");
}
