#include "hw/onload/versions.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "base/ascii.h"
#include "base/errno_text.h"
#include "base/file.h"
#include "base/find_in.h"
#include "base/sha256.h"
#include "hw/onload/load_order.h"
#include "hw/onload/manifest.h"
#include "hw/onload/module_file.h"
#include "hw/onload/staging.h"
#include "hw/onload/tar.h"
#include "hw/onload/tree_walk.h"
#include "hw/onload/user_files.h"

namespace nrd::onload {
namespace {

constexpr std::string_view kVersions = "versions";
constexpr const char* kCurrent = "current";
constexpr const char* kNextCurrent = ".current-next";
constexpr std::string_view kRemovedPrefix = ".remove-";
constexpr std::string_view kModules = "lib/modules";
constexpr size_t kManifestLimit = size_t{8} << 20;
constexpr size_t kVersionNameLimit = 64;

constexpr std::string_view kControlPlane = "sbin/onload_cp_server";

Failure not_changed(const std::string& path, int error) {
  return fail(ErrorCode::Store, "cannot change the Onload versions", errno_text(path, error));
}

// A fault of the node, not of the request.
Failure not_usable(Error error) {
  error.code = ErrorCode::Store;
  return fail_of("the directory of Onload versions", std::move(error));
}

Result<void> check_name(const std::string& name) {
  if (is_version_name(name)) return {};
  return fail(ErrorCode::BadRequest,
              "invalid version name; expected 1 to 64 letters, digits and . _ + -, not starting with a dot");
}

Failure no_version(const std::string& name) {
  return fail(ErrorCode::NotFound, fmt::format("version {} not found", name));
}

Result<std::map<std::string, std::vector<VersionModule>>> read_modules(const TrustedDir& tree,
                                                                       const std::vector<TreeEntry>& entries) {
  std::map<std::string, std::vector<VersionModule>> kernels;
  for (const TreeEntry& entry : entries) {
    const std::string_view path = entry.path;
    if (entry.kind != TreeEntry::Kind::File || !path.starts_with(kModules)) continue;
    const std::string_view name = path.substr(path.rfind('/') + 1);
    if (name.find(".ko.") != std::string_view::npos) {
      return fail(ErrorCode::BadRequest, entry.path + " is compressed; decompress the modules first");
    }
    if (!name.ends_with(".ko")) continue;
    const UniqueFd file = TRY(tree.file(entry.path));
    Result<ModuleFile> module = read_module_file(file.get());
    if (!module) return fail_of(entry.path, module.error());
    const std::string kernel = kernel_of(*module);
    if (!path.starts_with(std::string(kModules) + "/" + kernel + "/")) {
      return fail(ErrorCode::BadRequest,
                  fmt::format("{} is for kernel {}, but not in that kernel's directory", entry.path, kernel));
    }
    kernels[kernel].push_back({entry.path, *std::move(module)});
  }
  for (auto& [kernel, modules] : kernels) {
    modules = TRY(load_order(std::move(modules)));
  }
  return kernels;
}

Result<Version> read_tree(const TrustedDir& tree, const std::string& name) {
  const std::vector<TreeEntry> entries = TRY(list_tree(tree));
  std::map<std::string, std::vector<VersionModule>> kernels = TRY(read_modules(tree, entries));
  Version version{.name = name, .kernels = std::move(kernels)};
  for (const TreeEntry& entry : entries) {
    const bool is_file = entry.kind == TreeEntry::Kind::File;
    const bool is_library = std::ranges::any_of(kLibraryFolders, [&entry](std::string_view folder) {
      return entry.path == std::string(folder) + "/" + std::string(kLibraryFile);
    });
    if (is_file && entry.path == kControlPlane) version.control_plane = entry.path;
    if (is_file && is_library && version.library.empty()) version.library = entry.path;
  }
  return version;
}

Result<void> copy_folder(const TrustedDir& source, Staging& into) {
  for (const TreeEntry& entry : TRY(list_tree(source))) {
    Result<void> added;
    switch (entry.kind) {
      case TreeEntry::Kind::Folder: added = into.add_folder(entry.path); break;
      case TreeEntry::Kind::Link: added = into.add_link(entry.path, entry.target); break;
      case TreeEntry::Kind::File: {
        const Result<UniqueFd> file = source.file(entry.path);
        if (!file) return fail_of(entry.path, file.error());
        added = into.add_file(entry.path, entry.executable, bytes_of(file->get()));
        break;
      }
    }
    if (!added) return added;
  }
  return {};
}

// A directory or a tar archive. The check by path only selects the branch; both open the source as trusted.
Result<void> copy_source(const Trust& trust, const std::string& source, Staging& into) {
  std::error_code ignored;
  if (std::filesystem::is_directory((trust.root == "/" ? "" : trust.root) + source, ignored)) {
    const Result<TrustedDir> folder = TrustedDir::open(trust, source);
    return folder ? copy_folder(*folder, into) : Failure(folder.error());
  }
  const Result<UniqueFd> archive = open_trusted_file(trust, source);
  return archive ? unpack_tar(archive->get(), into) : Failure(archive.error());
}

Result<Manifest> read_manifest(const TrustedDir& tree) {
  const UniqueFd file = TRY(tree.file(kManifestName));
  const std::optional<std::string> text = TRY(read_file(fmt::format("/proc/self/fd/{}", file.get()), kManifestLimit));
  return parse_manifest(text.value_or(""));
}

// Empty: the hash matches.
std::string difference(const TrustedDir& tree, const std::string& path, const std::string& digest) {
  const Result<UniqueFd> file = tree.file(path);
  if (!file && file.error().code == ErrorCode::NotFound) return path + " is missing";
  if (!file) return fmt::format("{}: {}", path, file.error().message);
  const Result<std::string> found = sha256_of(file->get());
  if (!found) return fmt::format("{}: {}", path, found.error().message);
  return *found == digest ? "" : path + " was changed";
}

}  // namespace

bool is_version_name(std::string_view name) {
  return name.size() <= kVersionNameLimit && is_word(name, "._+-") && name.front() != '.';
}

Result<TrustedDir> Versions::folder() const { return TrustedDir::open(trust_, folder_ + "/" + std::string(kVersions)); }

Result<TrustedDir> Versions::make_folder() const {
  TrustedDir at = TRY(TrustedDir::open(trust_, "/"));
  const std::vector<std::string> parts =
      TRY(parts_of((folder_.starts_with('/') ? folder_.substr(1) : folder_) + "/" + std::string(kVersions)));
  for (const std::string& part : parts) at = TRY(at.make(part));
  return at;
}

Result<TrustedDir> Versions::tree(const std::string& name) const {
  TRY(check_name(name));
  const Result<TrustedDir> versions = folder();
  Result<TrustedDir> tree = versions ? versions->dir(name) : Failure(versions.error());
  if (!tree && tree.error().code == ErrorCode::NotFound) return no_version(name);
  return tree;
}

Result<std::vector<std::string>> Versions::names() const {
  const std::optional<TrustedDir> versions = TRY(if_found(folder()));
  if (!versions) return std::vector<std::string>{};
  Result<std::vector<std::string>> names = versions->names(2 * kVersionLimit);
  if (names) std::erase_if(*names, [](const std::string& name) { return !is_version_name(name); });
  return names;
}

Result<Version> Versions::read(const std::string& name) const {
  const TrustedDir found = TRY(tree(name));
  return read_tree(found, name);
}

Result<Versions::Stamp> Versions::stamp(const std::string& name) const {
  const TrustedDir found = TRY(tree(name));
  const UniqueFd manifest = TRY(found.file(kManifestName));
  struct stat status {};
  if (::fstat(manifest.get(), &status) != 0) return fail(ErrorCode::Store, "cannot read a version", found.path());
  constexpr int64_t kSecond = 1'000'000'000;
  return Stamp{status.st_dev, status.st_ino, status.st_mtim.tv_sec * kSecond + status.st_mtim.tv_nsec};
}

Result<Version> Versions::import(const std::string& name, const std::string& source) const {
  TRY(check_name(name));
  const Result<std::vector<std::string>> existing = names();
  if (!existing) return not_usable(existing.error());
  if (std::ranges::find(*existing, name) != existing->end()) {
    return fail_at(ErrorCode::BadRequest, "/name", fmt::format("version {} already exists", name));
  }
  if (existing->size() >= kVersionLimit) {
    return fail_at(ErrorCode::BadRequest, "/name",
                   fmt::format("limit of {} versions reached; remove one first", kVersionLimit));
  }
  const Result<TrustedDir> versions = make_folder();
  if (!versions) return not_usable(versions.error());
  Staging staging = TRY(Staging::begin(*versions, name));
  TRY(copy_source(trust_, source, staging));
  TRY(staging.complete());
  Result<Version> version = read_tree(staging.tree(), name);
  if (!version) return version;
  if (version->kernels.empty()) {
    return fail(ErrorCode::BadRequest, "the tree has no modules in lib/modules/*/");
  }
  TRY(staging.publish());
  return version;
}

Result<std::vector<std::string>> Versions::verify(const std::string& name) const {
  const TrustedDir found = TRY(tree(name));
  const Manifest manifest = TRY(read_manifest(found));
  const std::vector<TreeEntry> entries = TRY(list_tree(found));
  std::vector<std::string> differences;
  for (const TreeEntry& entry : entries) {
    if (entry.kind == TreeEntry::Kind::Folder || entry.path == kManifestName) continue;
    if (!manifest.contains(entry.path)) differences.push_back(entry.path + " was added");
  }
  for (const auto& [path, digest] : manifest) {
    if (differences.size() >= kDifferenceLimit) break;
    if (std::string what = difference(found, path, digest); !what.empty()) differences.push_back(std::move(what));
  }
  differences.resize(std::min(differences.size(), kDifferenceLimit));
  return differences;
}

Result<UniqueFd> Versions::open(const std::string& name, const std::string& path) const {
  const TrustedDir found = TRY(tree(name));
  const Manifest manifest = TRY(read_manifest(found));
  const std::string* digest = find_in(manifest, path);
  if (digest == nullptr) return fail(ErrorCode::NotFound, fmt::format("version {} has no file {}", name, path));
  Result<UniqueFd> file = found.file(path);
  if (!file) return file;
  const std::string hash = TRY(sha256_of(file->get()));
  if (hash != *digest) {
    return fail(ErrorCode::Store, fmt::format("{} of version {} was changed after its import", path, name));
  }
  return file;
}

Result<void> Versions::remove(const std::string& name) const {
  const TrustedDir found = TRY(tree(name));
  const std::optional<std::string> selected = TRY(current());
  if (selected == name) return fail(ErrorCode::BadRequest, fmt::format("version {} is the current version", name));
  const TrustedDir versions = TRY(folder());
  // Rename first: a partly removed tree must not look like a version.
  const std::string removed = std::string(kRemovedPrefix) + name;
  std::error_code error;
  std::filesystem::remove_all(versions.path() + "/" + removed, error);
  if (error) return not_changed(versions.path() + "/" + removed, error.value());
  if (::renameat(versions.fd(), name.c_str(), versions.fd(), removed.c_str()) != 0) {
    return not_changed(found.path(), errno);
  }
  if (::fsync(versions.fd()) != 0) return not_changed(versions.path(), errno);
  std::filesystem::remove_all(versions.path() + "/" + removed, error);  // sweep() removes leftovers
  return {};
}

Result<std::optional<std::string>> Versions::current() const {
  const std::optional<TrustedDir> home = TRY(if_found(TrustedDir::open(trust_, folder_)));
  if (!home) return std::nullopt;
  std::array<char, PATH_MAX> target;
  const ssize_t size = ::readlinkat(home->fd(), kCurrent, target.data(), target.size());
  if (size < 0 && errno == ENOENT) return std::nullopt;
  const std::string_view text(target.data(), size < 0 ? 0 : static_cast<size_t>(size));
  const std::string prefix = std::string(kVersions) + "/";
  if (!text.starts_with(prefix) || !is_version_name(text.substr(prefix.size()))) {
    return fail(ErrorCode::Store, "the link \"current\" does not point to a version", home->path() + "/" + kCurrent);
  }
  return std::string(text.substr(prefix.size()));
}

Result<void> Versions::select(const std::string& name) const {
  TRY(tree(name));
  const TrustedDir home = TRY(TrustedDir::open(trust_, folder_));
  const std::string target = std::string(kVersions) + "/" + name;
  const std::string path = home.path() + "/" + kCurrent;
  if (::unlinkat(home.fd(), kNextCurrent, 0) != 0 && errno != ENOENT) return not_changed(path, errno);
  const bool is_selected = ::symlinkat(target.c_str(), home.fd(), kNextCurrent) == 0 &&
                           ::renameat(home.fd(), kNextCurrent, home.fd(), kCurrent) == 0 && ::fsync(home.fd()) == 0;
  return is_selected ? Result<void>() : not_changed(path, errno);
}

Result<void> Versions::sweep() const {
  const std::optional<TrustedDir> versions = TRY(if_found(folder()));
  if (!versions) return {};
  for (const std::string& name : TRY(versions->names(kTreeLimit))) {
    if (!name.starts_with(kStagingPrefix) && !name.starts_with(kRemovedPrefix)) continue;
    std::error_code error;
    std::filesystem::remove_all(versions->path() + "/" + name, error);
    if (error) return not_changed(versions->path() + "/" + name, error.value());
  }
  return {};
}

}  // namespace nrd::onload
