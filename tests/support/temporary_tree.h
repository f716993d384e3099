// Files, folders and links in a temporary folder, gone with the object. Names are below that folder.
#pragma once

#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>

namespace nrd::testing {

class TemporaryTree {
 public:
  TemporaryTree() {
    std::string name = "/dev/shm/nrd-test-XXXXXX";  // in memory: tests make hundreds, and need no real sync
    if (::mkdtemp(name.data()) == nullptr) throw std::system_error(errno, std::generic_category(), name);
    root_ = name;
  }
  ~TemporaryTree() { std::filesystem::remove_all(root_); }
  TemporaryTree(const TemporaryTree&) = delete;
  TemporaryTree& operator=(const TemporaryTree&) = delete;

  const std::string& root() const { return root_; }
  std::string path(const std::string& name) const { return root_ + "/" + name; }

  // Its path.
  std::string put(const std::string& file, const std::string& text) const {
    std::ofstream(in_its_folder(file), std::ios::binary) << text;
    return path(file);
  }
  std::string get(const std::string& file) const {
    std::ifstream stream(path(file), std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  bool has(const std::string& name) const {
    return std::filesystem::exists(std::filesystem::symlink_status(path(name)));
  }
  void remove(const std::string& name) const { std::filesystem::remove_all(path(name)); }
  void rename(const std::string& from, const std::string& to) const { std::filesystem::rename(path(from), path(to)); }
  void folder(const std::string& name) const { std::filesystem::create_directories(path(name)); }
  // Replaces a file or a link.
  void link(const std::string& name, const std::string& target) const {
    std::filesystem::remove(path(name));
    std::filesystem::create_symlink(target, in_its_folder(name));
  }
  void mode(const std::string& name, unsigned bits) const {
    std::filesystem::permissions(path(name), static_cast<std::filesystem::perms>(bits));
  }
  // Permission bits; 0 if there is none with this name.
  unsigned mode(const std::string& name) const {
    struct stat what = {};
    return ::lstat(path(name).c_str(), &what) == 0 ? what.st_mode & 07777 : 0;
  }

 private:
  std::filesystem::path in_its_folder(const std::string& name) const {
    const std::filesystem::path whole = path(name);
    std::filesystem::create_directories(whole.parent_path());
    return whole;
  }

  std::string root_;
};

}  // namespace nrd::testing
