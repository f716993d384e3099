#include "hw/onload/open_handles.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <ostream>

#include "tests/unit/hw_onload/processes.h"

namespace nrd::onload::open_handles_test {

using nrd::testing::kChar;
using nrd::testing::kEpoll;
using nrd::testing::kOnload;
using nrd::testing::OnloadNode;

namespace {

constexpr pid_t kPid = 5;

const std::map<DeviceNumber, HandleKind> kNumbers = {
    {{1, 3}, HandleKind::Stack}, {{1, 5}, HandleKind::Epoll}, {{1, 7}, HandleKind::Char}};

Result<OpenHandles> look(const OnloadNode& node, const SearchLimits& limits = {}, const KnownFiles& known = {}) {
  HandleScanner scanner(kNumbers, limits, known);
  return scanner.scan(ProcessDir::open(node.root(), kPid).value().value(), kPid);
}

}  // namespace

TEST_CASE("a mapping is parsed with blanks in its path") {
  CHECK(parse_mapping("7f00-7f10 rw-s 00001000 fd:1a 77                         /opt/on load/libonload.so (deleted)") ==
        Mapping{.range = "7f00-7f10", .file = {{0xfd, 0x1a}, 77}, .path = "/opt/on load/libonload.so (deleted)"});
  CHECK(parse_mapping("7f00-7f10 rw-p 00000000 00:00 0 ") == Mapping{.range = "7f00-7f10"});
  CHECK(parse_mapping("7f00-7f10 rw-p 00000000 00:00 0") == Mapping{.range = "7f00-7f10"});
}

TEST_CASE("a malformed mapping is refused") {
  for (const char* line : {"", "7f00-7f10", "7f00 rw-p 00000000 00:00 0", "7f00-7f10 rw 00000000 00:00 0",
                           "7f00-7f10 rw-p 0000zzzz 00:00 0", "7f00-7f10 rw-p 00000000 0000 0",
                           "7f00-7f10 rw-p 00000000 00:00 -1", "7f00-7f10 rw-p 00000000 00:00", "x-y rw-p 0 0:0 0"}) {
    INFO("\"" << line << "\"");
    CHECK(parse_mapping(line) == std::nullopt);
  }
}

TEST_CASE("the stack of a socket is read from its link") {
  CHECK(parse_stack_link("onload:[stack:0]") == 0);
  CHECK(parse_stack_link("onload:[tcp:3:17]") == 3);
  CHECK(parse_stack_link("onload:[tcpl:12:-1]") == 12);
  for (const char* link : {"onload:[]", "onload:[tcp]", "onload:[tcp:]", "onload:[tcp:x:1]", "onload:[tcp:1:2",
                           "/tmp/onload:[tcp:1:2]", "socket:[17]", ""}) {
    INFO("\"" << link << "\"");
    CHECK(parse_stack_link(link) == std::nullopt);
  }
}

TEST_CASE("the library is recognised by its name, wherever it lies") {
  for (const char* path :
       {"/usr/lib64/libonload.so", "/opt/onload/usr/lib64/libonload.so.1", "/x/libcitransport0.so"}) {
    CHECK(is_library(path));
  }
  for (const char* path : {"/usr/lib64/libonload_ext.so.2", "/usr/lib64/libc.so.6", "/libonload.so/x", ""}) {
    CHECK_FALSE(is_library(path));
  }
}

TEST_CASE("a device is recognised by its number, whatever its name") {
  OnloadNode node;
  node.run(kPid, "/usr/bin/feed");
  node.link("containers/7/anything", kOnload);
  node.open(kPid, 0, "/dev/tty");
  node.open(kPid, 3, node.path("containers/7/anything"));
  node.open(kPid, 4, kEpoll);
  node.open(kPid, 5, kChar);
  CHECK(look(node).value().files == std::vector<OpenFile>{{.pid = kPid, .fd = 3, .kind = HandleKind::Stack},
                                                          {.pid = kPid, .fd = 4, .kind = HandleKind::Epoll},
                                                          {.pid = kPid, .fd = 5, .kind = HandleKind::Char}});
}

TEST_CASE("sockets are recognised by their links, not by file names") {
  OnloadNode node;
  node.run(kPid, "/usr/bin/feed");
  node.open(kPid, 3, "onload:[tcp:3:17]");
  node.open(kPid, 4, "onload:[udp:4:1]");
  node.open(kPid, 5, "onload:[later kind]");
  node.put("onload:[tcp:9:1]", "");
  node.open(kPid, 6, node.path("onload:[tcp:9:1]"));
  node.open(kPid, 7, "socket:[1]");
  node.open(kPid, 8, "anon_inode:[eventpoll]");
  const OpenHandles handles = look(node).value();
  CHECK(handles.files.size() == 3);
  CHECK(handles.files.front().kind == HandleKind::Socket);
  CHECK(handles.stacks == std::set<uint32_t>{3, 4});
}

TEST_CASE("a descriptor opened with O_PATH does not hold the device") {
  OnloadNode node;
  node.run(kPid, "/usr/bin/feed");
  node.open(kPid, 3, kOnload);
  node.put(OnloadNode::process(kPid, "fdinfo/3"), "pos:\t0\nflags:\t012000000\nmnt_id:\t25\n");
  CHECK(look(node).value().empty());
  node.put(OnloadNode::process(kPid, "fdinfo/3"), "pos:\t0\nflags:\t02100002\nmnt_id:\t25\n");
  CHECK(look(node).value().files.size() == 1);
  node.put(OnloadNode::process(kPid, "fdinfo/3"), "");
  CHECK(look(node).value().files.size() == 1);
}

TEST_CASE("a mapped device counts as held without a descriptor, also in a container") {
  OnloadNode node;
  node.run(kPid, "/usr/bin/feed");
  node.map(kPid, "7f00-7f10", "/dev/anything", kOnload);
  node.map(kPid, "7f20-7f30", "/usr/lib/libc.so.6", "/dev/tty");
  node.map(kPid, "7f40-7f50", "/dev/sfc_char", "");
  const OpenHandles handles = look(node).value();
  CHECK(handles.mapped == std::set<HandleKind>{HandleKind::Stack});
  CHECK(handles.files.empty());
  CHECK_FALSE(handles.library.has_value());
  // Where the kernel does not lead to the file, as of a thread, the node itself is known and no name.
  CHECK(look(node, {}, {.nodes = {{{{0, 5}, 77}, HandleKind::Char}}, .library = {}}).value().mapped ==
        std::set<HandleKind>{HandleKind::Stack, HandleKind::Char});
}

TEST_CASE("a mapped library is reported with its path and whether it still exists") {
  OnloadNode node;
  node.run(kPid, "/usr/bin/feed");
  node.map(kPid, "7f00-7f10", "/opt/onload/usr/lib64/libonload.so (deleted)", "/usr/bin/env");
  CHECK(look(node).value().library ==
        Library{.path = "/opt/onload/usr/lib64/libonload.so", .deleted = true, .file = {{0, 5}, 77}});
}

TEST_CASE("a mapped file that only has the library's name is not counted") {
  OnloadNode node;
  node.run(kPid, "/usr/bin/feed");
  node.put("home/libonload.so.x", "of a user");
  REQUIRE(::chown(node.path("home/libonload.so.x").c_str(), 65534, 65534) == 0);
  node.map(kPid, "7f00-7f10", "/home/libonload.so.x", node.path("home/libonload.so.x"));
  node.map(kPid, "7f20-7f30", "/home/libonload.so (deleted)", "");
  node.map(kPid, "7f40-7f50", "/home/onload", "");
  CHECK(look(node).value().empty());
  CHECK(look(node, {}, {.nodes = {}, .library = FileId{{0, 5}, 77}}).value().library.has_value());
}

namespace {

struct Mapped {
  pid_t pid = 0;
  ~Mapped() {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
  }
};

// A process with that many mappings of a file whose path is as long as one can be. Each maps the same page, so that the
// kernel does not join them.
Mapped with_mappings(const std::string& path, size_t count) {
  std::array<int, 2> ready{};
  REQUIRE(::pipe(ready.data()) == 0);
  const pid_t pid = ::fork();
  if (pid == 0) {
    const int fd = ::open(path.c_str(), O_RDONLY);
    size_t made = 0;
    for (; made < count; ++made) {
      if (::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED) break;
    }
    const char well = made == count ? 1 : 0;
    (void)!::write(ready[1], &well, 1);
    for (;;) ::pause();
  }
  char well = 0;
  REQUIRE(::read(ready[0], &well, 1) == 1);
  CHECK(well == 1);
  ::close(ready[0]);
  ::close(ready[1]);
  return {.pid = pid};
}

[[maybe_unused]] size_t peak_kib() {
  struct rusage usage {};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<size_t>(usage.ru_maxrss);
}

}  // namespace

TEST_CASE("60,000 mappings with long paths are scanned in little memory") {
  OnloadNode node;
  std::string folder = "long";
  for (int i = 0; i < 14; ++i) folder += "/" + std::string(250, 'x');
  node.put(folder + "/file", std::string(4096, 'x'));
  const Mapped process = with_mappings(node.path(folder + "/file"), 60000);
  [[maybe_unused]] const size_t before = peak_kib();
  HandleScanner scanner(kNumbers, {});
  const Result<OpenHandles> held = scanner.scan(ProcessDir::open("", process.pid).value().value(), process.pid);
  REQUIRE(held.has_value());
  CHECK(held->mapped.empty());
  CHECK_FALSE(held->library.has_value());
#ifndef NRD_ADDRESS_SANITIZER          // which keeps what was given back
  CHECK(peak_kib() - before < 40000);  // the list has 220 MB
#endif
}

TEST_CASE("a process without handles holds nothing, nor does one that vanishes") {
  OnloadNode node;
  node.run(kPid, "/usr/bin/feed");
  CHECK(look(node).value().empty());
  node.open(kPid, 3, node.path("gone"));
  node.remove(OnloadNode::process(kPid, "maps"));
  CHECK(look(node).value().empty());
  node.remove(OnloadNode::process(kPid, "fd"));
  CHECK(look(node).value().empty());
}

TEST_CASE("malformed or excessive data is an error") {
  OnloadNode node;
  node.run(kPid, "/usr/bin/feed");
  node.put(OnloadNode::process(kPid, "maps"), "7f00-7f10 rw-p 00000000 00:00 0");
  CHECK_FALSE(look(node).has_value());
  node.put(OnloadNode::process(kPid, "maps"), "garbage\n");
  CHECK_FALSE(look(node).has_value());
  node.put(OnloadNode::process(kPid, "maps"), "7f00-7f10 rw-p 00000000 00:00 0\n");
  CHECK(look(node).has_value());
  node.put(OnloadNode::process(kPid, "maps"), std::string(65537, '7'));
  CHECK_FALSE(look(node).has_value());
  node.put(OnloadNode::process(kPid, "maps"), "");
  node.open(kPid, 3, kOnload);
  node.open(kPid, 4, kOnload);
  CHECK(look(node, {.files = 2}).has_value());
  CHECK_FALSE(look(node, {.files = 1}).has_value());
}

}  // namespace nrd::onload::open_handles_test
