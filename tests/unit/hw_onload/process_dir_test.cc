#include "hw/onload/process_dir.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <ostream>

#include "tests/unit/hw_onload/tree.h"

namespace nrd::onload::process_dir_test {

using nrd::testing::Tree;

TEST_CASE("a process is identified by PID and start tick, whatever its name") {
  const std::string rest = " S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 777 20\n";
  for (const char* comm : {"feed", "a b", "a) S 1 2", "(((", ")", ""}) {
    INFO("\"" << comm << "\"");
    CHECK(parse_process_status("4711 (" + std::string(comm) + ")" + rest) ==
          ProcessStatus{.id = {4711, 777}, .comm = comm, .state = 'S'});
  }
}

TEST_CASE("a truncated or malformed process state is refused") {
  const std::string whole = "4711 (feed) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 777 20\n";
  for (size_t size = 0; size < whole.size(); ++size) {
    INFO(size << " bytes");
    CHECK(parse_process_status(whole.substr(0, size)) == std::nullopt);
  }
  CHECK(parse_process_status("0 (feed) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 777\n") == std::nullopt);
  CHECK(parse_process_status("4711 (feed) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 x\n") == std::nullopt);
  CHECK(parse_process_status("4711 (feed) Sleeping 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 7\n") == std::nullopt);
}

TEST_CASE("a process of this host is described") {
  const ProcessDir self = ProcessDir::open("", ::getpid()).value().value();
  const ProcessStatus status = self.status().value().value();
  CHECK(status.id.pid == ::getpid());
  CHECK(status.id.start > 0);
  CHECK(self.owner().value() == ::geteuid());
  CHECK(self.target("exe").value()->character_device == std::nullopt);
}

TEST_CASE("a device behind a link is identified by its number") {
  Tree tree;
  tree.link("proc/5/fd/3", "/dev/null");
  tree.link("proc/5/fd/4", "onload:[tcp:1:2]");
  const ProcessDir process = ProcessDir::open(tree.root(), 5).value().value();
  CHECK(process.target("fd/3").value()->character_device == DeviceNumber{1, 3});
  CHECK(process.link("fd/4").value() == "onload:[tcp:1:2]");
  CHECK(process.target("fd/4").value().has_value() == false);
}

TEST_CASE("an exited process is reported as gone, even if its PID is reused") {
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  const ProcessDir process = ProcessDir::open("", child).value().value();
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  CHECK(process.status().value() == std::nullopt);
  CHECK(process.read("maps", 1 << 20).value() == std::nullopt);
  CHECK(process.list("fd", 100).value() == std::nullopt);
  CHECK(process.link("exe").value() == std::nullopt);
  CHECK(process.target("exe").value().has_value() == false);
  CHECK(process.owner().value() == std::nullopt);
  CHECK(process.open_below("task").value().has_value() == false);
  CHECK(ProcessDir::open("", child).value().has_value() == false);
}

TEST_CASE("data beyond the limit is an error, not a truncated result") {
  Tree tree;
  tree.put("proc/5/maps", "0123456789\n");
  tree.link("proc/5/fd/0", "/dev/null");
  tree.link("proc/5/fd/1", "/dev/null");
  const ProcessDir process = ProcessDir::open(tree.root(), 5).value().value();
  CHECK(process.read("maps", 11).value() == "0123456789\n");
  CHECK_FALSE(process.read("maps", 10).has_value());
  CHECK(process.list("fd", 2).value()->size() == 2);
  CHECK_FALSE(process.list("fd", 1).has_value());
}

TEST_CASE("the owner of a process is its effective user") {
  Tree tree;
  tree.put("proc/5/status", "Name:\tfeed\nUid:\t1000\t1001\t1000\t1000\nGid:\t1\t1\t1\t1\n");
  const ProcessDir process = ProcessDir::open(tree.root(), 5).value().value();
  CHECK(process.owner().value() == 1001);
  for (const char* text : {"", "Name:\tfeed\n", "Uid:\tx\ty\n", "Uid:\t1000\t10"}) {
    INFO("\"" << text << "\"");
    tree.put("proc/5/status", text);
    CHECK_FALSE(process.owner().has_value());
  }
}

}  // namespace nrd::onload::process_dir_test
