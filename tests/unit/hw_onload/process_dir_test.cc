#include "hw/onload/process_dir.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <ostream>

#include "tests/unit/hw_onload/tree.h"

namespace nrd::onload::process_dir_test {

using nrd::testing::Tree;

TEST_CASE("a process of this host is described") {
  const ProcessDir self = ProcessDir::open("", ::getpid()).value().value();
  const TaskStat status = self.status().value().value();
  CHECK(status.id == ::getpid());
  CHECK(status.start > 0);
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
  CHECK(process.list("fd", 100).value().empty());
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
  CHECK(process.list("fd", 2).value().size() == 2);
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
