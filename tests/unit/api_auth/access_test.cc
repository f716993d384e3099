// Authentication by transport, certificate and list.
#include "api/auth/access.h"

#include <doctest/doctest.h>

namespace nrd::access_test {

using auth::AuthFailure;
using auth::AuthMethod;
using auth::Identity;
using auth::Role;
using auth::Rules;
using http::Peer;

namespace {

constexpr gid_t kOurGroup = 990;
constexpr std::chrono::sys_seconds kNow{std::chrono::seconds(1'800'000'000)};
constexpr std::chrono::sys_seconds kEnd = kNow + std::chrono::hours(1);

Peer unix_peer(uid_t uid, std::vector<gid_t> groups) {
  return {.transport = Peer::Transport::Unix,
          .address = "",
          .credentials = Peer::Credentials{.uid = uid, .pid = 1, .groups = std::move(groups)}};
}

Peer tls_peer(std::vector<std::pair<std::string, std::string>> subject) {
  return {.transport = Peer::Transport::Tls, .address = "", .subject = std::move(subject), .valid_until = kEnd};
}

auto identify(const Rules& rules, const Peer& peer) { return auth::identify(rules, peer, kNow); }

AuthFailure::Kind refused(const Rules& rules, const Peer& peer) {
  const auto who = identify(rules, peer);
  REQUIRE_FALSE(who);
  CHECK_FALSE(who.error().reason.empty());
  return who.error().kind;
}

}  // namespace

TEST_CASE("root and users in the socket's admin list are administrators") {
  const Rules rules{.sockets = {{.admin = {.groups = {kOurGroup}}}}};
  CHECK(identify(rules, unix_peer(0, {0})) == Identity{"uid 0", Role::Admin, AuthMethod::Socket});
  CHECK(identify(rules, unix_peer(1000, {kOurGroup})) == Identity{"uid 1000", Role::Admin, AuthMethod::Socket});
  CHECK(identify(rules, unix_peer(1000, {1000, 27, kOurGroup})) ==
        Identity{"uid 1000", Role::Admin, AuthMethod::Socket});
}

TEST_CASE("a user has the roles of the lists of the socket in use only") {
  const Rules rules{
      .sockets = {{.admin = {.users = {1000}}}, {.user = {.groups = {60}}, .run = {.users = {1001}, .groups = {61}}}}};
  const auto on = [](size_t socket, Peer peer) {
    peer.socket = socket;
    return peer;
  };
  CHECK(identify(rules, on(0, unix_peer(1000, {1}))) == Identity{"uid 1000", Role::Admin, AuthMethod::Socket});
  CHECK(refused(rules, on(1, unix_peer(1000, {1}))) == AuthFailure::Kind::Forbidden);
  CHECK(refused(rules, on(2, unix_peer(1000, {60}))) == AuthFailure::Kind::Forbidden);  // there is no such socket
  CHECK(identify(rules, on(2, unix_peer(0, {0}))) == Identity{"uid 0", Role::Admin, AuthMethod::Socket});
  CHECK(identify(rules, on(1, unix_peer(7, {60}))) == Identity{"uid 7", Role::User, AuthMethod::Socket});
  CHECK(identify(rules, on(1, unix_peer(1001, {1}))) == Identity{"uid 1001", Role::None, AuthMethod::Socket, true});
  CHECK(identify(rules, on(1, unix_peer(7, {61, 60}))) == Identity{"uid 7", Role::User, AuthMethod::Socket, true});
}

TEST_CASE("a socket's origin and limits apply to root, too") {
  const auth::Permissions allowed{auth::Permission::Node, auth::Permission::Workloads};
  const Rules rules{.sockets = {{.origin = "kubernetes", .allow = allowed}}};
  const auto root = identify(rules, unix_peer(0, {0}));
  REQUIRE(root);
  CHECK(*root == Identity{"uid 0", Role::Admin, AuthMethod::Socket, false, "kubernetes", allowed});
  const auto grant = [&](std::string_view method, auth::Needs needs) {
    return auth::granted(rules, *root, method, "/v1/x", needs);
  };
  CHECK(grant("POST", {auth::Access::Own, auth::Permission::Workloads}) == auth::Grant::Whole);
  CHECK(grant("GET", {auth::Access::ByMethod, auth::Permission::Node}) == auth::Grant::Whole);
  CHECK(grant("GET", {auth::Access::ByMethod, auth::Permission::OnloadRead}) == auth::Grant::No);
  CHECK(grant("GET", {}) == auth::Grant::No);
  CHECK(grant("GET", {auth::Access::EveryRole}) == auth::Grant::Whole);
  CHECK(grant("POST", {auth::Access::EveryRole}) == auth::Grant::No);
}

TEST_CASE("other users are refused on the Unix socket") {
  CHECK(refused({.sockets = {{.admin = {.groups = {kOurGroup}}}}}, unix_peer(1000, {1000, 0})) ==
        AuthFailure::Kind::Forbidden);
  CHECK(refused({}, unix_peer(1000, {kOurGroup})) == AuthFailure::Kind::Forbidden);
  CHECK(refused({}, {.transport = Peer::Transport::Unix, .address = ""}) == AuthFailure::Kind::Forbidden);
}

TEST_CASE("a certificate's subject selects the role, admin if it matches both") {
  CHECK(identify({}, tls_peer({{"OU", "Admin"}, {"CN", "Alice"}})) == Identity{"Alice", Role::Admin});
  CHECK(identify({}, tls_peer({{"CN", "Eli"}})) == Identity{"Eli", Role::User});
  CHECK(identify({}, tls_peer({{"OU", "User"}})) == Identity{"OU=User", Role::User});
  CHECK(identify({}, tls_peer({{"OU", "User"}, {"OU", "Admin"}, {"CN", "Bo"}})) == Identity{"Bo", Role::Admin});
  CHECK(identify({.admin = {"CN=Zoe"}, .user = {}}, tls_peer({{"CN", "Zoe"}})) == Identity{"Zoe", Role::Admin});
}

TEST_CASE("a certificate that matches no rule exactly has no role") {
  for (const auto& subject :
       std::vector<std::vector<std::pair<std::string, std::string>>>{{},
                                                                     {{"OU", "admin"}},
                                                                     {{"OU", "Admin "}},
                                                                     {{"O", "Admin"}},
                                                                     {{"CN", "OU=Admin"}},
                                                                     {{"OU", std::string("Admin\0x", 7)}},
                                                                     {{"CN", "Admin"}}}) {
    CHECK(refused({}, tls_peer(subject)) == AuthFailure::Kind::Roleless);
  }
  CHECK(refused({.admin = {}, .user = {}}, tls_peer({{"OU", "Admin"}})) == AuthFailure::Kind::Roleless);
}

TEST_CASE("a certificate is refused after it expires, also on an open connection") {
  Peer peer = tls_peer({{"OU", "Admin"}, {"CN", "Alice"}});
  CHECK(auth::identify({}, peer, kEnd));
  CHECK_FALSE(auth::identify({}, peer, kEnd + std::chrono::seconds(1)));
  peer.valid_until.reset();
  CHECK_FALSE(identify({}, peer));
}

TEST_CASE("a certificate without an end, which is in the year 9999 by RFC 5280, is accepted") {
  Peer peer = tls_peer({{"OU", "Admin"}});
  peer.valid_until = std::chrono::sys_days(std::chrono::year(9999) / 12 / 31) + std::chrono::seconds(86399);
  CHECK(identify({}, peer));
}

TEST_CASE("with certificate lists only the folder of a certificate selects its role") {
  const Rules rules{.listed = auth::Listed{.admin = {{"aa"}, {}}, .user = {{"aa", "bb"}, {}}}};
  Peer peer = tls_peer({{"OU", "User"}, {"CN", "Bo"}});
  peer.fingerprint = "aa";
  CHECK(identify(rules, peer) == Identity{"Bo", Role::Admin, AuthMethod::ListedCertificate});
  peer.fingerprint = "bb";
  CHECK(identify(rules, peer) == Identity{"Bo", Role::User, AuthMethod::ListedCertificate});
  peer.subject = {{"OU", "Admin"}};
  for (const char* other : {"cc", "", "a"}) {
    peer.fingerprint = other;
    CHECK(refused(rules, peer) == AuthFailure::Kind::Unlisted);
  }
}

TEST_CASE("PAM is called only for TLS clients without a certificate") {
  const Rules rules{.asks_pam = true};
  Peer peer = tls_peer({});
  CHECK(refused(rules, peer) == AuthFailure::Kind::Roleless);  // a certificate without a subject
  peer.valid_until.reset();
  CHECK(refused(rules, peer) == AuthFailure::Kind::NeedsPassword);
  CHECK(refused(rules, tls_peer({{"OU", "Guests"}})) == AuthFailure::Kind::Roleless);
  CHECK(refused(rules, unix_peer(1000, {1000})) == AuthFailure::Kind::Forbidden);
}

TEST_CASE("users may read, administrators may change, other clients may do neither") {
  const auto may = [](Role role, bool only_reads) {
    return auth::granted({}, Identity{"x", role, AuthMethod::Subject}, only_reads ? "GET" : "POST", "/v1/workloads",
                         {}) == auth::Grant::Whole;
  };
  CHECK(may(Role::User, true));
  CHECK(may(Role::Admin, true));
  CHECK_FALSE(may(Role::None, true));
  CHECK_FALSE(may(Role::User, false));
  CHECK(may(Role::Admin, false));
  CHECK_FALSE(may(Role::None, false));
}

TEST_CASE("a PAM user has the configured role or the permissions of the access list") {
  Rules rules{.asks_pam = true, .pam_admin = {"alice"}, .pam_user = {"bob"}};
  CHECK(auth::identify_by_password(rules, "alice") == Identity{"alice", Role::Admin, AuthMethod::Password});
  CHECK(auth::identify_by_password(rules, "bob").role == Role::User);
  CHECK(auth::identify_by_password(rules, "Alice").role == Role::None);
  CHECK(auth::identify_by_password(rules, "root").role == Role::None);
  rules.acl = rmd::Acl::parse("p, reader, /workloads, GET\ng, carol, reader", "acl").value();
  const auto may = [&rules](const Identity& who) {
    return auth::granted(rules, who, "GET", "/v1/workloads", {}) == auth::Grant::Whole;
  };
  CHECK(may(auth::identify_by_password(rules, "carol")));
  CHECK_FALSE(may(auth::identify_by_password(rules, "bob")));
  CHECK(may(Identity{"Eli", Role::User, AuthMethod::Subject}));  // a certificate's role is not the list's matter
}

TEST_CASE("the run role has access to what it owns and to what starting an application needs") {
  const auto grant = [](std::string_view method, auth::Access access, Role role = Role::None) {
    return auth::granted({}, Identity{"x", role, AuthMethod::Socket, true}, method, "/v1/workloads/7", {access});
  };
  CHECK(grant("GET", auth::Access::Own) == auth::Grant::Own);
  CHECK(grant("DELETE", auth::Access::Own) == auth::Grant::Own);
  CHECK(grant("GET", auth::Access::Launch) == auth::Grant::Whole);
  CHECK(grant("GET", auth::Access::ByMethod) == auth::Grant::No);
  CHECK(grant("POST", auth::Access::Reading) == auth::Grant::No);
  CHECK(grant("GET", auth::Access::ByMethod, Role::User) == auth::Grant::Whole);
  CHECK(grant("POST", auth::Access::Reading, Role::User) == auth::Grant::Whole);
  CHECK(grant("DELETE", auth::Access::Own, Role::User) == auth::Grant::Own);
}

TEST_CASE("a certificate that the current CA does not verify has no role") {
  Peer peer = tls_peer({{"OU", "Admin"}, {"CN", "Alice"}});
  peer.is_revoked = true;
  CHECK(refused({}, peer) == AuthFailure::Kind::Unknown);
  CHECK(refused({.asks_pam = true}, peer) == AuthFailure::Kind::Unknown);
}

}  // namespace nrd::access_test
