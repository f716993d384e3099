#include "cli/tls_init.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/joined.h"
#include "cli/certificates.h"
#include "cli/new_files.h"
#include "cli/printer.h"

namespace nrd::cli {
namespace {

// The kernel's host name, or localhost if a certificate cannot carry it.
std::string own_name() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return is_host(name.data()) ? name.data() : "localhost";
}

// First the name that RMD clients expect, then all local names, then the requested ones.
std::vector<std::string> hosts_of(const std::vector<std::string>& asked) {
  std::vector<std::string> hosts;
  const auto add = [&hosts](const std::string& host) {
    if (std::find(hosts.begin(), hosts.end(), host) == hosts.end()) hosts.push_back(host);
  };
  for (const char* host : {"rmd-nameserver", "localhost", "127.0.0.1", "::1"}) add(host);
  add(own_name());
  for (const std::string& host : asked) add(host);
  return hosts;
}

std::vector<NewFile> files_of(const Pki& pki) {
  std::vector<NewFile> files;
  for (const auto& [name, pair] : {std::pair<std::string, const KeyPair&>{"ca", pki.ca},
                                   {"server", pki.server},
                                   {"admin", pki.admin},
                                   {"user", pki.user}}) {
    files.push_back({name + ".crt", pair.certificate, kPublic});
    files.push_back({name + ".key", pair.key, kSecret});
  }
  return files;
}

// `dir` is absolute because nrd accepts only absolute paths.
void print_what_next(const std::string& dir, const std::vector<std::string>& hosts, int days) {
  print("Created in {}, valid for {} days:\n", dir, days);
  print("  ca.crt      ca.key      signs the other certificates\n");
  print("  server.crt  server.key  for nrd, valid for {}\n", joined(hosts, ", "));
  print("  admin.crt   admin.key   for clients with full access (OU=Admin)\n");
  print("  user.crt    user.key    for clients with read-only access (OU=User)\n\n");
  print("Save this as /etc/nrd/nrd.toml.d/tls.toml and restart nrd:\n\n");
  print("[tls]\ncertificate = \"{}/server.crt\"\nkey = \"{}/server.key\"\nclient_ca = \"{}/ca.crt\"\n", dir, dir, dir);
  print("client_auth = \"require\"\n\n");
  print("For clients on other hosts add these lines; nrd listens on 127.0.0.1 only by default:\n\n");
  print("[server]\naddress = \"0.0.0.0\"\n\n");
  print("Then test it with:\n\n");
  print("curl --cacert {}/ca.crt --cert {}/admin.crt --key {}/admin.key https://localhost:8443/v1/node\n\n", dir, dir,
        dir);
  print("Move {}/ca.key off this host: it can issue administrator certificates, and nrd does not need it.\n", dir);
}

}  // namespace

OrStop<> init_tls(const TlsInit& wanted) {
  const std::vector<std::string> hosts = hosts_of(wanted.hosts);
  const Result<Pki> pki = make_pki({.node = own_name(), .hosts = hosts, .lifetime = std::chrono::days(wanted.days)});
  if (!pki) return stop(pki.error().code == ErrorCode::BadRequest ? kUsage : kRefused, pki.error().message);
  const std::string directory = absolute_path(wanted.directory);
  TRY(or_stop(write_new_files(directory, files_of(*pki))));
  print_what_next(directory, hosts, wanted.days);
  return {};
}

}  // namespace nrd::cli
