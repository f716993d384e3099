// The profiles of this node: who looks for one finds the first of that name.
//
//   1. the configured folders, in order     /etc/nrd/onload/profiles     what root says
//   2. those that came over the API         /var/lib/nrd/profiles          data: settings of Onload, and no shell
//   3. those of the current version         /opt/nrd/onload/versions/9.0.2/usr/libexec/onload/profiles
//
// An id is the name of a profile, "latency", or the whole file name of what can only be imported,
// "throughput.opf-fragment". Profiles that need a shell are shown and never evaluated here: nrd runs as root.
//
// Reads and writes files; one thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "hw/onload/profile_files.h"
#include "hw/onload/profiles/evaluate.h"

namespace nrd::onload {

struct ProfileEntry {
  enum class Kind {
    Static,
    Dynamic,  // needs a shell
    Wrong,    // is refused whoever asks
  };
  std::string id;
  std::string folder;
  bool is_own = false;  // came over the API
  Kind kind = Kind::Static;
  std::string place;   // of what makes it so, "/etc/nrd/onload/profiles/latency.opf:3"; empty if static
  std::string reason;  // for people; of a static one, what it misses when nobody has set anything
  friend bool operator==(const ProfileEntry&, const ProfileEntry&) = default;
};

class ProfileRepository {
 public:
  // `shipped`: the folder of the current version's, nullopt if there is none; asked each time.
  ProfileRepository(std::vector<ProfileFolder> configured, ProfileFolder own,
                    std::function<std::optional<ProfileFolder>()> shipped)
      : configured_(std::move(configured)), own_(std::move(own)), shipped_(std::move(shipped)) {}

  // In order of ids; of those with one id the first.
  Result<std::vector<ProfileEntry>> list() const;
  struct Found {
    std::string folder;
    bool is_own = false;  // came over the API
    std::string text;
  };
  // NotFound: there is no such profile.
  Result<Found> read(const std::string& id) const;
  // BadRequest: it is wrong, or sets what is not Onload's (profiles/profile_text.h). Unsupported: it needs a shell, or
  // imports what does. Conflict: a configured folder has one of that name, which would go on to be found.
  Result<ProfileEntry> put(const std::string& id, const std::string& text) const;
  // NotFound: none of that name came over the API.
  Result<void> remove(const std::string& id) const;

  // Unsupported, with file and line, if one needs a shell.
  Result<profiles::Evaluated> evaluate(const profiles::Request& request) const;

 private:
  std::vector<ProfileFolder> folders() const;
  Result<std::optional<profiles::ProfileFile>> read_from(const ProfileFolder& folder, const std::string& file) const;
  Result<void> check_data(const std::string& id, const std::string& text) const;
  profiles::Library library(const std::vector<ProfileFolder>& folders) const;
  ProfileEntry judge(const std::vector<ProfileFolder>& folders, const ProfileFolder& folder,
                     const std::string& file) const;

  std::vector<ProfileFolder> configured_;
  ProfileFolder own_;
  std::function<std::optional<ProfileFolder>()> shipped_;
};

}  // namespace nrd::onload
