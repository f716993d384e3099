// Who is who.
#include "api/auth/access.h"

#include <doctest/doctest.h>

using namespace nrd;
using auth::Identity;
using auth::Role;
using auth::Rules;
using auth::Stranger;
using http::Peer;

namespace {

constexpr gid_t kOurGroup = 990;
constexpr std::chrono::sys_seconds kNow{std::chrono::seconds(1'800'000'000)};
constexpr std::chrono::sys_seconds kEnd = kNow + std::chrono::hours(1);

Peer unix_peer(uid_t uid, std::vector<gid_t> groups) {
  return {.door = Peer::Door::Unix,
          .address = "",
          .credentials = Peer::Credentials{.uid = uid, .pid = 1, .groups = std::move(groups)}};
}

Peer tls_peer(std::vector<std::pair<std::string, std::string>> subject) {
  return {.door = Peer::Door::Tls, .address = "", .subject = std::move(subject), .valid_until = kEnd};
}

auto identify(const Rules& rules, const Peer& peer) { return auth::identify(rules, peer, kNow); }

Stranger::Kind refused(const Rules& rules, const Peer& peer) {
  const auto who = identify(rules, peer);
  REQUIRE_FALSE(who);
  CHECK_FALSE(who.error().reason.empty());
  return who.error().kind;
}

}  // namespace

TEST_CASE("root and members of the group are administrators on the Unix socket") {
  const Rules rules{.group = kOurGroup};
  CHECK(identify(rules, unix_peer(0, {0})) == Identity{"uid 0", Role::Admin});
  CHECK(identify(rules, unix_peer(1000, {kOurGroup})) == Identity{"uid 1000", Role::Admin});
  CHECK(identify(rules, unix_peer(1000, {1000, 27, kOurGroup})) == Identity{"uid 1000", Role::Admin});
}

TEST_CASE("nobody else is anybody on the Unix socket") {
  CHECK(refused({.group = kOurGroup}, unix_peer(1000, {1000, 0})) == Stranger::Kind::Unwelcome);
  CHECK(refused({}, unix_peer(1000, {kOurGroup})) == Stranger::Kind::Unwelcome);
  CHECK(refused({}, {.door = Peer::Door::Unix, .address = ""}) == Stranger::Kind::Unwelcome);
}

TEST_CASE("a certificate's subject gives the role, the higher one if it fits both") {
  CHECK(identify({}, tls_peer({{"OU", "Admin"}, {"CN", "Alice"}})) == Identity{"Alice", Role::Admin});
  CHECK(identify({}, tls_peer({{"CN", "Eli"}})) == Identity{"Eli", Role::User});
  CHECK(identify({}, tls_peer({{"OU", "User"}})) == Identity{"OU=User", Role::User});
  CHECK(identify({}, tls_peer({{"OU", "User"}, {"OU", "Admin"}, {"CN", "Bo"}})) == Identity{"Bo", Role::Admin});
  CHECK(identify({.admin = {"CN=Zoe"}, .user = {}}, tls_peer({{"CN", "Zoe"}})) == Identity{"Zoe", Role::Admin});
}

TEST_CASE("a certificate that fits no rule to the letter is a stranger's") {
  for (const auto& subject :
       std::vector<std::vector<std::pair<std::string, std::string>>>{{},
                                                                     {{"OU", "admin"}},
                                                                     {{"OU", "Admin "}},
                                                                     {{"O", "Admin"}},
                                                                     {{"CN", "OU=Admin"}},
                                                                     {{"OU", std::string("Admin\0x", 7)}},
                                                                     {{"CN", "Admin"}}}) {
    CHECK(refused({}, tls_peer(subject)) == Stranger::Kind::Unknown);
  }
  CHECK(refused({.admin = {}, .user = {}}, tls_peer({{"OU", "Admin"}})) == Stranger::Kind::Unknown);
}

TEST_CASE("a certificate counts until its end, also on a connection that goes on") {
  Peer peer = tls_peer({{"OU", "Admin"}, {"CN", "Alice"}});
  CHECK(auth::identify({}, peer, kEnd));
  CHECK_FALSE(auth::identify({}, peer, kEnd + std::chrono::seconds(1)));
  peer.valid_until.reset();
  CHECK_FALSE(identify({}, peer));
}

TEST_CASE("users read, administrators change") {
  for (const char* method : {"GET", "HEAD", "OPTIONS"}) {
    CHECK(auth::may(Role::User, method));
    CHECK(auth::may(Role::Admin, method));
  }
  for (const char* method : {"POST", "PATCH", "PUT", "DELETE"}) {
    CHECK_FALSE(auth::may(Role::User, method));
    CHECK(auth::may(Role::Admin, method));
  }
}
