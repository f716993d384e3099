// What users of PAM may do, in the form of RMD's access list (acl/url/policy.csv, the policy language of casbin):
//
//   p, user, /cache/l*, GET                     the role `user` may GET /v1/cache/l3 and all that begins so
//   p, root, /workloads/*, (PATCH)|(DELETE)     methods: one, several with | between them, or .* for all
//   g, root, user                               whoever has the role `root` has the role `user` as well
//   g, alice, root                              the user of PAM alice has the role `root`
//
// Paths are those of the API without /v1; from a "*" on everything fits (casbin's keyMatch). # begins a comment.
//
// Where RMD had gaps: POST /hospitality and GET /mba, which RMD's own file forgot, belong to the role `user` in every
// file. The query is not matched. A role is what stands second in a p line or third in a g line, and a user of PAM
// whose name is that of a role gets nothing by it, until a line says that it is meant so:
//
//   g, user, user                               the user of PAM `user` has the role `user`
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace nrd::auth {

constexpr size_t kAclLimit = size_t{64} << 10;  // bytes of the file
constexpr size_t kAclLineLimit = 1024;

class Acl {
 public:
  // BadRequest with the number of the line; `name` stands before it.
  static Result<Acl> parse(std::string_view text, const std::string& name);

  // `path` as in a request: "/v1/workloads/7". HEAD is GET without a body.
  bool permits(const std::string& user, std::string_view method, std::string_view path) const;

  // Whether a line gives the user a role at all.
  bool has_role(const std::string& user) const;

  friend bool operator==(const Acl&, const Acl&) = default;

 private:
  struct Permission {
    std::string path;                  // up to its "*"
    bool is_prefix = false;            // it had one
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

}  // namespace nrd::auth
