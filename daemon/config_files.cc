#include "daemon/config_files.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <cerrno>
#include <vector>

#include "base/directory.h"
#include "base/errno_text.h"
#include "base/file.h"
#include "daemon/config.h"
#include "daemon/config_values.h"

namespace nrd::daemon {
namespace {

constexpr size_t kFileBytes = size_t{1} << 20;
constexpr size_t kTotalBytes = size_t{4} << 20;
constexpr size_t kMostFiles = 256;

Failure refused(const std::string& path, const std::string& problem) {
  return fail(ErrorCode::BadRequest, fmt::format("{}: {}", path, problem));
}

// A pipe would block the daemon.
Result<void> check_kind(const std::string& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) == 0 && (S_ISFIFO(found.st_mode) || S_ISDIR(found.st_mode)))
    return refused(path, "not a regular file");
  return {};
}

// `budget`: bytes left for all files.
Result<void> read_onto(LoadedConfig& loaded, const std::string& path, size_t& budget) {
  TRY(check_kind(path));
  const Result<std::optional<std::string>> text = read_file(path, kFileBytes);
  if (!text) return refused(path, "cannot read file: " + text.error().detail);
  if (!*text) return refused(path, "file not found");
  if ((*text)->size() > budget)
    return refused(path, fmt::format("the files of the configuration exceed {} bytes together", kTotalBytes));
  budget -= (*text)->size();
  loaded.files.push_back(path);
  return parse_onto(loaded, **text, path);
}

// *.toml in `folder`, sorted; none if it is absent. Names with a leading dot are those of editors.
Result<std::vector<std::string>> names_in(const std::string& folder) {
  constexpr size_t kMostEntries = 4096;
  const auto entries = list_names(folder, kMostEntries);
  if (!entries && (entries.error() == ENOENT || entries.error() == ENOTDIR)) return std::vector<std::string>();
  if (!entries) return refused(folder, errno_text("cannot read directory", entries.error()));
  std::vector<std::string> names;
  for (const std::string& name : *entries) {
    if (!name.starts_with('.') && name.ends_with(".toml")) names.push_back(name);
  }
  if (names.size() > kMostFiles)
    return refused(folder, fmt::format("{} files *.toml; allowed: at most {}", names.size(), kMostFiles));
  return names;
}

void override_with(const ConfigSource& flags, LoadedConfig& loaded) {
  Config& config = loaded.config;
  const auto replace = [&loaded](const char* key, auto& target, const auto& value) {
    if (!value) return;
    target = *value;
    loaded.origins[key] = {.source = Origin::Source::CommandLine, .file = {}, .line = 0};
  };
  config.mount.may_remount = flags.force_config;
  replace("server.debug", config.server.debug, flags.debug ? std::optional(true) : std::nullopt);
  replace("server.debug_port", config.server.debug_port, flags.debug_port);
  replace("server.tls_port", config.server.tls_port, flags.tls_port);
  replace("server.address", config.server.address, flags.address);
  replace("server.sockets", config.server.sockets.front().path, flags.unix_socket);
  replace("log.level", config.log_level, flags.log_level ? level_of(*flags.log_level) : std::nullopt);
  replace("state.directory", config.state_directory, flags.state_directory);
}

}  // namespace

Result<LoadedConfig> load_config(const ConfigSource& source) {
  LoadedConfig loaded;
  size_t budget = kTotalBytes;
  struct stat found {};
  if (source.is_required || ::stat(source.file.c_str(), &found) == 0) {
    TRY(read_onto(loaded, source.file, budget));
  }
  const std::string folder = source.file + ".d";
  const std::vector<std::string> names = TRY(names_in(folder));
  for (const std::string& name : names) {
    TRY(read_onto(loaded, folder + "/" + name, budget));
  }
  override_with(source, loaded);
  TRY(check(loaded));
  return loaded;
}

}  // namespace nrd::daemon
