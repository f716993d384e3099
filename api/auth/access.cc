#include "api/auth/access.h"

#include <algorithm>

namespace nrd::auth {
namespace {

constexpr uid_t kRoot = 0;

std::string subject_text(const http::Peer& peer) {
  std::string text;
  for (const auto& [attribute, value] : peer.subject) {
    text += (text.empty() ? "" : ", ") + attribute + "=" + value;
  }
  return text;
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

tl::expected<Identity, Stranger> identify_by_certificate(const Rules& rules, const http::Peer& peer,
                                                         std::chrono::system_clock::time_point now) {
  if (peer.subject.empty()) {
    return tl::unexpected(Stranger{Stranger::Kind::Unknown, "", "A client certificate is needed."});
  }
  if (!peer.valid_until || *peer.valid_until < now) {
    return tl::unexpected(Stranger{Stranger::Kind::Unknown, subject_text(peer), "The certificate has expired."});
  }
  if (fits(rules.admin, peer)) return Identity{name_in(peer), Role::Admin};
  if (fits(rules.user, peer)) return Identity{name_in(peer), Role::User};
  return tl::unexpected(Stranger{Stranger::Kind::Unknown, subject_text(peer),
                                 "The certificate's subject has no role here: see [roles] in nrd.toml."});
}

tl::expected<Identity, Stranger> identify_by_credentials(const Rules& rules, const http::Peer& peer) {
  if (!peer.credentials) {
    return tl::unexpected(Stranger{Stranger::Kind::Unwelcome, "", "The kernel does not say who is calling."});
  }
  const std::string name = "uid " + std::to_string(peer.credentials->uid);
  const auto& groups = peer.credentials->groups;
  const bool is_member = rules.group && std::ranges::find(groups, *rules.group) != groups.end();
  if (peer.credentials->uid == kRoot || is_member) return Identity{name, Role::Admin};
  return tl::unexpected(
      Stranger{Stranger::Kind::Unwelcome, name, "Only root and members of nrd's group may use this socket."});
}

}  // namespace

tl::expected<Identity, Stranger> identify(const Rules& rules, const http::Peer& peer,
                                          std::chrono::system_clock::time_point now) {
  switch (peer.door) {
    case http::Peer::Door::Plain: return Identity{"debug", Role::Admin};
    case http::Peer::Door::Tls: return identify_by_certificate(rules, peer, now);
    case http::Peer::Door::Unix: return identify_by_credentials(rules, peer);
  }
  return tl::unexpected(Stranger{});
}

bool is_reading(std::string_view method) { return method == "GET" || method == "HEAD" || method == "OPTIONS"; }

bool may(Role role, std::string_view method) { return role == Role::Admin || is_reading(method); }

}  // namespace nrd::auth
