// Finds interrupts, and threads of the kernel, that may run on CPUs of a pool. A line is for one device or one kind of
// thread:
//
//   interrupt  nvme0  4-5  2 interrupts of nvme0 may arrive (30, 31); the kernel does not move them
#pragma once

#include <string>
#include <vector>

#include "hw/cpuset/types.h"

namespace nrd::cpuset {

// "nvme0" of "nvme0q12", "eth0-rx" of "eth0-rx-3".
std::string device_of(std::string_view interrupt_name);

// `root`: of the files, "" on a host. Any thread; takes time: reads files of each interrupt and each process.
std::vector<Disturbance> find_interrupts(const CheckQuery& query, const std::string& root);
std::vector<Disturbance> find_kernel_threads(const CheckQuery& query, const std::string& root);

}  // namespace nrd::cpuset
