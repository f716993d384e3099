#include "hw/onload/control_plane.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <ostream>

#include "tests/unit/hw_onload/tree.h"

namespace nrd::onload::control_plane_test {

using nrd::testing::Tree;

namespace {

constexpr const char* kPids = "proc/driver/onload/cp_server_pids";

void add_server(Tree& tree, pid_t pid) {
  const std::string process = "proc/" + std::to_string(pid) + "/";
  const long start = 100 * ::sysconf(_SC_CLK_TCK);
  tree.put(process + "stat", std::to_string(pid) +
                                 " (onload_cp_serve) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 " +
                                 std::to_string(start) + " 20\n");
  tree.link(process + "exe", "/sbin/onload_cp_server (deleted)");
  tree.link(process + "ns/net", "net:[4026531833]");
}

}  // namespace

TEST_CASE("there is one PID per line, and an invisible one is an error") {
  CHECK(parse_pids("12\n3\n") == std::vector<pid_t>{12, 3});
  CHECK(parse_pids("") == std::vector<pid_t>{});
  for (const char* text : {"12", "\n", "0\n", "-1\n", "12 13\n", "x\n", "12\n1", "99999999999\n"}) {
    INFO("\"" << text << "\"");
    CHECK(parse_pids(text) == std::nullopt);
  }
}

TEST_CASE("a server is described with program, network namespace and age") {
  Tree tree;
  tree.put("proc/uptime", "160.52 1.00\n");
  tree.put(kPids, "300\n");
  add_server(tree, 300);
  const uint64_t start = 100 * static_cast<uint64_t>(::sysconf(_SC_CLK_TCK));
  CHECK(read_servers(tree.root()).value() == std::vector<ControlPlaneServer>{{.process = {300, start},
                                                                              .exe = "/sbin/onload_cp_server",
                                                                              .net_namespace = 4026531833,
                                                                              .age = std::chrono::seconds(60)}});
}

TEST_CASE("without the module or a server the list is empty") {
  Tree tree;
  CHECK(read_servers(tree.root()).value().empty());
  tree.put(kPids, "");
  CHECK(read_servers(tree.root()).value().empty());
}

TEST_CASE("a server that exits meanwhile is skipped") {
  Tree tree;
  tree.put("proc/uptime", "160.52 1.00\n");
  tree.put(kPids, "300\n301\n302\n");
  add_server(tree, 300);
  add_server(tree, 302);
  tree.remove("proc/302/exe");
  CHECK(read_servers(tree.root()).value().size() == 1);
}

TEST_CASE("malformed server data is an error") {
  struct Row {
    const char *file, *text;
  };
  for (const Row& row : {Row{kPids, "30"}, Row{"proc/uptime", ""}, Row{"proc/uptime", "x\n"}, Row{"proc/300/stat", ""},
                         Row{"proc/300/stat", "300 (a) S 1\n"}}) {
    INFO(row.file << " \"" << row.text << "\"");
    Tree tree;
    tree.put("proc/uptime", "160.52 1.00\n");
    tree.put(kPids, "300\n");
    add_server(tree, 300);
    tree.put(row.file, row.text);
    const auto servers = read_servers(tree.root());
    REQUIRE_FALSE(servers.has_value());
    CHECK(servers.error().message.find('/') == std::string::npos);
  }
  Tree tree;
  tree.put("proc/uptime", "160.52 1.00\n");
  tree.put(kPids, "300\n");
  add_server(tree, 300);
  tree.link("proc/300/ns/net", "net:[");
  CHECK_FALSE(read_servers(tree.root()).has_value());
}

}  // namespace nrd::onload::control_plane_test
