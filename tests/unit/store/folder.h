// A folder for a database, gone with the test.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace nrd::testing {

class Folder {
 public:
  Folder() {
    // In memory: nothing here depends on a real sync, and hundreds of folders are made.
    std::string name = "/dev/shm/nrd-store-XXXXXX";
    path_ = ::mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string state() const { return path_ + "/state"; }
  std::string database() const { return state() + "/nrd.db"; }
  std::string other() const { return path_ + "/other"; }

 private:
  std::string path_;
};

}  // namespace nrd::testing
