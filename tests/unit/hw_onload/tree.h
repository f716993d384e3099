// The files that hw/onload reads, as plain files and links in a temporary folder: /sys, /proc and /dev of an imaginary
// node. The tree's onload is the device 1:3, which is /dev/null on every host.
#pragma once

#include <cstdint>
#include <string>

#include "tests/support/temporary_tree.h"

namespace nrd::testing {

class Tree : public TemporaryTree {
 public:
  // An ELF note with a build id of four bytes.
  static std::string note(const std::string& id) { return std::string("\x04\0\0\0\x04\0\0\0\x03\0\0\0GNU\0", 16) + id; }
  static std::string module(const std::string& name, const std::string& file = "") {
    return "sys/module/" + name + "/" + file;
  }
  // As a module out of the tree looks that has no version.
  void load(const std::string& name, uint32_t refcnt = 0) {
    put(module(name, "initstate"), "live\n");
    put(module(name, "refcnt"), std::to_string(refcnt) + "\n");
    put(module(name, "taint"), "OE\n");
    put(module(name, "notes/.note.gnu.build-id"), note("\x12\x34\xab\xcd"));
    folder(module(name, "holders"));
  }
  void hold(const std::string& module_name, const std::string& by) {
    link(module(module_name, "holders/" + by), "../../" + by);
  }
};

}  // namespace nrd::testing
