// Runs inside nrd-simnode: hw/rdt/rdt.h, the real libpqos, and a kernel interface with fault injection.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <future>
#include <ostream>
#include <sstream>

#include "base/unique_fd.h"
#include "hw/rdt/rdt.h"
#include "tests/unit/results.h"

namespace nrd::rdt {

using namespace nrd::testing;

namespace {

// libpqos takes the socket for the id of an L3 cache on Intel's CPUs: other ids than 0 and 1 would leave it out there.
constexpr CacheId kFirst{3, 1};   // of CPUs 0-7
constexpr CacheId kSecond{3, 0};  // of CPUs 8-15
const std::string kTree = "/sys/fs/resctrl/";

// The simulated node's control socket: one line asked, one line answered.
class Control {
 public:
  Control() : socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, std::getenv("NRD_SIMNODE_CONTROL"), sizeof address.sun_path - 1);
    REQUIRE(::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  }

  std::string ask(const std::string& request) {
    const std::string line = request + "\n";
    REQUIRE(::write(socket_.get(), line.data(), line.size()) == static_cast<ssize_t>(line.size()));
    std::string answer;
    for (char letter = 0; ::read(socket_.get(), &letter, 1) == 1 && letter != '\n';) answer += letter;
    INFO(request << ": " << answer);
    REQUIRE(answer.starts_with("ok"));
    return answer;
  }

