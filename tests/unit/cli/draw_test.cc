#include "cli/draw.h"

#include <doctest/doctest.h>

#include "base/json/reader.h"

namespace nrd::draw_test {

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
              "foreign": [{"group": "theirs", "ways": {"mask": "8"}, "holds_ways": true}],
              "workloads": [{"id": "1", "ways": {"mask": "30"}}, {"id": "2", "ways": {"mask": "600"}}]}]})";

constexpr const char* kWorkloads = R"([
  {"id": "1", "core_ids": ["4-5", "7"], "status": "Successful", "cos_name": "COS2", "pool": "guarantee", "uuid": "a\nb"},
  {"id": "2", "core_ids": ["6"], "status": "Failed", "cos_name": "COS3", "pool": "shared",
   "labels": {"pod": "feed", "team": "trading"}}])";

}  // namespace

TEST_CASE("the drawing shows the owner of every way and the pools below") {
  CHECK(drawn(kNode, kWorkloads) ==
        "cache 4   socket 1   CPUs 0-7\n"
        "   way  0 1 2 3 4 5 6 7 8 9 10\n"
        " owner  O O . x A A . . . S S\n"
        "  pool  o g g g g g b b b s s\n"
        "\n"
        "  O  OS: the longest run of free ways (COS0)      .  idle      x  foreign\n"
        "  A  workload 1: guarantee, COS2, CPUs 4-5,7, uuid a?b\n"
        "  S  workload 2: shared, COS3, CPUs 6, pod=feed,team=trading, Failed\n"
        "  pools: o OS floor, g guarantee, b best effort, s shared, i infra\n");
}

TEST_CASE("a cache has no more ways than a mask has bits") {
  const std::string text =
      drawn(R"({"capabilities": {"l3_cat": {"ways": 1000000000000}}, "caches": [{"id": 0}]})", "[]");
  CHECK(text.find(" 30 31\n owner ") != std::string::npos);
}

TEST_CASE("only L2 caches with owned ways are drawn beside L3") {
  const std::string text = drawn(R"({
    "capabilities": {"l3_cat": {"ways": 3}, "l2_cat": {"ways": 4}, "missing": []},
    "layout": {"os": {"mask": "1"}, "guarantee": {"mask": "6"}},
    "caches": [{"id": 0, "socket": 0, "cpus": "0-1", "os": {"mask": "7"}, "foreign": [], "workloads": []}],
    "l2_layout": {"os": {"mask": "1"}, "guarantee": {"mask": "e"}},
    "l2_caches": [
      {"id": 0, "socket": 0, "cpus": "0", "os": {"mask": "f"}, "foreign": [], "workloads": []},
      {"id": 1, "socket": 0, "cpus": "1", "os": {"mask": "3"}, "foreign": [],
       "workloads": [{"id": "1", "ways": {"mask": "c"}}]}]})",
                                 kWorkloads);
  CHECK(
      text.starts_with("cache 0   socket 0   CPUs 0-1\n"
                       "   way  0 1 2\n"
                       " owner  O O O\n"
                       "  pool  o g g\n"
                       "\n"
                       "L2 cache 1   socket 0   CPUs 1\n"
                       "   way  0 1 2 3\n"
                       " owner  O O A A\n"
                       "  pool  o g g g\n"
                       "\n"));
}

TEST_CASE("colour is used on terminals only") {
  CHECK(drawn(kNode, kWorkloads).find('\x1b') == std::string::npos);
  CHECK(drawn(kNode, kWorkloads, Colour::Yes).find("\x1b[") != std::string::npos);
}

TEST_CASE("a node without allocatable ways shows what is missing") {
  CHECK(drawn(R"({"capabilities": {"l3_cat": null, "missing": ["L3 CAT: the CPU has none"]}})", "[]") ==
        "This node has no allocatable cache ways.\n  L3 CAT: the CPU has none\n");
}

