// The access list: RMD's own lines, its gaps closed, and what is refused.
#include "api/rmd/acl.h"

#include <doctest/doctest.h>

#include <string>

namespace nrd::acl_test {

using nrd::rmd::Acl;

namespace {

// The roles of RMD 0.3 as it shipped them, and some users.
constexpr const char* kRmds = R"(
p, user, /cache/l*/*, GET
p, user, /cache/l*, GET
p, user, /cache, GET
p, user, /workloads, GET
p, user, /workloads/*, GET
p, user, /hospitality, GET
p, root, /workloads, POST
p, root, /workloads/*, (PATCH)|(DELETE)
g, root, user
g, admin, root
# ours
g, alice, admin
g, bob, user
)";

Acl acl(const std::string& text = kRmds) { return Acl::parse(text, "acl").value(); }

std::string problem(const std::string& text) {
  const auto parsed = Acl::parse(text, "acl");
  return parsed ? "" : parsed.error().message;
}

}  // namespace

TEST_CASE("a role has its own and inherited permissions") {
  const Acl list = acl();
  for (const char* user : {"alice", "bob"}) {
    CHECK(list.permits(user, "GET", "/v1/cache"));
    CHECK(list.permits(user, "HEAD", "/v1/cache/l3"));
    CHECK(list.permits(user, "GET", "/v1/cache/l3/0"));
    CHECK(list.permits(user, "GET", "/v1/workloads/"));
    CHECK_FALSE(list.permits(user, "GET", "/v1/onload"));
    CHECK_FALSE(list.permits(user, "GET", "/v1/cachet"));
    CHECK_FALSE(list.permits(user, "PUT", "/v1/workloads/1"));
  }
  CHECK(list.permits("alice", "POST", "/v1/workloads"));
  CHECK(list.permits("alice", "DELETE", "/v1/workloads/1"));
  CHECK_FALSE(list.permits("bob", "POST", "/v1/workloads"));
  CHECK_FALSE(list.permits("bob", "DELETE", "/v1/workloads/1"));
  CHECK_FALSE(list.permits("mallory", "GET", "/v1/cache"));
  CHECK_FALSE(list.permits("", "GET", "/v1/cache"));
}

TEST_CASE("the role user has the permissions that RMD's own file omits") {
  CHECK(acl().permits("bob", "POST", "/v1/hospitality"));
  CHECK(acl().permits("bob", "GET", "/v1/mba"));
  CHECK(acl("g, bob, user").permits("bob", "GET", "/v1/mba"));
  CHECK_FALSE(acl("").permits("bob", "GET", "/v1/mba"));
}

TEST_CASE("a PAM user with the name of a role does not have that role") {
  for (const char* name : {"root", "admin", "user"}) {
    CHECK_FALSE(acl().permits(name, "GET", "/v1/cache"));
    CHECK_FALSE(acl().permits(name, "POST", "/v1/workloads"));
  }
  CHECK_FALSE(acl("p, alice, /cache, GET").permits("alice", "GET", "/v1/cache"));
}

TEST_CASE("a PAM user with the name of a role has it if a g line grants it") {
  const Acl list = acl(std::string(kRmds) + "g, user, user\ng, admin, admin\n");
  CHECK(list.permits("user", "GET", "/v1/cache"));
  CHECK_FALSE(list.permits("user", "POST", "/v1/workloads"));
  CHECK(list.permits("admin", "POST", "/v1/workloads"));
  CHECK_FALSE(list.permits("root", "GET", "/v1/cache"));
  CHECK_FALSE(list.permits("bob", "POST", "/v1/workloads"));
}

TEST_CASE("cyclic role inheritance terminates") {
  const Acl list = acl("g, a, b\ng, b, c\ng, c, b\np, c, /x, GET");
  CHECK(list.permits("a", "GET", "/v1/x"));
  CHECK_FALSE(list.permits("a", "GET", "/v1/y"));
}

TEST_CASE("methods are a list, with or without brackets, or all") {
  for (const char* methods : {"GET|PUT", "(GET|PUT)", "(GET)|(PUT)", ".*", "*"}) {
    CAPTURE(methods);
    const Acl list = acl(std::string("p, r, /x, ") + methods + "\ng, a, r");
    CHECK(list.permits("a", "GET", "/v1/x"));
    CHECK(list.permits("a", "PUT", "/v1/x"));
    CHECK(list.permits("a", "PATCH", "/v1/x") == (std::string(methods).ends_with('*')));
  }
  for (const char* methods :
       {"", "get", "GET|", "|GET", "(GET", "GET)", "G.T", "(GET)(PUT)", "^GET$", "GET PUT", "()"}) {
    CAPTURE(methods);
    CHECK(problem(std::string("p, r, /x, ") + methods).starts_with("acl:1: "));
  }
}

TEST_CASE("an invalid line refuses the whole file and is named in the error") {
  for (const char* line : {"p", "p, r, /x", "p, r, /x, GET, more", "q, a, b", "g, a", "g, a, b, c", "g, , b", "g, a, ",
                           "p, r, x, GET", "p, , /x, GET", "p, a b, /x, GET"}) {
    CAPTURE(line);
    CHECK(problem("g, a, b\n\n" + std::string(line)).starts_with("acl:3: "));
  }
  CHECK(problem(std::string(nrd::rmd::kAclLimit + 1, '#')).find("larger than") != std::string::npos);
  CHECK(problem(std::string(nrd::rmd::kAclLineLimit + 1, '\n')).find("more than") != std::string::npos);
}

TEST_CASE("a user without a g line has no role, also with the name of a role") {
  const Acl list = acl(std::string(kRmds) + "g, user, user\n");
  for (const char* user : {"alice", "bob", "user"}) CHECK(list.has_role(user));
  for (const char* user : {"mallory", "root", "admin", ""}) CHECK_FALSE(list.has_role(user));
}

}  // namespace nrd::acl_test
