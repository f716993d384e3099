#include "hw/onload/users.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <ostream>

#include "base/unique_fd.h"
#include "hw/onload/user_finder.h"
#include "tests/unit/hw_onload/processes.h"

namespace nrd::onload::users_test {

using nrd::testing::kChar;
using nrd::testing::kEpoll;
using nrd::testing::kOnload;
using nrd::testing::OnloadNode;

namespace {

// Made-up processes share no files.
FileOrder by_number() {
  return [](const OpenFile& a, const OpenFile& b) {
    return std::optional(std::pair(a.pid, a.fd) <=> std::pair(b.pid, b.fd));
  };
}

InUse users_of(const OnloadNode& node, const std::string& library = "") {
  Walk walk;
  walk.library = library;
  walk.order = by_number();
  return find_users(node.root(), SystemClock(), walk);
}

User a_user(pid_t pid, const std::string& exe, std::set<Use> uses) {
  return {.process = {pid, 1000U + static_cast<uint64_t>(pid)},
          .comm = "comm",
          .exe = exe,
          .uid = 1000,
          .cgroup = "/system.slice/feed.service",
          .unit = "feed.service",
          .uses = std::move(uses)};
}

// Later at every look.
class Rushing final : public Clock {
 public:
  std::chrono::system_clock::time_point now() const override { return {}; }
  std::chrono::steady_clock::time_point steady() const override {
    return std::chrono::steady_clock::time_point(std::chrono::seconds(ticks_ += 20));
  }

 private:
  mutable int ticks_ = 0;
};

// The walk asks for the time at the start and before each process, and something happens at the n-th time.
class Meddling final : public Clock {
 public:
  Meddling(int when, std::function<void()> what) : left_(when), what_(std::move(what)) {}
  std::chrono::system_clock::time_point now() const override { return {}; }
  std::chrono::steady_clock::time_point steady() const override {
    if (--left_ == 0) what_();
    return {};
  }

