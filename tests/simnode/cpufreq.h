// The rules of cpufreq (Linux drivers/cpufreq/cpufreq.c) as a plain state machine: policies, each the CPUs that are set
// together, and what may be written to them. A store answers 0 or an errno. All frequencies are kHz.
//
// What is written to min and max is kept as a request; what holds is the request within the hardware's limits. So a
// maximum of 3.5 GHz is 2.2 GHz while turbo is off, and 3.5 GHz again afterwards. A driver with a table (acpi-cpufreq)
// resolves what holds to its entries, a maximum down and a minimum up (cpufreq_set_policy() since 5.14). A limit that
// was written holds once a worker of the kernel has run (Frequencies::applied_after).
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "machine.h"

namespace nrd::simnode {

struct Driver {
  enum class Maker { Intel, Acpi, Amd };
  std::string name;  // scaling_driver
  Maker maker;
  bool active;  // it finds frequencies itself, so there are two governors only, and their meaning is its own
  bool epp;     // it has energy_performance_preference
};

struct Policy {
  Cpus cpus;  // offline ones too
  long min_request, max_request;
  std::string governor;
  std::string epp;  // as last chosen; see Cpufreq::epp
  long speed;       // of the governor userspace
  // What holds until the requests do.
  long min_before = 0, max_before = 0;
  std::chrono::steady_clock::time_point applied{};
  bool is_applied() const { return std::chrono::steady_clock::now() >= applied; }
};

class Cpufreq {
 public:
  explicit Cpufreq(const Machine& machine);

  const std::optional<Driver>& driver() const { return driver_; }
  const Machine& machine() const { return machine_; }
  const std::map<int, Policy>& policies() const { return policies_; }  // by their lowest CPU
  Policy* policy(int lowest_cpu);
  const Policy* policy_of(int cpu) const;
  Cpus online(const Policy& policy) const;

  long lowest() const { return machine_.shape().freq.min * 1000L; }
  long base() const { return machine_.shape().freq.base * 1000L; }
  long highest() const { return machine_.shape().freq.max * 1000L; }
  bool turbo() const { return turbo_; }
  int min_percent() const { return min_percent_; }
  int max_percent() const { return max_percent_; }

  std::vector<long> steps() const;  // descending; empty: the driver has no table
  std::vector<std::string> governors() const;
  static const std::vector<std::string>& epps();
  long min(const Policy& policy) const;
  long max(const Policy& policy) const;
  long current(const Policy& policy) const;
  std::string epp(const Policy& policy) const;  // under the governor performance of an active driver always that

  int store_min(Policy& policy, std::string_view text);
  int store_max(Policy& policy, std::string_view text);
  int store_governor(Policy& policy, std::string_view text);
  int store_epp(Policy& policy, std::string_view text);
  int store_speed(Policy& policy, std::string_view text);
  int store_turbo(std::string_view text);     // cpufreq/boost
  int store_no_turbo(std::string_view text);  // intel_pstate/no_turbo
  int store_min_percent(std::string_view text);
  int store_max_percent(std::string_view text);
  int store_status(std::string_view text);  // intel_pstate/status: another driver, and new policies

  void wipe();  // as after a boot

 private:
  void use(CpufreqDriver driver);
  int request(Policy& policy, long min, long max);
  long limited(long frequency) const;

  const Machine& machine_;
  std::optional<Driver> driver_;
  std::map<int, Policy> policies_;
  bool turbo_ = true;
  int min_percent_ = 0;
  int max_percent_ = 100;
};

}  // namespace nrd::simnode
