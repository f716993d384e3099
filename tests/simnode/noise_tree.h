// Where interrupts and other work of the kernel run: queues of a network card, and of an NVMe drive, which cannot be
// moved (proc/irq), unbound workqueues (sys/devices/virtual/workqueue/cpumask), the watchdog
// (proc/sys/kernel/watchdog_cpumask).
#pragma once

#include <map>

#include "machine.h"
#include "tree.h"

namespace nrd::simnode {

class NoiseTree : public Tree {
 public:
  explicit NoiseTree(const Machine& machine) : machine_(machine) { wipe(); }

  void wipe();  // a reboot

  std::optional<mode_t> mode(const std::string& path) override;
  std::vector<std::string> list(const std::string& folder) override;
  int read(const std::string& path, std::string& content) override;
  int write(const std::string& path, std::string_view text, pid_t writer) override;

 private:
  const Machine& machine_;
  std::map<std::string, Cpus> files_;  // by path
};

}  // namespace nrd::simnode
