#include "cli/endpoint_options.h"

#include <cstdlib>
#include <string>

namespace nrd::cli {
namespace {

std::string environment(const char* name, const std::string& otherwise = {}) {
  const char* value = std::getenv(name);
  return value == nullptr || *value == '\0' ? otherwise : value;
}

}  // namespace

Endpoint endpoint_of_environment() {
  Endpoint to;
  to.socket = environment("NRD_SOCKET", to.socket);
  to.url = environment("NRD_URL");
  to.certificate = environment("NRD_CERT");
  to.key = environment("NRD_KEY");
  to.ca = environment("NRD_CACERT");
  return to;
}

void declare_endpoint(CLI::App& app, Endpoint& to, PasswordSource& password) {
  CLI::Option* socket = app.add_option("--socket", to.socket, "Unix socket of nrd (env NRD_SOCKET)");
  CLI::Option* url =
      app.add_option("--url", to.url, "URL of nrd instead of the socket, https://HOST:8443 (env NRD_URL)");
  socket->capture_default_str();
  url->excludes(socket);
  app.add_option("--cert", to.certificate, "client certificate, PEM (https only; env NRD_CERT)");
  app.add_option("--key", to.key, "private key of --cert, PEM (https only; env NRD_KEY)");
  app.add_option("--cacert", to.ca, "CA that signed nrd's certificate, PEM (https only; env NRD_CACERT)");
  CLI::Option* user =
      app.add_option("--user", to.user, "log in as this user of nrd's host; prompts for the password (https only)");
  CLI::Option* file = app.add_option("--password-file", password.file,
                                     "read the password from the first line of this file (mode 0600)");
  app.add_option("--password-fd", password.fd, "read the password from the first line of this file descriptor")
      ->check(CLI::NonNegativeNumber)
      ->excludes(file)
      ->needs(user);
  file->needs(user);
}

void check_endpoint(const CLI::App& app, Endpoint& to) {
  if (app.count("--socket") > 0) to.url.clear();
  while (to.url.ends_with('/')) to.url.pop_back();
  const bool is_local = app.count("--url") == 0 && to.url.empty();
  if (!is_local && !to.url.starts_with("http://") && !to.url.starts_with("https://")) {
    throw CLI::ValidationError("--url", "\"" + to.url + "\" must begin with http:// or https://");
  }
  const bool is_about_tls = app.count("--cert") + app.count("--key") + app.count("--cacert") > 0;
  if (is_about_tls && !to.url.starts_with("https://")) {
    throw CLI::ValidationError("--cert, --key and --cacert", "require --url https://HOST:PORT");
  }
  if (app.count("--user") > 0 && !to.url.starts_with("https://")) {
    throw CLI::ValidationError("--user", "requires --url https://HOST:PORT so that the password is encrypted");
  }
  if (app.count("--user") > 0 && !to.certificate.empty()) {
    throw CLI::ValidationError("--user", "cannot be combined with --cert: nrd would ignore the user");
  }
  if (app.count("--key") > 0 && to.certificate.empty()) {
    throw CLI::ValidationError("--key", "requires --cert");
  }
}

}  // namespace nrd::cli
