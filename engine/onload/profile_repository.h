// The profiles of this node. The first folder that has a profile of the given name wins:
//
//   1. the configured folders, in order     /etc/nrd/onload/profiles     what root says
//   2. those that came over the API         /var/lib/nrd/profiles          data: settings of Onload, and no shell
//   3. those of the current version         /opt/nrd/onload/versions/9.0.2/usr/libexec/onload/profiles
//
// An id is the profile's name, "latency", or the file name of a fragment that can only be imported,
// "throughput.opf-fragment". Profiles that need a shell are listed but never evaluated here: nrd runs as root.
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
    Wrong,    // invalid for every caller
  };
  std::string id;
  std::string folder;
  bool is_own = false;  // stored over the API
  Kind kind = Kind::Static;
  std::string place;   // where the cause is, "/etc/nrd/onload/profiles/latency.opf:3"; empty if static
  std::string reason;  // for people; for a static profile, what is missing without any variables
  friend bool operator==(const ProfileEntry&, const ProfileEntry&) = default;
};

class ProfileRepository {
 public:
  // `shipped`: the folder of the current version, nullopt if none; called each time.
  ProfileRepository(std::vector<ProfileFolder> configured, ProfileFolder own,
                    std::function<std::optional<ProfileFolder>()> shipped)
      : configured_(std::move(configured)), own_(std::move(own)), shipped_(std::move(shipped)) {}

  // Ordered by id; the first of each id.
  Result<std::vector<ProfileEntry>> list() const;
  struct Found {
    std::string folder;
    bool is_own = false;  // stored over the API
    std::string text;
  };
  // NotFound: no such profile.
  Result<Found> read(const std::string& id) const;
  // BadRequest: invalid, or sets variables that are not Onload's (profiles/profile_text.h). Unsupported: it or an
  // import needs a shell. Conflict: a configured folder has a profile of that name, which takes precedence.
  Result<ProfileEntry> put(const std::string& id, const std::string& text) const;
  // NotFound: no profile of that name is stored over the API.
  Result<void> remove(const std::string& id) const;

  // Unsupported, with file and line, if a profile needs a shell.
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
