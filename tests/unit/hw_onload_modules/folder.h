// A temporary folder in place of "/". The user who runs the test owns it, and is trusted as root would be. A test
// creates what it needs in it, also files that must not be trusted.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "hw/onload/trusted_dir.h"

namespace nrd::testing {

class Folder {
 public:
  Folder() {
    ::umask(022);
    std::string name = "/dev/shm/nrd-modules-XXXXXX";
    root_ = ::mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(root_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  onload::Trust trust() const { return {.root = root_, .owner = ::geteuid()}; }
  std::string path(const std::string& file) const { return root_ + "/" + file; }

  void put(const std::string& file, const std::string& text) {
    folder_of(file);
    std::ofstream(path(file), std::ios::binary) << text;
  }
  std::string get(const std::string& file) const {
    std::ifstream stream(path(file), std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  bool has(const std::string& file) const {
    return std::filesystem::exists(std::filesystem::symlink_status(path(file)));
  }
  void folder(const std::string& name) { std::filesystem::create_directories(path(name)); }
  void link(const std::string& file, const std::string& target) {
    folder_of(file);
    std::filesystem::create_symlink(target, path(file));
  }
  void mode(const std::string& file, unsigned bits) {
    std::filesystem::permissions(path(file), static_cast<std::filesystem::perms>(bits));
  }
  unsigned mode(const std::string& file) const {
    struct stat what = {};
    return ::lstat(path(file).c_str(), &what) == 0 ? what.st_mode & 07777 : 0;
  }
  void rename(const std::string& from, const std::string& to) { std::filesystem::rename(path(from), path(to)); }
  void remove(const std::string& file) { std::filesystem::remove_all(path(file)); }

 private:
  void folder_of(const std::string& file) {
    std::filesystem::create_directories(std::filesystem::path(path(file)).parent_path());
  }

  std::string root_;
};

// All that can be read from a descriptor from here on.
inline std::string text_of(const UniqueFd& fd) {
  std::string text(size_t{1} << 16, '\0');
  const ssize_t got = ::read(fd.get(), text.data(), text.size());
  text.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return text;
}

}  // namespace nrd::testing
