// On processes of this host.
#include "hw/cpuset/affinity.h"

#include <doctest/doctest.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>
#include <vector>

#include "base/task.h"

namespace nrd::affinity_test {

using cpuset::Masks;

namespace {

// A child with four threads.
class Child {
 public:
  Child() {
    int ready[2];
    REQUIRE(::pipe(ready) == 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      std::vector<std::thread> threads;
      for (int i = 0; i < 3; ++i) threads.emplace_back([] { ::pause(); });
      [[maybe_unused]] const ssize_t written = ::write(ready[1], "x", 1);
      ::pause();
      ::_exit(0);
    }
    char byte = 0;
    REQUIRE(::read(ready[0], &byte, 1) == 1);
    ::close(ready[0]);
    ::close(ready[1]);
    task = find_task(pid_).value()->task;
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() { end(); }
  void end() {
    if (pid_ == 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

  Task task;

 private:
  pid_t pid_ = 0;
};

// Of the CPUs where this process may run.
CpuId last_cpu() { return cpuset::masks_of(find_task(::getpid()).value()->task).value()->cpus.members().back(); }

}  // namespace

TEST_CASE("each thread of a process gets the mask, and its own one back") {
  const Child child;
  const Masks before = cpuset::masks_of(child.task).value().value();
  CHECK(before.exceptions.empty());
  const CpuSet one{last_cpu().value};
  const std::vector<pid_t> threads = threads_of(child.task).value();
  REQUIRE(threads.size() == 4);

  Masks wanted{.cpus = before.cpus};
  wanted.exceptions[threads[2]] = one;
  REQUIRE(cpuset::apply(child.task, wanted));
  CHECK(cpuset::masks_of(child.task).value() == (one == before.cpus ? before : wanted));

  REQUIRE(cpuset::apply(child.task, {.cpus = one}));
  CHECK(cpuset::masks_of(child.task).value() == Masks{.cpus = one});
  REQUIRE(cpuset::apply(child.task, wanted));
  CHECK(cpuset::masks_of(child.task).value() == (one == before.cpus ? before : wanted));
}

TEST_CASE("a process that has ended has no mask, and nothing is set") {
  Child child;
  const Task task = child.task;
  child.end();
  CHECK(cpuset::masks_of(task).value() == std::nullopt);
  CHECK(cpuset::apply(task, {.cpus = CpuSet{0}}));
}

TEST_CASE("a mask without a CPU of this host is an error that names thread and CPUs") {
  const Child child;
  const auto applied = cpuset::apply(child.task, {.cpus = CpuSet{8191}});
  REQUIRE_FALSE(applied);
  CHECK(applied.error().code == ErrorCode::Hardware);
  CHECK(applied.error().message.find("thread " + std::to_string(child.task.id)) != std::string::npos);
  CHECK(applied.error().detail.find("8191") != std::string::npos);
}

TEST_CASE("the kernel clips a mask and reports success: that is an error") {
  const Child child;
  const auto applied = cpuset::apply(child.task, {.cpus = CpuSet{last_cpu().value, 8191}});
  REQUIRE_FALSE(applied);
  CHECK(applied.error().detail.find("it has " + std::to_string(last_cpu().value)) != std::string::npos);
}

TEST_CASE("the recorded mask includes offline CPUs") {
  CHECK(cpuset::allowed_in_status("Name:\tfeed\nCpus_allowed:\t50\nCpus_allowed_list:\t4,6\nMems_allowed:\t1\n") ==
        (CpuSet{4, 6}));
  CHECK(cpuset::allowed_in_status("Name:\tfeed\nCpus_allowed_list:\t4,6") == (CpuSet{4, 6}));
  CHECK_FALSE(cpuset::allowed_in_status(""));
  CHECK_FALSE(cpuset::allowed_in_status("Name:\tfeed\nCpus_allowed_list:\tx\n"));
}

}  // namespace nrd::affinity_test
