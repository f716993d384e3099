// Processes of a made-up node. What it calls onload, onload_epoll and sfc_char are /dev/null, /dev/zero and /dev/full:
// devices that are everywhere and whose numbers never change.
#pragma once

#include <cstdint>
#include <string>

#include "tests/unit/hw_onload/tree.h"

namespace nrd::testing {

constexpr const char* kOnload = "/dev/null";
constexpr const char* kEpoll = "/dev/zero";
constexpr const char* kChar = "/dev/full";

// A node with the three modules and their devices, without users.
class OnloadNode : public Tree {
 public:
  OnloadNode() {
    load("onload");
    load("sfc_char", 1);
    hold("sfc_char", "onload");
    load("sfc_resource", 2);
    hold("sfc_resource", "onload");
    hold("sfc_resource", "sfc_char");
    put("sys/class/onload/onload/dev", "1:3\n");
    put("sys/class/onload_epoll/onload_epoll/dev", "1:5\n");
    put("sys/class/sfc_char/sfc_char/dev", "1:7\n");
    put("proc/driver/onload/stacks_ul", "");
    put("proc/driver/onload/stacks_k", "");
    put("proc/driver/onload/cp_server_pids", "");
  }

  void references(const std::string& name, uint32_t count) {
    put(module(name, "refcnt"), std::to_string(count) + "\n");
  }

  static std::string process(uint32_t pid, const std::string& file = "") {
    return "proc/" + std::to_string(pid) + "/" + file;
  }
  // Started at tick 1000 + pid, as user 1000, in feed.service.
  void run(uint32_t pid, const std::string& exe, char state = 'S') {
    put(process(pid, "stat"), std::to_string(pid) + " (comm) " + state +
                                  " 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 " + std::to_string(1000 + pid) +
                                  " 20\n");
    put(process(pid, "status"), "Name:\tcomm\nUid:\t0\t1000\t0\t0\n");
    put(process(pid, "cgroup"), "0::/system.slice/feed.service\n");
    put(process(pid, "maps"), "");
    folder(process(pid, "fd"));
    folder(process(pid, "map_files"));
    link(process(pid, "exe"), exe);
  }
  void open(uint32_t pid, uint32_t fd, const std::string& target) {
    link(process(pid, "fd/" + std::to_string(fd)), target);
  }
  void map(uint32_t pid, const std::string& range, const std::string& path, const std::string& target) {
    put(process(pid, "maps"),
        get(process(pid, "maps")) + range + " rw-s 00000000 00:05 77                         " + path + "\n");
    if (!target.empty()) link(process(pid, "map_files/" + range), target);
  }
};

}  // namespace nrd::testing
