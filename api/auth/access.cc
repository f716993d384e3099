#include "api/auth/access.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/joined.h"

namespace nrd::auth {
namespace {

using Kind = AuthFailure::Kind;

constexpr uid_t kRoot = 0;

tl::unexpected<AuthFailure> refused(Kind kind, std::string name, std::string reason) {
  return tl::unexpected(AuthFailure{kind, std::move(name), std::move(reason)});
}

std::string subject_text(const http::Peer& peer) {
  return joined(peer.subject, ", ", [](const auto& part) { return part.first + "=" + part.second; });
}

bool fits(const std::vector<std::string>& rules, const http::Peer& peer) {
  return std::ranges::any_of(peer.subject, [&rules](const auto& part) {
    return std::ranges::find(rules, part.first + "=" + part.second) != rules.end();
  });
}

std::string name_in(const http::Peer& peer) {
  const auto common_name =
      std::ranges::find(peer.subject, "CN", [](const auto& part) -> std::string_view { return part.first; });
  return common_name == peer.subject.end() ? subject_text(peer) : common_name->second;
}

tl::expected<Identity, AuthFailure> identify_by_list(const Listed& listed, const http::Peer& peer) {
  const auto has = [&peer](const CertificateList& list) {
    return !peer.fingerprint.empty() && list.fingerprints.contains(peer.fingerprint);
  };
  if (has(listed.admin)) return Identity{name_in(peer), Role::Admin, AuthMethod::ListedCertificate};
  if (has(listed.user)) return Identity{name_in(peer), Role::User, AuthMethod::ListedCertificate};
  return refused(Kind::Unlisted, subject_text(peer), "The certificate is not on the certificate list.");
}

tl::expected<Identity, AuthFailure> identify_by_certificate(const Rules& rules, const http::Peer& peer,
                                                            std::chrono::sys_seconds now) {
  if (!peer.valid_until) {
    if (rules.asks_pam) return refused(Kind::NeedsPassword, "", "Authentication required: user and password.");
    return refused(Kind::Unknown, "", "Authentication required: client certificate.");
  }
  if (peer.is_revoked) {
    return refused(Kind::Unknown, subject_text(peer), "The certificate is no longer trusted.");
  }
  if (*peer.valid_until < now) {
    return refused(Kind::Unknown, subject_text(peer), "The certificate has expired.");
  }
  if (rules.listed) return identify_by_list(*rules.listed, peer);
  if (fits(rules.admin, peer)) return Identity{name_in(peer), Role::Admin, AuthMethod::Subject};
  if (fits(rules.user, peer)) return Identity{name_in(peer), Role::User, AuthMethod::Subject};
  return refused(Kind::Roleless, subject_text(peer), "The certificate's subject has no role; see [roles] in nrd.toml.");
}

bool names(const Locals& locals, const http::Peer::Credentials& who) {
  return std::ranges::find(locals.users, who.uid) != locals.users.end() ||
         std::ranges::find_first_of(locals.groups, who.groups) != locals.groups.end();
}

tl::expected<Identity, AuthFailure> identify_by_credentials(const Rules& rules, const http::Peer& peer) {
  if (!peer.credentials) {
    return refused(Kind::Forbidden, "", "The kernel reports no credentials for this connection.");
  }
  const std::string name = fmt::format("uid {}", peer.credentials->uid);
  const SocketRules lists = peer.socket < rules.sockets.size() ? rules.sockets[peer.socket] : SocketRules{};
  const auto is_in = [&peer](const Locals& locals) { return names(locals, *peer.credentials); };
  const bool runs = is_in(lists.run);
  const auto with_role = [&](Role role) {
    return Identity{name, role, AuthMethod::Socket, runs, lists.origin, lists.allow};
  };
  if (peer.credentials->uid == kRoot || is_in(lists.admin)) return with_role(Role::Admin);
  if (is_in(lists.user)) return with_role(Role::User);
  if (runs) return with_role(Role::None);
  return refused(Kind::Forbidden, name,
                 "Access denied; allowed are root and the users and groups in [[server.sockets]] of nrd.toml.");
}

}  // namespace

tl::expected<Identity, AuthFailure> identify(const Rules& rules, const http::Peer& peer, std::chrono::sys_seconds now) {
  switch (peer.transport) {
    case http::Peer::Transport::Plain: return Identity{"debug", Role::Admin, AuthMethod::Debug};
    case http::Peer::Transport::Tls: return identify_by_certificate(rules, peer, now);
    case http::Peer::Transport::Unix: return identify_by_credentials(rules, peer);
  }
  return tl::unexpected(AuthFailure{});
}

bool has_role(const Rules& rules, const std::string& user) {
  if (rules.acl) return rules.acl->has_role(user);
  return identify_by_password(rules, user).role != Role::None;
}

bool is_reading(std::string_view method) { return method == "GET" || method == "HEAD" || method == "OPTIONS"; }

bool only_reads(std::string_view method, Access access) { return is_reading(method) || access == Access::Reading; }

Identity identify_by_password(const Rules& rules, const std::string& user) {
  const auto names = [&user](const std::vector<std::string>& users) {
    return std::ranges::find(users, user) != users.end();
  };
  const Role role = names(rules.pam_admin) ? Role::Admin : names(rules.pam_user) ? Role::User : Role::None;
  return {user, role, AuthMethod::Password};
}

std::string all_permissions() {
  std::string text;
  constexpr auto& kPermissions = json::kNames<Permission>;
  for (size_t i = 0; i < kPermissions.size(); ++i) {
    if (i > 0) text += i + 1 < kPermissions.size() ? ", " : " and ";
    text += '"' + std::string(kPermissions[i].second) + '"';
  }
  return text;
}

bool is_allowed(const Identity& who, Permission permission) {
  return !who.allowed || who.allowed->contains(permission);
}

Grant granted(const Rules& rules, const Identity& who, std::string_view method, std::string_view path, Needs needs) {
  const Access access = needs.access;
  const bool is_for_all = access == Access::EveryRole && is_reading(method);
  if (!is_for_all && !is_allowed(who, needs.permission)) return Grant::No;
  if (who.auth_method == AuthMethod::Password && rules.acl) {
    if (is_for_all) return rules.acl->has_role(who.name) ? Grant::Whole : Grant::No;
    return rules.acl->permits(who.name, method, path) ? Grant::Whole : Grant::No;
  }
  if (who.role == Role::Admin) return Grant::Whole;
  if (who.role == Role::User && access != Access::Admin && only_reads(method, access)) return Grant::Whole;
  if (who.runs && (is_for_all || access == Access::Launch)) return Grant::Whole;
  return who.runs && access == Access::Own ? Grant::Own : Grant::No;
}

}  // namespace nrd::auth
