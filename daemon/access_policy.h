// Who may do what, as configuration, access list and listed certificates say now.
//
// The files are small and few, so each look reads them all and compares what they say, not when they were written. What
// is off a list is off it with the next look; a list of certificates that cannot be read lists nobody. An access list
// that cannot be read does not replace the one before: half a file grants other things than the whole.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/auth/access.h"
#include "base/published.h"
#include "base/result.h"
#include "daemon/config.h"

namespace nrd::daemon {

// nullopt: none is configured. BadRequest with file and line.
Result<std::optional<auth::Acl>> load_acl(const Config::Access& access);

class AccessPolicy {
 public:
  static Result<std::unique_ptr<AccessPolicy>> open(const Config& config, std::vector<auth::SocketRules> sockets);

  // For any thread, and for the life of whoever holds it.
  std::shared_ptr<const Published<auth::Rules>> rules() const { return rules_; }

  // Reads the files again. One thread.
  void look();

 private:
  explicit AccessPolicy(Config::Access access) : access_(std::move(access)) {}

  const Config::Access access_;
  const std::shared_ptr<Published<auth::Rules>> rules_ = std::make_shared<Published<auth::Rules>>();
  std::string acl_problem_;  // of the last look
};

}  // namespace nrd::daemon
