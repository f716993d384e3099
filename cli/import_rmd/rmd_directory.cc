#include "cli/import_rmd/rmd_directory.h"

#include <algorithm>
#include <filesystem>

#include "api/tree/tree.h"
#include "cli/user_file.h"

namespace nrd::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kHome = "/etc/rmd/";
constexpr size_t kFileBytes = size_t{256} << 10;
constexpr size_t kMostCertificates = 256;

}  // namespace

Result<RmdDirectory> RmdDirectory::open(const std::string& path) {
  std::error_code error;
  const fs::path whole = fs::absolute(path, error).lexically_normal();
  if (!fs::is_directory(whole, error)) return fail(ErrorCode::BadRequest, path + " is not a directory");
  return RmdDirectory(whole.has_filename() ? whole : whole.parent_path());
}

std::string RmdDirectory::place_of(const std::string& named) const {
  if (named.starts_with(kHome)) return path_ + "/" + named.substr(kHome.size());
  return named.starts_with('/') ? named : path_ + "/" + named;
}

Result<std::optional<std::string>> RmdDirectory::read(const std::string& named) const {
  return read_user_file(place_of(named), kFileBytes);
}

Result<std::optional<json::Value>> RmdDirectory::read_tree(const std::string& named) const {
  const std::optional<std::string> text = TRY(read(named));
  if (!text) return std::nullopt;
  const std::string path = place_of(named);
  json::Value read = TRY(path.ends_with(".toml") ? tree::of_toml(*text, path) : tree::of_yaml(*text, path));
  if (!read.is_object()) return fail(ErrorCode::BadRequest, path + ": expected sections");
  return read;
}

std::vector<std::string> RmdDirectory::certificates_in(const std::string& named) const {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(place_of(named), error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().extension() == ".pem" && names.size() < kMostCertificates)
      names.push_back(entry->path().filename());
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace nrd::cli