TEST_CASE("a guarantee is drawn from a complete response of the daemon") {
  CHECK(drawn(R"({"revision": 3, "boot_id": "b", "cpus": {"possible": "0-7", "online": "0-7"},
    "capabilities": {"l3_cat": {"classes": 16, "ways": 11, "min_ways": 1, "shared_with_io": {"mask": "600", "ways": 2}},
                     "missing": []},
    "layout": {"os": {"mask": "1", "ways": 1}, "guarantee": {"mask": "3e", "ways": 5},
               "besteffort": {"mask": "1c0", "ways": 3}, "shared": {"mask": "200", "ways": 1},
               "infra": {"mask": "400", "ways": 1}},
    "classes": {"total": 16, "used": 2},
    "caches": [
      {"id": 0, "socket": 0, "cpus": "0-3", "os": {"mask": "f", "ways": 4}, "free": {"mask": "1ce", "ways": 6},
       "foreign": [], "workloads": [{"id": "7", "cos_name": "COS1", "pool": "guarantee",
                                     "ways": {"mask": "30", "ways": 2}}]},
      {"id": 1, "socket": 1, "cpus": "4-7", "os": {"mask": "7ff", "ways": 11}, "free": {"mask": "3ff", "ways": 10},
       "foreign": [], "workloads": []}]})",
              R"([{"id": "7", "core_ids": ["2", "3"], "status": "Successful", "cos_name": "COS1",
                   "rdt": {"cache": {"max": 2, "min": 2}, "mba": {}}, "origin": "REST", "cache": {"max": 2, "min": 2},
                   "pool": "guarantee", "granted_ways": {"0": {"mask": "30", "ways": 2}}}])") ==
        "cache 0   socket 0   CPUs 0-3\n"
        "   way  0 1 2 3 4 5 6 7 8 9 10\n"
        " owner  O O O O A A . . . . .\n"
        "  pool  o g g g g g b b b s i\n"
        "\n"
        "cache 1   socket 1   CPUs 4-7\n"
        "   way  0 1 2 3 4 5 6 7 8 9 10\n"
        " owner  O O O O O O O O O O O\n"
        "  pool  o g g g g g b b b s i\n"
        "\n"
        "  O  OS: the longest run of free ways (COS0)      .  idle      x  foreign\n"
        "  A  workload 7: guarantee, COS1, CPUs 2,3\n"
        "  pools: o OS floor, g guarantee, b best effort, s shared, i infra\n");
}

TEST_CASE("every missing capability has its own line") {
  CHECK(drawn(R"({"capabilities": {"l3_cat": null, "missing": ["L3 CAT: none", "the tree\nis gone"]},
                  "layout": null, "caches": [{"id": 0, "socket": null, "cpus": "0"}]})",
              "[]") == "This node has no allocatable cache ways.\n  L3 CAT: none\n  the tree?is gone\n");
  CHECK(drawn("{}", "[]") == "This node has no allocatable cache ways.\n");
}

TEST_CASE("a uuid cannot inject lines or escape sequences") {
  const std::string picture =
      drawn(kNode, R"([{"id": "1", "core_ids": ["4"], "status": "Successful", "cos_name": "COS2",
      "pool": "guarantee", "uuid": "a\r\n  B  workload 9\u001b[2J\u007f\t\u0008"}])");
  CHECK(picture.find("uuid a??  B  workload 9?[2J???\n") != std::string::npos);
  for (const char c : picture) CHECK((c == '\n' || (c >= 0x20 && c < 0x7f)));
}

TEST_CASE("a uuid cannot inject eight-bit control characters") {
  // U+009B is CSI, the eight-bit form of ESC [, and U+0085 a line end.
  const std::string picture =
      drawn(kNode, R"([{"id": "1", "core_ids": ["4"], "status": "Successful", "cos_name": "COS2",
      "pool": "guarantee", "uuid": "a\u009b2J\u0085b"}])");
  CHECK(picture.find("\xc2\x9b") == std::string::npos);
  CHECK(picture.find("\xc2\x85") == std::string::npos);
}

TEST_CASE("without colours a coloured drawing equals the plain one") {
  std::string picture = drawn(kNode, kWorkloads, Colour::Yes);
  for (size_t at = picture.find('\x1b'); at != std::string::npos; at = picture.find('\x1b')) {
    picture.erase(at, picture.find('m', at) + 1 - at);
  }
  CHECK(picture == drawn(kNode, kWorkloads));
}

}  // namespace nrd::draw_test
