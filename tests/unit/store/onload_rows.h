// Rows of Onload with something in every column.
#pragma once

#include "store/onload/records.h"

namespace nrd::testing {

inline store::OnloadGenerationRecord a_generation(uint64_t number) {
  using Time = store::OnloadGenerationRecord::Time;
  return {.number = number,
          .state = "loaded",
          .version = "9.0.1",
          .sfc = "managed",
          .users = "term",
          .drain = std::chrono::seconds(45),
          .on_failure = "stop",
          .parameters = {{"onload", {{"epoll_max_stacks", "8"}, {"max_packets_per_stack", "1024"}}},
                         {"sfc", {{"rss_cpus", "4"}}}},
          .control_plane = {"-K", "-h", "8"},
          .created = Time(std::chrono::milliseconds(1700000000123)),
          .verdict = "verified",
          .verified = Time(std::chrono::milliseconds(1700000000999))};
}

inline store::OnloadOperationRecord an_operation(uint64_t id) {
  using Time = store::OnloadGenerationRecord::Time;
  const Time time(std::chrono::milliseconds(1700000000500));
  return {.id = id,
          .generation = 2,
          .fallback = 1,
          .outcome = "running",
          .started = time,
          .finished = {},
          .cause = "syscall_table",
          .message = "the kernel is too new",
          .steps = {{.act = "insert",
                     .subject = "onload",
                     .progress = "failed",
                     .started = time,
                     .finished = time,
                     .cause = "syscall_table",
                     .message = "no",
                     .kernel = "line one\nline two"},
                    {.act = "remove", .subject = "sfc_char", .progress = "running", .started = time}},
          .errand = "drain",
          .users = "term",
          .drain = std::chrono::seconds(7),
          .interfaces = {{"0000:03:00.0", "00:0f:53:00:00:01", "enp3s0f0"}, {"", "00:0f:53:00:00:02", "enp3s0f1"}}};
}

inline store::OnloadInterfaceRecord an_interface(const std::string& pci, std::optional<bool> registered = {}) {
  return {.pci = pci, .mac = "00:0f:53:00:00:01", .accelerated = false, .registered = registered};
}

inline store::OnloadAllocationRecord an_allocation(uint64_t id) {
  return {.id = id,
          .owner = {.pid = 4711, .start = 123456789, .boot_id = "boot-1"},
          .generation = 2,
          .version = "9.0.1",
          .created = store::OnloadGenerationRecord::Time(std::chrono::milliseconds(1700000000321))};
}

}  // namespace nrd::testing
