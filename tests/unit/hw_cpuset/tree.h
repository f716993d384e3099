// The files that hw/cpuset reads, as plain files in a temporary folder.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace nrd::testing {

class Tree {
 public:
  Tree() {
    std::string name = "/dev/shm/nrd-cpuset-XXXXXX";
    root_ = ::mkdtemp(name.data());
  }
  ~Tree() { std::filesystem::remove_all(root_); }
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;

  const std::string& root() const { return root_; }
  void put(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root_ + "/" + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
  }
  // A cgroup with the cpuset controller.
  void cgroup(const std::string& path, const std::string& cpus, const std::string& partition = "member") {
    put(path + "/cpuset.cpus", cpus + "\n");
    put(path + "/cpuset.cpus.effective", (cpus.empty() ? "0-7" : cpus) + "\n");
    put(path + "/cpuset.cpus.partition", partition + "\n");
    put(path + "/cgroup.procs", "");
  }

 private:
  std::string root_;
};

}  // namespace nrd::testing
