#include "daemon/access_policy.h"

#include <utility>

#include "api/auth/root_owned_file.h"
#include "base/log.h"
#include "daemon/config.h"

namespace nrd::daemon {
namespace {

auth::CertificateList list_of(const std::string& folder) {
  return folder.empty() ? auth::CertificateList{} : auth::read_certificates(folder);
}

// nullopt: no allowlist is configured; only certificate subjects count.
std::optional<auth::Listed> read_listed(const AccessConfig& access) {
  if (access.admin_certificates.empty() && access.user_certificates.empty()) return std::nullopt;
  return auth::Listed{.admin = list_of(access.admin_certificates), .user = list_of(access.user_certificates)};
}

void log_listed(const auth::Listed& listed) {
  for (const auth::CertificateList* list : {&listed.admin, &listed.user}) {
    for (const std::string& problem : list->problems) {
      log::error("CERTIFICATE_IGNORED", "ignored certificates in the allowlist: " + problem);
    }
  }
  log::notice("CERTIFICATES_LISTED", "certificate allowlist reloaded",
              {{"ADMINS", std::to_string(listed.admin.fingerprints.size())},
               {"USERS", std::to_string(listed.user.fingerprints.size())}});
}

}  // namespace

Result<std::optional<rmd::Acl>> load_acl(const AccessConfig& access) {
  if (access.acl.empty()) return std::nullopt;
  return auth::read_roots_file(access.acl, rmd::kAclLimit).and_then([&access](const std::string& text) {
    return rmd::Acl::parse(text, access.acl).map([](rmd::Acl acl) { return std::optional(std::move(acl)); });
  });
}

Result<auth::Rules> AccessPolicy::prepare(const Config& config, std::vector<auth::SocketRules> sockets) {
  std::optional<rmd::Acl> acl = TRY(load_acl(config.access));
  return auth::Rules{.admin = config.admins,
                     .user = config.users,
                     .sockets = std::move(sockets),
                     .listed = read_listed(config.access),
                     .asks_pam = config.access.pam,
                     .pam_service = config.access.pam_service,
                     .pam_admin = config.pam_admins,
                     .pam_user = config.pam_users,
                     .acl = std::move(acl)};
}

Result<std::unique_ptr<AccessPolicy>> AccessPolicy::open(const Config& config, std::vector<auth::SocketRules> sockets) {
  auth::Rules rules = TRY(prepare(config, std::move(sockets)));
  if (rules.listed) log_listed(*rules.listed);
  std::unique_ptr<AccessPolicy> book(new AccessPolicy(config.access));
  book->rules_->set(std::make_shared<const auth::Rules>(std::move(rules)));
  return book;
}

void AccessPolicy::use(const Config& config, auth::Rules rules) {
  const std::shared_ptr<const auth::Rules> before = rules_->get();
  access_ = config.access;
  acl_problem_.clear();
  if (rules.listed && rules.listed != before->listed) log_listed(*rules.listed);
  if (rules.acl && rules.acl != before->acl) log::notice("ACL_RELOADED", "access list reloaded");
  rules_->set(std::make_shared<const auth::Rules>(std::move(rules)));
}

void AccessPolicy::reload() {
  const std::shared_ptr<const auth::Rules> before = rules_->get();
  auth::Rules now = *before;
  now.listed = read_listed(access_);
  const bool are_lists_new = now.listed != before->listed;
  if (are_lists_new) log_listed(*now.listed);

  Result<std::optional<rmd::Acl>> acl = load_acl(access_);
  const std::string problem = acl ? "" : acl.error().message;
  if (problem != std::exchange(acl_problem_, problem) && !acl) {
    log::error("ACL_NOT_RELOADED", problem + "; the previous access list stays in force");
  }
  const bool is_acl_new = acl && *acl != before->acl;
  if (is_acl_new) {
    now.acl = *std::move(acl);
    log::notice("ACL_RELOADED", "access list reloaded");
  }
  if (are_lists_new || is_acl_new) rules_->set(std::make_shared<const auth::Rules>(std::move(now)));
}

}  // namespace nrd::daemon