 private:
  mutable int left_;
  std::function<void()> what_;
};

}  // namespace

TEST_CASE("Onload is not in use on an idle node") {
  OnloadNode node;
  node.run(5, "/usr/bin/feed");
  node.open(5, 0, "/dev/tty");
  CHECK(users_of(node) == InUse{});
  CHECK_FALSE(users_of(node).in_use());
}

TEST_CASE("without Onload there are no users") {
  nrd::testing::Tree tree;
  tree.folder("proc");
  CHECK_FALSE(find_users(tree.root(), SystemClock(), Walk{}).in_use());
}

TEST_CASE("users are listed with their kinds of use") {
  OnloadNode node;
  node.run(5, "/usr/bin/feed");
  node.open(5, 3, kOnload);
  node.open(5, 4, kEpoll);
  node.open(5, 5, "onload:[tcp:3:17]");
  node.run(6, "/usr/bin/tcpdirect (deleted)");
  node.open(6, 3, kChar);
  node.run(7, "/usr/bin/idle");
  node.map(7, "7f00-7f10", "/usr/lib64/libonload.so", "/usr/bin/env");
  node.references("onload", 5);
  node.references("sfc_char", 3);
  User feed = a_user(5, "/usr/bin/feed", {Use::Stack, Use::Epoll});
  feed.stacks = {3};
  User idle = a_user(7, "/usr/bin/idle", {Use::PreloadOnly});
  idle.library = "/usr/lib64/libonload.so";
  const InUse expected{.users = {feed, a_user(6, "/usr/bin/tcpdirect", {Use::EfVi}), idle}};
  CHECK(users_of(node) == expected);
  CHECK(users_of(node).in_use());
}

TEST_CASE("servers listed by the kernel are services, not users") {
  OnloadNode node;
  node.put("proc/driver/onload/cp_server_pids", "8\n");
  node.run(8, "/sbin/onload_cp_server (deleted)");
  node.open(8, 3, kOnload);
  node.map(8, "7f00-7f10", "/dev/onload", kOnload);
  node.run(9, "/sbin/shrub_controller");
  node.open(9, 3, kOnload);
  node.open(9, 4, kChar);
  node.references("onload", 4);
  node.references("sfc_char", 3);
  const InUse in_use = users_of(node);
  CHECK(in_use == InUse{.services = {a_user(8, "/sbin/onload_cp_server", {Use::Stack, Use::Service}),
                                     a_user(9, "/sbin/shrub_controller", {Use::Stack, Use::EfVi, Use::Service})}});
  CHECK_FALSE(in_use.in_use());
}

TEST_CASE("a process that only has the name of a service is a user") {
  OnloadNode node;
  node.put("proc/driver/onload/cp_server_pids", "9\n");
  node.run(8, "/home/me/onload_cp_server");
  node.open(8, 3, kOnload);
  node.run(9, "/usr/bin/feed");
  node.open(9, 3, kOnload);
  node.run(10, "/home/me/shrub_controller");
  node.open(10, 3, kChar);
  CHECK(users_of(node).users.size() == 3);
  CHECK(users_of(node).services.empty());
}

TEST_CASE("an unexplained reference counts as an invisible user") {
  OnloadNode node;
  node.put("proc/driver/onload/cp_server_pids", "8\n");
  node.run(8, "/sbin/onload_cp_server");
  node.open(8, 3, kOnload);
  node.references("onload", 4);
  const InUse in_use = users_of(node);
  CHECK(in_use.unexplained == std::map<std::string, uint32_t>{{"onload", 2}});
  CHECK(in_use.users.empty());
  CHECK(in_use.in_use());
  node.references("sfc_resource", 3);
  CHECK(users_of(node).unexplained.at("sfc_resource") == 1);
}

TEST_CASE("files shared by processes explain their references once") {
  OnloadNode node;
  node.put("proc/driver/onload/cp_server_pids", "8\n9\n");
  for (const uint32_t pid : {8U, 9U}) {
    node.run(pid, "/sbin/onload_cp_server");
    node.open(pid, 3, kOnload);
  }
  node.references("onload", 4);
  CHECK_FALSE(users_of(node).in_use());
  Walk walk;
  walk.order = [](const OpenFile&, const OpenFile&) { return std::optional(std::strong_ordering::equal); };
  CHECK(find_users(node.root(), SystemClock(), walk).unexplained.at("onload") == 2);
}

TEST_CASE("a foreign module that uses Onload's is reported") {
  OnloadNode node;
  node.hold("sfc_resource", "theirs");
  node.references("sfc_resource", 3);
  const InUse in_use = users_of(node);
  CHECK(in_use.foreign_holders == std::map<std::string, std::vector<std::string>>{{"sfc_resource", {"theirs"}}});
  CHECK(in_use.unexplained.empty());
  CHECK(in_use.in_use());
}

TEST_CASE("live stacks count as use, even without a process, and orphans do not") {
  OnloadNode node;
  node.put("proc/driver/onload/stacks_k", "2: 0 1000 0\n");
  const InUse orphans = users_of(node);
  CHECK(orphans.orphans == std::vector<Stack>{{.id = 2, .creator = 0, .uid = 1000, .orphan = true}});
  CHECK_FALSE(orphans.in_use());
  node.put("proc/driver/onload/stacks_ul", "3: 0 1000 0\n");
  CHECK(users_of(node).stacks.size() == 1);
  CHECK(users_of(node).in_use());
}

TEST_CASE("unknown facts count as use, and the rest is still reported") {
  for (const char* file : {"sys/module/onload/refcnt", "sys/module/sfc_char/initstate", "sys/class/onload/onload/dev",
                           "proc/driver/onload/stacks_ul", "proc/driver/onload/stacks_k",
                           "proc/driver/onload/cp_server_pids", "proc/5/maps"}) {
    INFO(file);
    OnloadNode node;
    node.run(5, "/usr/bin/feed");
    node.run(6, "/usr/bin/tcpdirect");
    node.open(6, 3, kChar);
    node.put(file, "cut o");
    const InUse in_use = users_of(node);
    CHECK(in_use.unknown.size() >= 1);
    CHECK(in_use.in_use());
    CHECK(in_use.users.size() == 1);
  }
}

TEST_CASE("a process that cannot be inspected is reported by PID") {
  OnloadNode node;
  node.run(5, "/usr/bin/feed");
  node.remove(OnloadNode::process(5, "maps"));
  node.folder(OnloadNode::process(5, "maps"));  // reading it is refused, even to root
  CHECK(users_of(node).unknown == std::vector<std::string>{"cannot inspect process 5"});
}

TEST_CASE("the processes of this host match the kernel's view") {
  // With /dev/null as onload, this test is a user of it. So are other processes, some of which it may not examine.
  OnloadNode node;
  node.remove("proc");
  node.link("proc", "/proc");
  const UniqueFd device(::open(kOnload, O_RDONLY | O_CLOEXEC));
  const InUse in_use = find_users(node.root(), SystemClock(), Walk{});
  CHECK(in_use.in_use());
  if (::geteuid() != 0) {  // what is mapped is for root to see
    CHECK_FALSE(in_use.unknown.empty());
    return;
  }
  const auto self = std::find_if(in_use.users.begin(), in_use.users.end(),
                                 [](const User& user) { return user.process.pid == ::getpid(); });
  REQUIRE(self != in_use.users.end());
  CHECK(self->uses == std::set<Use>{Use::Stack});
  CHECK(self->exe.ends_with("unit_hw_onload"));
  CHECK(self->uid == 0);
}

TEST_CASE("a process that vanishes meanwhile is neither use nor error") {
  for (const char* file : {"fd", "maps", "stat", "status"}) {
    INFO(file);
    OnloadNode node;
    node.run(5, "/usr/bin/feed");
    node.remove(OnloadNode::process(5, file));
    CHECK_FALSE(users_of(node).in_use());
    node.folder(OnloadNode::process(5, "fd"));
    node.open(5, 3, kOnload);
    CHECK(users_of(node).unknown.empty());
  }
}

TEST_CASE("a process that exits before its inspection is skipped") {
  OnloadNode node;
  node.run(5, "/usr/bin/feed");
  node.open(5, 3, kOnload);
  Walk walk;
  walk.order = by_number();
  const Meddling clock(2, [&node] { node.remove(OnloadNode::process(5)); });
  CHECK(find_users(node.root(), clock, walk) == InUse{});
}

TEST_CASE("references that change during the walk must be explained as well") {
  struct Row {
    uint32_t before, after;
  };
  for (const Row& row : {Row{2, 0}, Row{0, 2}, Row{2, 2}}) {
    INFO(row.before << " references, then " << row.after);
    OnloadNode node;
    node.run(5, "/usr/bin/feed");
    node.references("onload", row.before);
    Walk walk;
    walk.order = by_number();
    const Meddling clock(2, [&node, &row] { node.references("onload", row.after); });
    CHECK(find_users(node.root(), clock, walk).unexplained == std::map<std::string, uint32_t>{{"onload", 2}});
  }
}

namespace {

// A line of /proc/PID/maps of this file, under the name that the process has for it.
std::string mapping_of(const std::string& file, const std::string& name) {
  struct stat status {};
  REQUIRE(::stat(file.c_str(), &status) == 0);
  std::array<char, 256> line{};
  std::snprintf(line.data(), line.size(), "7f00-7f10 r-xp 00000000 %02x:%02x %lu %s\n", ::major(status.st_dev),
                ::minor(status.st_dev), static_cast<unsigned long>(status.st_ino), name.c_str());
  return line.data();
}

}  // namespace

TEST_CASE("threads that outlive the first one show what their process holds") {
  OnloadNode node;
  node.run(5, "/usr/bin/feed", 'Z');
  node.link(OnloadNode::process(5, "task/5/fd/3"), "/dev/tty");
  node.link(OnloadNode::process(5, "task/6/fd/3"), kOnload);
  node.put("dev/sfc_char", "");
  node.put(OnloadNode::process(5, "task/6/maps"), mapping_of(node.path("dev/sfc_char"), "/dev/sfc_char"));
  const InUse in_use = users_of(node);
  REQUIRE(in_use.users.size() == 1);
  CHECK(in_use.users[0].process.pid == 5);
  CHECK(in_use.users[0].uses == std::set<Use>{Use::Stack, Use::EfVi});
}

TEST_CASE("a deleted or foreign library is stale") {
  const auto stale = [](const std::string& mapped, const std::string& installed) {
    OnloadNode node;
    node.run(5, "/usr/bin/feed");
    node.map(5, "7f00-7f10", mapped, "/usr/bin/env");
    return users_of(node, installed).users.at(0).stale;
  };
  CHECK_FALSE(stale("/opt/b/libonload.so", ""));
  CHECK(stale("/opt/b/libonload.so (deleted)", ""));
  CHECK_FALSE(stale("/opt/b/libonload.so", "/opt/b/libonload.so"));
  CHECK(stale("/opt/a/libonload.so", "/opt/b/libonload.so"));
  CHECK(stale("/opt/b/libonload.so (deleted)", "/opt/b/libonload.so"));
}

TEST_CASE("the installed library is recognised under a container's path") {
  OnloadNode node;
  node.put("opt/libonload.so", "library");
  node.run(5, "/usr/bin/feed");
  node.put(OnloadNode::process(5, "maps"), mapping_of(node.path("opt/libonload.so"), "/usr/lib64/libonload.so"));
  CHECK_FALSE(users_of(node, node.path("opt/libonload.so")).users.at(0).stale);
  node.put("opt/other.so", "library");
  node.link(OnloadNode::process(5, "map_files/7f00-7f10"), node.path("opt/libonload.so"));
  CHECK(users_of(node, node.path("opt/other.so")).users.at(0).stale);
}

TEST_CASE("a walk that takes too long or sees too many processes reports so") {
  OnloadNode node;
  for (const uint32_t pid : {5U, 6U, 7U}) node.run(pid, "/usr/bin/feed");
  Walk walk;
  walk.order = by_number();
  CHECK_FALSE(find_users(node.root(), SystemClock(), walk).in_use());
  const InUse partial{.unknown = {"too many processes to inspect in time"}, .ended_early = true};
  CHECK(find_users(node.root(), Rushing(), walk) == partial);
  walk.limits.processes = 2;
  CHECK(find_users(node.root(), SystemClock(), walk) == partial);
}

TEST_CASE("a process that blocks its inspection is unknown until it has ended") {
  OnloadNode node;
  for (const uint32_t pid : {5U, 6U}) node.run(pid, "/usr/bin/feed");
  node.open(5, 3, kOnload);
  const std::string maps = node.path(OnloadNode::process(6, "maps"));
  node.remove(OnloadNode::process(6, "maps"));
  REQUIRE(::mkfifo(maps.c_str(), 0600) == 0);  // its reader waits for a writer

  UserFinder finder(node.root(), std::chrono::milliseconds(100));
  const auto find = [&finder] {
    Walk walk;
    walk.order = by_number();
    return finder.find(walk);
  };
  const InUse blocked{.unknown = {"process 6 cannot be inspected"}, .ended_early = true};
  while (find() != blocked) continue;  // a slow host may be at process 5
  CHECK(find() == blocked);

  node.run(7, "/usr/bin/feed");
  node.open(7, 3, kOnload);
  { const UniqueFd end(::open(maps.c_str(), O_WRONLY | O_CLOEXEC)); }
  node.remove(OnloadNode::process(6));
  InUse after = find();
  while (!after.unknown.empty()) after = find();
  CHECK(after.users.size() == 2);
}

TEST_CASE("the unit of a process is the innermost in its cgroup path") {
  CHECK(parse_cgroup("0::/system.slice/feed.service\n") == "/system.slice/feed.service");
  CHECK(parse_cgroup("9:name=systemd:/a.scope\n8:pids:/x\n0::/b\n") == "/a.scope");
  CHECK(parse_cgroup("8:pids:/x\n").empty());
  CHECK(parse_cgroup("").empty());
  CHECK(parse_cgroup("0::/cut.serv").empty());
  struct Row {
    const char *cgroup, *unit;
  };
  for (const Row& row :
       {Row{"/system.slice/feed.service", "feed.service"}, Row{"/system.slice/feed.service/worker", "feed.service"},
        Row{"/user.slice/user-1000.slice/user@1000.service/app.slice/app-x.scope", "app-x.scope"},
        Row{"/system.slice", ""}, Row{"/", ""}, Row{"", ""}, Row{"x.scope", "x.scope"}}) {
    INFO(row.cgroup);
    CHECK(unit_of(row.cgroup) == row.unit);
  }
}

}  // namespace nrd::onload::users_test