 private:
  UniqueFd socket_;
};

// A node fresh from boot, and hw/rdt started on it.
struct Booted {
  Booted() {
    control.ask("reset");
    control.ask("wipe");
  }
  Rdt& start() {
    started = *Rdt::start();
    REQUIRE(started->discover()->main().cat.has_value());
    control.ask("reset");
    return *started;
  }
  Control control;
  std::unique_ptr<Rdt> started;
};

struct Started : Booted {
  Rdt& rdt = start();
};

std::string content(const std::string& file) {
  std::ifstream stream(kTree + file);
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

// One workload as the engine asks for it: CPUs 2 to 5 with the upper four ways, the OS with the rest.
Setting one_workload() {
  Setting wanted;
  wanted.ways[ClosId{0}][kFirst] = WayMask(0x07f);
  wanted.ways[ClosId{3}][kFirst] = WayMask(0x780);
  for (const uint32_t cpu : {2U, 3U, 4U, 5U}) wanted.cpus[CpuId{cpu}] = ClosId{3};
  wanted.made = {ClosId{3}};
  return wanted;
}

Setting nothing_granted() {
  Setting wanted;
  wanted.ways[ClosId{0}][kFirst] = WayMask(0x7ff);
  wanted.removed = {ClosId{3}};
  for (const uint32_t cpu : {2U, 3U, 4U, 5U}) wanted.cpus[CpuId{cpu}] = ClosId{0};
  return wanted;
}

bool holds(const Observed& observed, const Setting& setting) {
  for (const auto& [clos, caches] : setting.ways) {
    for (const auto& [cache, ways] : caches) {
      if (observed.classes.at(clos).ways.at(cache) != ways) return false;
    }
  }
  for (const auto& [cpu, clos] : setting.cpus) {
    if (!observed.classes.at(clos).cpus.contains(cpu)) return false;
  }
  for (const ClosId clos : setting.removed) {
    if (observed.classes.contains(clos)) return false;
  }
  return true;
}

constexpr int kWritesOfOneWorkload = 4;  // a group, two masks, and four CPUs at once

}  // namespace

TEST_SUITE_BEGIN("present");

TEST_CASE("discovery names caches by the kernel's ids and tells which classes there are") {
  Booted node;
  const Node found = value_of(node.start().discover());
  CHECK(found.possible == CpuSet::first(16));
  CHECK(found.online == CpuSet::first(16));
  CHECK(found.main().caches ==
        std::map<CacheId, CpuSet>{{kFirst, CpuSet::first(8)}, {kSecond, CpuSet::first(16) - CpuSet::first(8)}});
  CHECK(found.sockets == std::map<CacheId, int>{{kFirst, 0}, {kSecond, 1}});
  REQUIRE(found.main().cat.has_value());
  CHECK(found.main().cat->classes == 16);
  CHECK(found.main().cat->ways == 11);
  CHECK(found.missing.empty());
}

TEST_CASE("the kernel shows the converged setting") {
  Started node;
  REQUIRE(node.rdt.converge(one_workload()).has_value());
  CHECK(content("COS3/cpus_list") == "2-5\n");
  const Observed observed = *node.rdt.observe();
  CHECK(observed.classes.at(ClosId{3}).ways ==
        std::map<CacheId, WayMask>{{kFirst, WayMask(0x780)}, {kSecond, WayMask(0x7ff)}});
  CHECK(holds(*node.rdt.observe(), one_workload()));
}

TEST_CASE("a converge writes each knob that differs once and the rest not at all") {
  Started node;
  REQUIRE(node.rdt.converge(one_workload()).has_value());
  CHECK(node.control.ask("count") == "ok writes=" + std::to_string(kWritesOfOneWorkload));
  node.control.ask("reset");
  REQUIRE(node.rdt.converge(one_workload()).has_value());
  CHECK(node.control.ask("count") == "ok writes=0");
}

TEST_CASE("a write that the kernel swallowed is never taken for done") {
  Started node;
  for (int write = 1; write <= kWritesOfOneWorkload; ++write) {
    INFO("write " << write);
    node.control.ask("fault write " + std::to_string(write) + " lie");
    const Error refused = error_of(node.rdt.converge(one_workload()));
    CHECK(refused.code == ErrorCode::Hardware);
    const bool names_knob = refused.message.find(" did not take ways 0x") != std::string::npos ||
                            refused.message.find(" did not move to class COS3") != std::string::npos;
    CHECK(names_knob);
    REQUIRE(node.rdt.converge(nothing_granted()).has_value());
    CHECK(holds(*node.rdt.observe(), nothing_granted()));
  }
}

TEST_CASE("a mask that reads back differently is refused with what was found") {
  Started node;
  Setting wanted;
  wanted.made = {ClosId{3}};
  wanted.ways[ClosId{3}][kFirst] = WayMask(0x00f);
  node.control.ask("fault write 2 lie");
  CHECK(node.rdt.converge(wanted).error().message == "class COS3 on cache 1 did not take ways 0x00f (found 0x7ff)");
}

TEST_CASE("a write that fails is refused and the setting before can be restored") {
  Started node;
  for (const char* error : {"EIO", "EPERM"}) {
    for (int write = 1; write <= kWritesOfOneWorkload; ++write) {
      INFO(error << " at write " << write);
      node.control.ask("fault write " + std::to_string(write) + " errno " + error);
      const Error refused = error_of(node.rdt.converge(one_workload()));
      CHECK(refused.code == ErrorCode::Hardware);
      const std::string& detail = refused.detail;
      const bool names_call = detail.find("libpqos") != std::string::npos ||
                              detail.find("cpus_list") != std::string::npos ||
                              detail.find("COS3: ") != std::string::npos;
      CHECK(names_call);
      REQUIRE(node.rdt.converge(nothing_granted()).has_value());
      CHECK(holds(*node.rdt.observe(), nothing_granted()));
    }
  }
}

TEST_CASE("a wiped tree is served again without a restart") {
  Started node;
  REQUIRE(node.rdt.converge(one_workload()).has_value());
  node.control.ask("wipe");
  const Observed observed = value_of(node.rdt.observe());
  CHECK(observed.classes.size() == 1);
  REQUIRE(node.rdt.converge(one_workload()).has_value());
  CHECK(holds(*node.rdt.observe(), one_workload()));
}

TEST_CASE("a converge finds out by itself that the tree was wiped") {
  Started node;
  REQUIRE(node.rdt.converge(nothing_granted()).has_value());
  node.control.ask("wipe");
  REQUIRE(node.rdt.converge(one_workload()).has_value());
  CHECK(holds(*node.rdt.observe(), one_workload()));
}

TEST_CASE("a group that others removed is made again") {
  Started node;
  REQUIRE(node.rdt.converge(one_workload()).has_value());
  node.control.ask("vanish COS3");
  Setting other = one_workload();
  other.ways[ClosId{3}][kFirst] = WayMask(0x700);
  REQUIRE(node.rdt.converge(other).has_value());
  CHECK(holds(*node.rdt.observe(), other));
}

TEST_CASE("while the RMIDs of removed groups are busy a new group is waited for") {
  Started node;
  node.control.ask("fault write 1 errno EBUSY");
  CHECK(node.rdt.converge(one_workload()).has_value());
}

TEST_CASE("after the start no group exists, and groups are made and removed as they are needed") {
  Started node;
  CHECK(node.rdt.discover()->writer->reason == "it sees the caches and classes that resctrl has");
  CHECK(node.rdt.group_names()->empty());
  REQUIRE(node.rdt.converge(one_workload()).has_value());
  CHECK(*node.rdt.group_names() == std::set<std::string>{"COS3"});
  REQUIRE(node.rdt.converge(nothing_granted()).has_value());
  CHECK(node.rdt.group_names()->empty());
  CHECK(content("cpus_list") == "0-15\n");
}

TEST_CASE("a group beyond the last class is refused with the kernel's words") {
  Started node;
  for (int group = 1; group < 16; ++group) REQUIRE(::mkdir((kTree + "g" + std::to_string(group)).c_str(), 0755) == 0);
  const Error refused = error_of(node.rdt.converge(one_workload()));
  CHECK(refused.code == ErrorCode::NoClass);
  REQUIRE(::rmdir((kTree + "g7").c_str()) == 0);
  CHECK(node.rdt.converge(one_workload()).has_value());
}

TEST_CASE("a foreign group with a name of nrd is not adopted") {
  Started node;
  REQUIRE(node.rdt.observe().has_value());
  REQUIRE(::mkdir((kTree + "COS3").c_str(), 0755) == 0);
  const Error refused = error_of(node.rdt.converge(one_workload()));
  CHECK(refused.message == "cannot create the resctrl group of a class of service");
}

TEST_CASE("beside a foreign group masks are written to resctrl, and the group is seen") {
  Booted node;
  REQUIRE(::mkdir((kTree + "theirs").c_str(), 0755) == 0);
  const std::unique_ptr<Rdt> rdt = *Rdt::start();
  const Result<Node> found = rdt->discover();
  CHECK(found->main().cat->classes == 16);
  CHECK_FALSE(found->writer->is_libpqos);
  CHECK(found->writer->reason == "group theirs holds a class of service, and libpqos needs every class");
  CHECK(rdt->converge(one_workload()).has_value());
  CHECK(holds(*rdt->observe(), one_workload()));
  CHECK(rdt->observe()->foreign.contains("theirs"));
}

TEST_CASE("a group is seen whatever its name") {
  Booted node;
  REQUIRE(::mkdir((kTree + ".theirs").c_str(), 0755) == 0);
  CHECK(node.start().observe()->foreign.contains(".theirs"));
}

TEST_CASE("a CPU that came online after the start can be moved") {
  Booted node;
  node.control.ask("offline 3");
  Rdt& rdt = node.start();
  CHECK(rdt.discover()->online == CpuSet::first(16) - CpuSet{3});
  node.control.ask("online 3");
  REQUIRE(rdt.converge(one_workload()).has_value());
  CHECK(content("COS3/cpus_list") == "2-5\n");
}

TEST_CASE("a permanently locked tree is a failure after a moment and not a hang") {
  Started node;
  {
    const UniqueFd tree(::open(kTree.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    REQUIRE(::flock(tree.get(), LOCK_EX) == 0);
    const auto begun = std::chrono::steady_clock::now();
    const Result<void> refused = node.rdt.converge(one_workload());
    CHECK(std::chrono::steady_clock::now() - begun < std::chrono::seconds(5));
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().detail.find("timeout") != std::string::npos);
    Setting cpus_alone;
    cpus_alone.made = {ClosId{3}};
    cpus_alone.cpus = {{CpuId{2}, ClosId{3}}, {CpuId{3}, ClosId{3}}};
    const Error unmoved = error_of(node.rdt.converge(cpus_alone));
    CHECK(unmoved.message == "CPUs 2-3 did not move to class COS3");
    CHECK(unmoved.detail.find("the resctrl tree is locked by ") != std::string::npos);
    const Error free = error_of(node.rdt.await_locks());
    CHECK(free.code == ErrorCode::Busy);
  }
  CHECK(node.rdt.await_locks().has_value());
  CHECK(node.rdt.converge(one_workload()).has_value());
}

TEST_CASE("the tree is locked while CPUs are read and written") {
  using Clock = std::chrono::steady_clock;
  constexpr auto kShort = std::chrono::milliseconds(100);
  Started node;
  Setting wanted;
  wanted.made = {ClosId{3}};
  REQUIRE(node.rdt.converge(wanted).has_value());
  wanted.cpus[CpuId{2}] = ClosId{3};
  const UniqueFd tree(::open(kTree.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  node.control.ask("fault write 1 delay 300");
  std::future<Result<void>> converged = std::async(std::launch::async, [&] { return node.rdt.converge(wanted); });
  Clock::time_point last_free = Clock::now();
  Clock::duration longest{};
  while (converged.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready) {
    const bool is_free = ::flock(tree.get(), LOCK_SH | LOCK_NB) == 0;
    ::flock(tree.get(), LOCK_UN);
    longest = std::max(longest, Clock::now() - last_free);
    if (is_free) last_free = Clock::now();
  }
  CHECK(converged.get().has_value());
  CHECK(longest > kShort);
}

TEST_SUITE_END();

TEST_SUITE_BEGIN("absent");

TEST_CASE("a node without RDT starts and says what is missing") {
  const std::unique_ptr<Rdt> rdt = value_of(Rdt::start());
  const Node found = value_of(rdt->discover());
  CHECK_FALSE(found.main().cat.has_value());
  CHECK(found.online == CpuSet::first(16));
  CHECK(found.main().caches.size() == 2);
  REQUIRE(found.missing.size() == 1);
  CHECK(found.missing.front().starts_with("L3 CAT: the kernel has no resctrl file system"));
  CHECK(*rdt->observe() == Observed{});
  CHECK(rdt->converge({}).has_value());
  const Error refused = error_of(rdt->converge(one_workload()));
  CHECK(refused.code == ErrorCode::Unsupported);
  CHECK(refused.message == found.missing.front());
}

TEST_SUITE_END();

}  // namespace nrd::rdt
