// The files that hw/onload reads, as plain files and links in a temporary folder: /sys, /proc and /dev of an imaginary
// node. The tree's onload is the device 1:3, which is /dev/null on every host.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace nrd::testing {

class Tree {
 public:
  Tree() {
    std::string name = "/dev/shm/nrd-onload-XXXXXX";
    root_ = ::mkdtemp(name.data());
  }
  ~Tree() { std::filesystem::remove_all(root_); }
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;

  const std::string& root() const { return root_; }
  std::string path(const std::string& file) const { return root_ + "/" + file; }

  void put(const std::string& file, const std::string& text) {
    folder_of(file);
    std::ofstream(path(file), std::ios::binary) << text;
  }
  std::string get(const std::string& file) const {
    std::ifstream stream(path(file), std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  void remove(const std::string& file) { std::filesystem::remove_all(path(file)); }
  void folder(const std::string& name) { std::filesystem::create_directories(path(name)); }
  void link(const std::string& file, const std::string& target) {
    folder_of(file);
    std::filesystem::remove(path(file));
    std::filesystem::create_symlink(target, path(file));
  }
  void mode(const std::string& file, unsigned bits) {
    std::filesystem::permissions(path(file), static_cast<std::filesystem::perms>(bits));
  }

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

 private:
  void folder_of(const std::string& file) {
    std::filesystem::create_directories(std::filesystem::path(path(file)).parent_path());
  }

  std::string root_;
};

}  // namespace nrd::testing
