#include "engine/onload/profile_repository.h"

#include <fmt/core.h>

#include <map>
#include <variant>

#include "base/find_in.h"
#include "hw/onload/profiles/profile_text.h"

namespace nrd::onload {
namespace {

Result<void> check_id(const std::string& id) {
  if (is_profile_file(file_of_profile(id)) && !id.ends_with(kProfileSuffix)) return {};
  return fail(ErrorCode::NotFound, "invalid profile name; use letters, digits and _ . + -, without the suffix .opf");
}

Failure needs_a_shell(const profiles::Dynamic& dynamic) {
  return fail(
      ErrorCode::Unsupported,
      to_string(dynamic) + " needs a shell, which nrd does not run; nrdctl run --onload does, as the calling user");
}

}  // namespace

std::vector<ProfileFolder> ProfileRepository::folders() const {
  std::vector<ProfileFolder> folders = configured_;
  folders.push_back(own_);
  if (std::optional<ProfileFolder> shipped = shipped_()) folders.push_back(*std::move(shipped));
  return folders;
}

Result<std::optional<profiles::ProfileFile>> ProfileRepository::read_from(const ProfileFolder& folder,
                                                                          const std::string& file) const {
  const auto origin = folder.path() == own_.path() ? profiles::Origin::Api : profiles::Origin::File;
  return folder.read(file).map([origin](std::optional<std::string> text) {
    return text ? std::optional(profiles::ProfileFile{*std::move(text), origin}) : std::nullopt;
  });
}

// `folders` must outlive this, and this the evaluation.
profiles::Library ProfileRepository::library(const std::vector<ProfileFolder>& folders) const {
  profiles::Library library;
  for (const ProfileFolder& folder : folders) library.directories.push_back(folder.path());
  library.read = [this, &folders](const std::string& path) -> Result<std::optional<profiles::ProfileFile>> {
    const size_t slash = path.rfind('/');
    const ProfileFolder* folder = first_with(folders, &ProfileFolder::path, path.substr(0, slash));
    if (!folder) return std::optional<profiles::ProfileFile>();
    return read_from(*folder, path.substr(slash + 1));
  };
  return library;
}

ProfileEntry ProfileRepository::judge(const std::vector<ProfileFolder>& folders, const ProfileFolder& folder,
                                      const std::string& file) const {
  using Kind = ProfileEntry::Kind;
  ProfileEntry entry{.id = id_of_profile(file), .folder = folder.path(), .is_own = folder.path() == own_.path()};
  const auto dynamic = [&entry](const profiles::Dynamic& found) {
    entry.kind = Kind::Dynamic;
    entry.place = to_string(found.location);
    entry.reason = found.what + " needs a shell";
    return entry;
  };
  const auto wrong = [&entry, &folder, &file](const Error& error) {
    entry.kind = Kind::Wrong;
    entry.place = folder.path() + "/" + file;
    entry.reason = error.message;
    return entry;
  };
  const Result<std::optional<std::string>> text = folder.read(file);
  if (!text) return wrong(text.error());
  if (entry.is_own) {
    // Stored by an older nrd, which accepted any text.
    const auto parsed = profiles::parse_api_profile(text->value_or(""), folder.path() + "/" + file);
    if (!parsed) return wrong(parsed.error());
  }
  const auto parsed = profiles::parse_profile(text->value_or(""), folder.path() + "/" + file);
  if (!parsed) {
    const auto* found = std::get_if<profiles::Dynamic>(&parsed.error());
    return found ? dynamic(*found) : wrong(std::get<Error>(parsed.error()));
  }
  if (file.ends_with(kFragmentSuffix)) return entry;
  // Imported profiles may need a shell, too.
  const auto evaluated = profiles::evaluate(library(folders), {.profiles = {entry.id}});
  if (evaluated) return entry;
  if (const auto* found = std::get_if<profiles::Dynamic>(&evaluated.error())) return dynamic(*found);
  // A profile that lacks a caller's value is valid for callers that set it.
  entry.reason = std::get<Error>(evaluated.error()).message;
  return entry;
}

Result<std::vector<ProfileEntry>> ProfileRepository::list() const {
  const std::vector<ProfileFolder> all = folders();
  std::map<std::string, ProfileEntry> entries;
  for (const ProfileFolder& folder : all) {
    for (const std::string& file : TRY(folder.files())) {
      if (!entries.contains(id_of_profile(file))) entries.emplace(id_of_profile(file), judge(all, folder, file));
    }
  }
  std::vector<ProfileEntry> list;
  for (auto& [id, entry] : entries) list.push_back(std::move(entry));
  return list;
}

Result<ProfileRepository::Found> ProfileRepository::read(const std::string& id) const {
  TRY(check_id(id));
  for (const ProfileFolder& folder : folders()) {
    std::optional<std::string> text = TRY(folder.read(file_of_profile(id)));
    if (text) return Found{.folder = folder.path(), .is_own = folder.path() == own_.path(), .text = *std::move(text)};
  }
  return fail(ErrorCode::NotFound, fmt::format("profile {} not found", id));
}

// Evaluate it with its imports, as if it were stored already. A missing caller's value, or an import that is stored
// later, is not an error in the text.
Result<void> ProfileRepository::check_data(const std::string& id, const std::string& text) const {
  const std::string file = file_of_profile(id);
  TRY(profiles::parse_api_profile(text, file));
  const std::vector<ProfileFolder> all = folders();
  profiles::Library with_it = library(all);
  with_it.read = [read = with_it.read, stored = own_.path() + "/" + file, &text](const std::string& path) {
    if (path != stored) return read(path);
    return Result<std::optional<profiles::ProfileFile>>(profiles::ProfileFile{text, profiles::Origin::Api});
  };
  if (file.ends_with(kFragmentSuffix)) return {};  // a fragment is checked within the profile that imports it
  const auto evaluated = profiles::evaluate(with_it, {.profiles = {id}});
  const auto* dynamic = evaluated ? nullptr : std::get_if<profiles::Dynamic>(&evaluated.error());
  if (dynamic == nullptr) return {};
  return fail(ErrorCode::Unsupported,
              to_string(*dynamic) + " needs a shell, which profiles stored over the API and their imports do not get");
}

Result<ProfileEntry> ProfileRepository::put(const std::string& id, const std::string& text) const {
  TRY(check_id(id));
  const std::string file = file_of_profile(id);
  for (const ProfileFolder& folder : configured_) {
    const std::optional<std::string> there = TRY(folder.read(file));
    if (there)
      return fail(ErrorCode::Conflict,
                  fmt::format("{} already has a profile {}, which takes precedence", folder.path(), id));
  }
  if (Result<void> data = check_data(id, text); !data) {
    data.error().field = "/text";
    return Failure(std::move(data.error()));
  }
  TRY(own_.write(file, text));
  return judge(folders(), own_, file);
}

Result<void> ProfileRepository::remove(const std::string& id) const {
  TRY(check_id(id));
  const bool removed = TRY(own_.remove(file_of_profile(id)));
  if (removed) return {};
  return fail(ErrorCode::NotFound, fmt::format("no profile {} is stored over the API", id));
}

Result<profiles::Evaluated> ProfileRepository::evaluate(const profiles::Request& request) const {
  const std::vector<ProfileFolder> all = folders();
  auto evaluated = profiles::evaluate(library(all), request);
  if (evaluated) return *std::move(evaluated);
  if (const auto* dynamic = std::get_if<profiles::Dynamic>(&evaluated.error())) return needs_a_shell(*dynamic);
  Error error = std::get<Error>(std::move(evaluated.error()));
  // The caller asked by name, so drop the JSON pointer.
  if (error.code == ErrorCode::NotFound) error.code = ErrorCode::BadRequest;
  if (error.code == ErrorCode::BadRequest) error.field = "/profiles";
  return Failure(std::move(error));
}

}  // namespace nrd::onload
