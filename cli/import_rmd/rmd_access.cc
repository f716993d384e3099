#include "cli/import_rmd/rmd_access.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/file.h"
#include "base/joined.h"
#include "base/split.h"

namespace nrd::cli {
namespace {

constexpr const char* kSample =
    "is RMD's sample, whose private key is public; create new ones with \"nrdctl tls init\"";

struct Source {
  std::string path;
  std::string pem;
};

// Input of [tls].
struct TlsSource {
  Source certificate, key;
  Source client_ca;  // empty: clients have no certificates
};

std::string below(const std::string& directory, const char* name) {
  return directory + (directory.ends_with('/') ? "" : "/") + name;
}

// Empty: the certificate may be used.
std::string problem_of(const Source& source) {
  const Result<CertificateFacts> facts = facts_of(source.pem);
  if (!facts) return facts.error().message;
  if (is_sample_of_rmd(*facts)) return kSample;
  return facts->is_over ? "has expired" : "";
}

// Clients log in through PAM. RMD then asked for no certificates.
bool has_only_passwords(RmdImport& moving) { return moving.text("default.clientauth", "challenge") == "no"; }

// Nullopt, with a report: a file is missing.
Result<std::optional<TlsSource>> read_tls(RmdImport& moving, const RmdDirectory& rmd) {
  const std::string server = moving.text("default.certpath", "/etc/rmd/cert/server");
  const std::string client = moving.text("default.clientcapath", "/etc/rmd/cert/client");
  TlsSource tls;
  for (const auto& [named, source] :
       {std::pair{below(server, "rmd-cert.pem"), &tls.certificate}, std::pair{below(server, "rmd-key.pem"), &tls.key},
        std::pair{below(client, "ca.pem"), &tls.client_ca}}) {
    if (source == &tls.client_ca && has_only_passwords(moving)) continue;
    std::optional<std::string> pem = TRY(rmd.read(named));
    source->path = rmd.place_of(named);
    if (!pem) {
      moving.report().left_out(
          "default.certpath", source->path + " not found, so HTTPS is disabled; \"nrdctl tls init\" creates the files");
      return std::nullopt;
    }
    source->pem = *std::move(pem);
  }
  return tls;
}

// False, with a report: HTTPS is not served with these files.
bool is_usable(RmdImport& moving, const TlsSource& tls) {
  bool is_good = true;
  for (const Source* source : {&tls.certificate, &tls.client_ca}) {
    const std::string problem = source->path.empty() ? "" : problem_of(*source);
    if (problem.empty()) continue;
    moving.report().left_out(source->path, problem);
    is_good = false;
  }
  if (is_good && !is_key_of(tls.key.pem, tls.certificate.pem)) {
    moving.report().left_out(tls.key.path,
                             fmt::format("is not the key of {}, or has a passphrase", tls.certificate.path));
    is_good = false;
  }
  if (!is_good) moving.report().left_out("default.certpath", "HTTPS needs all of its files, so none was imported");
  return is_good;
}

void set_client_auth(RmdImport& moving) {
  const std::string was = moving.text("default.clientauth", "challenge");
  const std::string key = "default.clientauth";
  moving.set("tls", "client_auth", has_only_passwords(moving) ? "\"optional\"" : "\"require\"");
  if (has_only_passwords(moving))
    return moving.report().taken(key, "tls.client_auth = optional, for clients that log in through PAM");
  if (was == "challenge") return moving.report().taken(key, "tls.client_auth = require");
  moving.report().changed(
      key, fmt::format("tls.client_auth = require, not {}, which gave every RMD client full access", was));
}

void take_tls(RmdImport& moving, const TlsSource& tls) {
  for (const auto& [source, name, key, mode] : {std::tuple{&tls.certificate, "server.crt", "certificate", kPublic},
                                                std::tuple{&tls.key, "server.key", "key", kSecret},
                                                std::tuple{&tls.client_ca, "ca.crt", "client_ca", kPublic}}) {
    if (source->path.empty()) continue;
    const std::string to = moving.path_of(std::string("tls/") + name);
    moving.add_file("tls", {name, source->pem, mode});
    moving.take_text(source->path, "tls", key, to);
  }
  set_client_auth(moving);
}

// One list of certificates, of administrators or of users.
Result<void> move_certificates(RmdImport& moving, const RmdDirectory& rmd, const std::string& key,
                               const std::string& to) {
  const std::string named = moving.text(key, "");
  if (named.empty()) return {};
  bool is_any = false;
  for (const std::string& name : rmd.certificates_in(named)) {
    const std::optional<std::string> pem = TRY(rmd.read(below(named, name.c_str())));
    const Source source{rmd.place_of(below(named, name.c_str())), pem.value_or("")};
    if (const std::string problem = problem_of(source); !problem.empty()) {
      moving.report().left_out(source.path, problem);
      continue;
    }
    moving.add_file(to, {name, source.pem, kPublic});
    moving.report().taken(source.path, moving.path_of(to + "/" + name));
    is_any = true;
  }
  if (!is_any) {
    moving.report().left_out(key, "none of its certificates was imported");
    return {};
  }
  const std::string option = to == "admin-certificates" ? "admin_certificates" : "user_certificates";
  moving.take_text(key, "access", option, moving.path_of(to));
  return {};
}

std::string list_of(const std::vector<std::string>& parts) { return "[" + joined(parts, ", ", literal_of) + "]"; }

void set_roles(RmdImport& moving, const NamedRoles& roles) {
  moving.set("roles", "admin", list_of(roles.admins));
  moving.set("roles", "user", list_of(roles.users));
  moving.report().taken("acl.authorization",
                        fmt::format("roles.admin = {}, roles.user = {}", list_of(roles.admins), list_of(roles.users)));
}

Result<void> move_roles(RmdImport& moving, const RmdDirectory& rmd, const std::string& access_list) {
  const std::string how = moving.text("acl.authorization", "signature");
  if (how == "role") {
    set_roles(moving, {{"OU=Admin"}, {"OU=User"}});
  } else if (how == "username") {
    set_roles(moving, named_roles_of(access_list));
  } else if (moving.says("acl.authorization")) {
    moving.report().taken("acl.authorization", "access.admin_certificates and access.user_certificates");
  }
  for (const auto& [key, to] :
       {std::pair{"acl.admincert", "admin-certificates"}, std::pair{"acl.usercert", "user-certificates"}}) {
    if (how != "signature" && moving.says(key)) {
      moving.report().left_out(key, "was not used: acl.authorization is " + how);
      continue;
    }
    TRY(move_certificates(moving, rmd, key, to));
  }
  return {};
}

constexpr std::string_view kAuth = "auth";
constexpr std::string_view kAccount = "account";
constexpr std::string_view kCommonAuth = "@include common-auth";

// The account line that corresponds to an auth line; "" for other lines.
std::string account_line_of(std::string_view line) {
  if (line == kCommonAuth) return "@include common-account";
  const bool may_be_absent = line.starts_with('-');  // the module, see pam.d(5)
  const std::string_view typed = may_be_absent ? line.substr(1) : line;
  const size_t end = std::min(typed.find_first_of(" \t"), typed.size());
  if (typed.substr(0, end) != kAuth) return {};
  return std::string(may_be_absent ? "-" : "") + std::string(kAccount) + std::string(typed.substr(end));
}

bool is_about_accounts(std::string_view line) {
  if (line.starts_with("@include") && line != kCommonAuth) return true;  // the included file may contain account lines
  return line.starts_with(kAccount) || line.starts_with("-account");
}

// How RMD's users log in. Files below /etc/pam.d are left to the operator.
Result<void> move_pam_stack(RmdImport& moving, const RmdDirectory& rmd) {
  const std::string named = "pam/rmd";
  const std::optional<std::string> stack = TRY(rmd.read(named));
  if (moving.says("pam.service"))
    moving.report().left_out("pam.service", "nrd uses the PAM service nrd (access.pam_service)");
  if (!stack) {
    moving.report().left_out(rmd.place_of(named),
                             "not found; to keep RMD's users, add its lines and account lines to /etc/pam.d/nrd");
    return {};
  }
  moving.add_file("pam", {"nrd", with_account_lines(*stack), kPublic});
  moving.report().changed(rmd.place_of(named), moving.path_of("pam/nrd") +
                                                   ", with the account lines that nrd needs; copy it to "
                                                   "/etc/pam.d/nrd to keep RMD's users");
  return {};
}

// Password logins, and the access list that applies to them. Without HTTPS only their files, and the keys to add later.
Result<void> move_pam(RmdImport& moving, const RmdDirectory& rmd, const std::string& path,
                      const std::string& access_list, bool is_served) {
  if (moving.says("default.clientcapath"))
    moving.report().left_out("default.clientcapath", "not used: clients log in with passwords (default.clientauth)");
  TRY(move_pam_stack(moving, rmd));
  const std::string to = moving.path_of("acl.csv");
  if (!access_list.empty()) moving.add_file("", {"acl.csv", access_list, kPublic});
  if (!is_served) {
    const std::string acl = access_list.empty() ? "" : ", access.acl = " + literal_of(to);
    moving.report().left_out("default.clientauth",
                             "was \"no\": users log in with passwords, which requires HTTPS; beside [tls] set "
                             "tls.client_auth = \"optional\", access.pam = true" +
                                 acl);
    return {};
  }
  moving.set("access", "pam", "true");
  if (access_list.empty()) return {};
  moving.take_text(path, "access", "acl", to);
  const NamedRoles named = named_roles_of(access_list);
  if (!named.admins.empty() || !named.users.empty()) return {};
  moving.report().changed(path,
                          "RMD treated user names as roles; nrd needs a line \"g, NAME, user\" for each user, "
                          "including \"g, user, user\" for a user named like a role");
  return {};
}

}  // namespace

// Matches the name of RMD's sample CA (misspelt in the original) or that of its sample server, whatever the issuer.
bool is_sample_of_rmd(const CertificateFacts& facts) {
  const auto has = [](const std::string& name, const char* part) { return name.find(part) != std::string::npos; };
  constexpr const char* kSampleCa = "Resource Management Daedmon";
  return has(facts.issuer, kSampleCa) || has(facts.subject, kSampleCa) || has(facts.subject, "CN=RMD-SERVER");
}

std::string with_account_lines(const std::string& stack) {
  std::string whole = stack;
  if (!whole.empty() && !whole.ends_with('\n')) whole += '\n';
  std::string accounts;
  for (const std::string_view line : split(whole, "\n")) {
    if (is_about_accounts(trimmed(line))) return stack;
    if (const std::string account = account_line_of(trimmed(line)); !account.empty()) accounts += account + "\n";
  }
  return whole + accounts;
}

NamedRoles named_roles_of(const std::string& access_list) {
  const auto is_role = [](const std::string& word) { return word == "admin" || word == "root" || word == "user"; };
  NamedRoles roles;
  for (const std::string_view line : split(access_list, "\n")) {
    std::vector<std::string> fields;
    for (size_t from = 0; from <= line.size();) {
      const size_t comma = std::min(line.find(',', from), line.size());
      fields.emplace_back(trimmed(line.substr(from, comma - from)));
      from = comma + 1;
    }
    if (fields.size() != 3 || fields[0] != "g" || fields[1].empty() || is_role(fields[1]) || !is_role(fields[2]))
      continue;
    (fields[2] == "user" ? roles.users : roles.admins).push_back("CN=" + fields[1]);
  }
  return roles;
}

Result<void> move_access(RmdImport& moving, const RmdDirectory& rmd) {
  const std::string named = below(moving.text("acl.path", "/etc/rmd/acl/"), "url/policy.csv");
  const std::optional<std::string> access_list = TRY(rmd.read(named));
  const std::string path = rmd.place_of(named);
  if (moving.says("acl.path")) moving.report().taken("acl.path", "read " + path);
  if (moving.says("acl.filter")) moving.report().left_out("acl.filter", "nrd has only one kind of access list");

  const std::optional<TlsSource> tls = TRY(read_tls(moving, rmd));
  const bool is_served = tls && is_usable(moving, *tls);
  if (is_served) take_tls(moving, *tls);
  TRY(move_roles(moving, rmd, access_list.value_or("")));
  if (has_only_passwords(moving)) return move_pam(moving, rmd, path, access_list.value_or(""), is_served);
  if (!is_served && moving.says("default.clientauth"))
    moving.report().left_out("default.clientauth", "HTTPS is disabled");
  if (moving.says("pam.service"))
    moving.report().left_out("pam.service", "not used: clients need certificates (default.clientauth)");
  if (access_list) moving.report().left_out(path, "applies to PAM logins only; roles apply to certificates");
  return {};
}

}  // namespace nrd::cli
