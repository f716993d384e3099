#include "cli/onload/launch_profiles.h"

#include <fmt/core.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <variant>

#include "base/json/reader.h"
#include "cli/answer.h"
#include "cli/user_file.h"
#include "hw/onload/profile_files.h"
#include "hw/onload/profiles/profile_text.h"

namespace nrd::cli {
namespace {

constexpr std::string_view kOfDaemon = "nrd:";  // marks profiles from nrd; folders always begin with a slash

// Nullopt: it does not exist.
Result<std::optional<json::Value>> answer_of(const Client& client, const std::string& path) {
  const Answer answer = TRY(client.get(path));
  if (answer.status == kNotFound) return std::nullopt;
  if (answer.status != kOk) return fail(ErrorCode::BadRequest, refusal_of(answer).error);
  return json::parse(answer.body);
}

// Treat a profile as data unless nrd marks it as root's and the endpoint is trusted.
Result<std::optional<profiles::ProfileFile>> profile_of_daemon(const Client& client, const std::string& id) {
  using profiles::Origin;
  const std::optional<json::Value> answer = TRY(answer_of(client, "/v1/onload/profiles/" + id));
  if (!answer) return std::optional<profiles::ProfileFile>();
  const std::string* text = part(*answer, "text").as_string();
  if (text == nullptr) return fail(ErrorCode::BadRequest, "unexpected response; check that the endpoint is nrd");
  const bool is_of_root = part(*answer, "own").as_bool() == false && (client.is_local() || client.is_encrypted());
  return profiles::ProfileFile{*text, is_of_root ? Origin::File : Origin::Api};
}

// That of the caller first.
std::vector<std::string> folders_of(const ProfileSource& source, const Environment& caller) {
  std::vector<std::string> folders = source.folders;
  const std::string home = value_in(caller, "HOME");
  if (home.starts_with('/')) folders.insert(folders.begin(), home + "/.openonload/profiles");
  return folders;
}

// A file in a folder that the user may not search does not exist for them, as for a shell's `[ -f`.
Result<std::optional<profiles::ProfileFile>> read_profile(const std::string& path) {
  if (::access(path.c_str(), F_OK) != 0) return std::optional<profiles::ProfileFile>();
  std::optional<std::string> text = TRY(read_user_file(path, profiles::kTextLimit));
  return text ? std::optional(profiles::ProfileFile{*std::move(text)}) : std::nullopt;
}

profiles::Library library_of(const ProfileSource& source, const Environment& caller) {
  profiles::Library library{.directories = folders_of(source, caller), .paths = profiles::Paths::Accepted, .read = {}};
  if (source.client != nullptr) library.directories.emplace_back(kOfDaemon);
  library.read = [client = source.client](const std::string& path) -> Result<std::optional<profiles::ProfileFile>> {
    const size_t slash = path.rfind('/');
    if (client != nullptr && path.substr(0, slash) == kOfDaemon) {
      return profile_of_daemon(*client, onload::id_of_profile(path.substr(slash + 1)));
    }
    return read_profile(path);
  };
  return library;
}

// Copies of root's profiles from nrd, as files for a shell; removed by the destructor. Of profiles stored over the
// API only the name is kept, so that the shell can report why it does not get the text.
class Copies {
 public:
  static Result<Copies> make(const Client& client) {
    std::string name = (std::filesystem::temp_directory_path() / "nrd-profiles-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) return fail(ErrorCode::BadRequest, "cannot create a directory at " + name);
    Copies copies(name);
    const json::Value list = TRY(answer_of(client, "/v1/onload/profiles")).value_or(json::Value::null());
    for (const json::Value& item : list.items()) {
      const std::string* id = part(item, "id").as_string();
      // Names come from a remote server: reject any that would leave this folder.
      if (id == nullptr || !onload::is_profile_file(onload::file_of_profile(*id))) {
        return fail(ErrorCode::BadRequest, "nrd listed a profile with an invalid name");
      }
      TRY(copies.add(client, *id));
    }
    return copies;
  }
  Copies(Copies&& other) noexcept : folder_(std::exchange(other.folder_, {})) {}
  Copies& operator=(Copies&&) = delete;
  ~Copies() {
    std::error_code ignored;
    if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
  }
  const std::string& folder() const { return folder_; }

 private:
  explicit Copies(std::string folder) : folder_(std::move(folder)) {}

  Result<void> add(const Client& client, const std::string& id) const {
    const Result<std::optional<profiles::ProfileFile>> profile = profile_of_daemon(client, id);
    if (!profile || !*profile) return {};  // skip invalid profiles; an import of one then fails
    std::ofstream file(folder_ + "/" + onload::file_of_profile(id), std::ios::binary);
    file << ((*profile)->origin == profiles::Origin::File ? (*profile)->text : refusal_of(id)) << std::flush;
    return file.good() ? Result<void>() : fail(ErrorCode::BadRequest, "cannot copy a profile to " + folder_);
  }

  // `id` contains no quotes.
  static std::string refusal_of(const std::string& id) {
    return fmt::format("fail '{}: profiles stored over the API are never run by a shell'\n", id);
  }

  std::string folder_;
};

Result<profiles::Evaluated> run_in_shell(const ProfileSource& source, ShellRun run) {
  run.folders = folders_of(source, run.caller);
  std::optional<Copies> copies;
  if (source.client != nullptr) {
    Copies made = TRY(Copies::make(*source.client));
    run.folders.push_back(made.folder());
    copies.emplace(std::move(made));
  }
  ShellResult ran = TRY(run_profiles(run));
  profiles::Evaluated result{.environment = std::move(ran.changed), .warnings = {}};
  if (!ran.output.empty()) result.warnings.push_back("profile output: " + ran.output);
  return result;
}

}  // namespace

Result<profiles::Evaluated> evaluate_profiles(const ProfileSource& source, ShellRun run) {
  // Profile names become shell arguments and path components.
  for (const std::string& name : run.names) {
    if (name.find('\n') != std::string::npos) return fail(ErrorCode::BadRequest, "invalid profile name");
  }
  auto evaluated =
      profiles::evaluate(library_of(source, run.caller),
                         {.profiles = run.names,
                          .caller = run.caller,
                          .winner = run.force == Force::Yes ? profiles::Winner::Profiles : profiles::Winner::Caller});
  if (evaluated) return *std::move(evaluated);
  if (const auto* error = std::get_if<Error>(&evaluated.error())) return Failure(*error);
  return run_in_shell(source, std::move(run));
}

}  // namespace nrd::cli
