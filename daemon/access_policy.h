// Access decisions from the configuration, the access list and the certificate allowlists.
//
// The files are small, so each reload reads all of them and compares contents, not times. Removed entries lose access
// with the next reload; an unreadable certificate list grants nothing. An unreadable access list does not replace the
// previous one, because half a file could grant more than the whole.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/auth/access.h"
#include "base/published.h"
#include "base/result.h"
#include "daemon/access_config.h"

namespace nrd::daemon {

struct Config;

// nullopt: none is configured. BadRequest with file and line.
Result<std::optional<rmd::Acl>> load_acl(const AccessConfig& access);

class AccessPolicy {
 public:
  static Result<std::unique_ptr<AccessPolicy>> open(const Config& config, std::vector<auth::SocketRules> sockets);

  // Another configuration, in two steps; the second cannot fail. One thread.
  static Result<auth::Rules> prepare(const Config& config, std::vector<auth::SocketRules> sockets);
  void use(const Config& config, auth::Rules rules);

  // Any thread. The returned policy is immutable and valid while it is held.
  std::shared_ptr<const Published<auth::Rules>> rules() const { return rules_; }

  // Reads the files again. One thread.
  void reload();

 private:
  explicit AccessPolicy(AccessConfig access) : access_(std::move(access)) {}

  AccessConfig access_;
  const std::shared_ptr<Published<auth::Rules>> rules_ = std::make_shared<Published<auth::Rules>>();
  std::string acl_problem_;  // from the last reload
};

}  // namespace nrd::daemon
