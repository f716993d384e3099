#include "hw/onload/user_files.h"

#include <algorithm>

namespace nrd::onload {

std::string tree_of_version(const std::string& versions, const std::string& name) {
  return versions + "/versions/" + name;
}

Result<std::vector<std::string>> find_libraries(const Trust& trust, const std::string& versions,
                                                const std::string& name) {
  constexpr size_t kFilesLimit = 4096;
  for (const std::string_view place : kLibraryFolders) {
    const std::string path = tree_of_version(versions, name) + "/" + std::string(place);
    const std::optional<TrustedDir> folder = TRY(if_found(TrustedDir::open(trust, path)));
    if (!folder) continue;
    const std::vector<std::string> names = TRY(folder->names(kFilesLimit));
    const std::optional<UniqueFd> library = TRY(if_found(folder->file(kLibraryFile)));
    if (!library) continue;
    std::vector<std::string> found{path + "/" + std::string(kLibraryFile)};
    for (const std::string& file : names) {
      const bool belongs = file.starts_with("libonload.so.") || file.starts_with("libonload_ext.so");
      if (belongs && folder->file(file)) found.push_back(path + "/" + file);
    }
    return found;
  }
  return std::vector<std::string>();
}

}  // namespace nrd::onload
