#include "file_map.h"

#include <sys/stat.h>

#include "tree.h"

namespace nrd::simnode {

void FileMap::insert(const std::string& path, File file) {
  files_[path] = std::move(file);
  for (FilePath child = split_path(path); !child.file.empty(); child = split_path(child.folder)) {
    folders_[child.folder].insert(child.file);
  }
}

void FileMap::add(const std::string& path, std::string content) {
  insert(path, {S_IFREG | 0444, std::move(content), nullptr});
}

void FileMap::add_link(const std::string& path, std::string target) {
  insert(path, {S_IFLNK | 0777, std::move(target), nullptr});
}

void FileMap::add_writable(const std::string& path, std::string content, std::function<int(std::string_view)> write) {
  insert(path, {S_IFREG | 0644, std::move(content), std::move(write)});
}

const File* FileMap::file(const std::string& path) const {
  const auto found = files_.find(path);
  return found == files_.end() ? nullptr : &found->second;
}

const std::set<std::string>* FileMap::folder(const std::string& path) const {
  const auto found = folders_.find(path);
  return found == folders_.end() ? nullptr : &found->second;
}

}  // namespace nrd::simnode
