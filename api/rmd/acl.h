// Permissions of PAM users, in the format of RMD's access list (acl/url/policy.csv, casbin policies):
//
//   p, user, /cache/l*, GET                     the role `user` may GET /v1/cache/l3 and all paths with that prefix
//   p, root, /workloads/*, (PATCH)|(DELETE)     methods: one, several with | between them, or .* for all
//   g, root, user                               the role `root` inherits the role `user`
//   g, alice, root                              the PAM user alice has the role `root`
//
// Paths are API paths without /v1; "*" matches the rest of the path (casbin's keyMatch). # begins a comment.
//
// Differences from RMD: the role `user` always has POST /hospitality and GET /mba, which RMD's own file omits. The
// query is not matched. The second field of a p line and the third of a g line name roles; a PAM user with the name of
// a role does not have that role unless a line grants it:
//
//   g, user, user                               the PAM user `user` has the role `user`
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace nrd::rmd {

constexpr size_t kAclLimit = size_t{64} << 10;  // bytes per file
constexpr size_t kAclLineLimit = 1024;

class Acl {
 public:
  // BadRequest with `name` and the line number.
  static Result<Acl> parse(std::string_view text, const std::string& name);

  // `path` as in a request: "/v1/workloads/7". HEAD matches GET.
  bool permits(const std::string& user, std::string_view method, std::string_view path) const;

  // True if the user has any role.
  bool has_role(const std::string& user) const;

  friend bool operator==(const Acl&, const Acl&) = default;

 private:
  struct Permission {
    std::string path;                  // up to the "*"
    bool is_prefix = false;            // had a "*"
    std::vector<std::string> methods;  // empty: all
    friend bool operator==(const Permission&, const Permission&) = default;
  };

  Result<void> add(std::string_view line);
  static Result<Permission> permission_of(std::string_view path, std::string_view methods);
  bool role_permits(const std::string& role, std::string_view method, std::string_view path) const;

  std::map<std::string, std::vector<Permission>> permissions_;  // by role
  std::map<std::string, std::set<std::string>> roles_;          // of a user or a role
  std::set<std::string> role_names_;
};

}  // namespace nrd::rmd
