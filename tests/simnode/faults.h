// Counts the writes to the simulated hardware and makes chosen ones go wrong. It stands between the mounted files and
// resctrl, cpufreq and the MSRs as another Tree, so the rules below know nothing of faults. A fault happens once, then
// it is used up. All trees of a node count together: the order of writes is what a test asks about.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tree.h"

namespace nrd::simnode {

struct Fault {
  enum class Kind { Errno, Lie, KillBefore, KillAfter, Delay };
  Kind kind = Kind::Errno;
  int error = 0;                       // of Errno
  std::chrono::milliseconds delay{0};  // of Delay
};

class Faults {
 public:
  long writes() const { return writes_; }
  const std::vector<std::string>& log() const { return log_; }  // "write COS1/schemata L3:0=3\n", "mkdir COS1", …
  void reset();
  void fail_write(long nth_from_now, Fault fault) { write_faults_[writes_ + nth_from_now] = fault; }
  void fail_read(const std::string& path, int error) { read_faults_[path] = error; }

  int count(std::string what, pid_t writer, const std::function<int()>& apply);
  int take_read_fault(const std::string& path);  // 0: none

 private:
  long writes_ = 0;
  std::vector<std::string> log_;
  std::map<long, Fault> write_faults_;
  std::map<std::string, int> read_faults_;
};

class FaultyTree : public Tree {
 public:
  // The prefix makes paths of `below` to what the log and `fault read` call them.
  FaultyTree(Tree& below, Faults& faults, std::string prefix)
      : below_(below), faults_(faults), prefix_(std::move(prefix)) {}

  std::optional<mode_t> mode(const std::string& path) override;
  std::vector<std::string> list(const std::string& folder) override { return below_.list(folder); }
  int open(const std::string& path) override { return below_.open(path); }
  bool has_registers(const std::string& path) override { return below_.has_registers(path); }
  int read(const std::string& path, std::string& content) override;
  int write(const std::string& path, std::string_view text, pid_t writer) override;
  int make_folder(const std::string& path, pid_t writer) override;
  int remove_folder(const std::string& path, pid_t writer) override;

 private:
  Tree& below_;
  Faults& faults_;
  std::string prefix_;
  std::string promised_;  // a folder whose mkdir was a lie: the kernel looks at it once before mkdir(2) returns
};

}  // namespace nrd::simnode
