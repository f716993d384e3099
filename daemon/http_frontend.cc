#include "daemon/http_frontend.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <utility>

#include "api/routing/authorization.h"
#include "api/routing/failure_log.h"
#include "api/routing/request_counters.h"
#include "api/routing/routes.h"
#include "base/errno_text.h"
#include "base/log.h"
#include "base/version.h"
#include "daemon/local_sockets.h"
#include "daemon/notify.h"
#include "hw/rdt/locks.h"

namespace nrd::daemon {
namespace {

constexpr const char* kPamProgram = "/usr/libexec/nrd/nrd-pam";

// systemd creates it (RuntimeDirectory=); create it for a daemon started by hand.
void make_directory_of(const std::string& socket) {
  constexpr mode_t kMode = 0755;
  const std::string directory = std::filesystem::path(socket).parent_path();
  ::mkdir(directory.c_str(), kMode);  // bind() reports any error
}

http::ServerOptions doors_of(const Config& config, std::vector<http::UnixEndpoint> places) {
  http::ServerOptions options;
  options.adopted = passed_sockets();
  for (const http::UnixEndpoint& place : places) make_directory_of(place.path);
  options.unix_at = std::move(places);
  options.tls = config.tls;
  if (config.tls) options.tls_at = http::TcpEndpoint{config.server.address, config.server.tls_port};
  if (config.server.debug) options.plain = http::TcpEndpoint{config.server.address, config.server.debug_port};
  return options;
}

void announce(const Config& config, const http::Server& server) {
  for (const LocalSocket& socket : config.server.sockets) {
    log::notice("SERVING", "serving on a local socket", {{"SOCKET", socket.path}});
  }
  if (server.tls_port() != 0) {
    log::notice("SERVING", "serving HTTPS",
                {{"ADDRESS", config.server.address}, {"PORT", std::to_string(server.tls_port())}});
  }
  if (server.plain_port() != 0) {
    log::warning("DEBUG_PORT_OPEN", "serving plain HTTP without authentication; every local user has full access",
                 {{"ADDRESS", config.server.address}, {"PORT", std::to_string(server.plain_port())}});
  }
}

// Without its own file, PAM would use the service "other", which on Debian accepts every local password.
Result<void> check_service(const std::string& service) {
  const std::string file = "/etc/pam.d/" + service;
  if (::access(file.c_str(), R_OK) == 0) return {};
  return fail(ErrorCode::BadRequest, file + " is missing (access.pam_service)", errno_text());
}

Result<std::unique_ptr<auth::PamClient>> start_logins(const Config::Access& access) {
  if (!access.pam) return nullptr;
  return check_service(access.pam_service).and_then([] { return auth::PamClient::start(kPamProgram); });
}

}  // namespace

Result<std::unique_ptr<HttpFrontend>> HttpFrontend::open(const Config& config, routing::Services services,
                                                         routing::Sentences declared_problems) {
  LocalSocketAccess local = local_socket_access(config.server.sockets);
  std::unique_ptr<AccessPolicy> access_policy = TRY(AccessPolicy::open(config, std::move(local.rules)));
  std::unique_ptr<auth::PamClient> pam_client = TRY(start_logins(config.access));
  const auto counters = std::make_shared<routing::RequestCounters>(routing::route_table());
  http::Handler handler = routing::routes(services, {.version = kVersion,
                                                     .debug_port_open = config.server.debug,
                                                     .lock_holder = rdt::holder_of_tree,
                                                     .declared_problems = std::move(declared_problems),
                                                     .counters = counters});
  handler = routing::log_failures(std::move(handler));
  handler = routing::authorize({.table = routing::route_table(),
                                .rules = access_policy->rules(),
                                .pam_client = pam_client.get(),
                                .pam_service = config.access.pam_service},
                               std::move(handler));
  auto server =
      http::Server::start(doors_of(config, std::move(local.places)), routing::counted(counters, std::move(handler)));
  if (!server) return Failure(server.error());
  announce(config, **server);
  return std::unique_ptr<HttpFrontend>(
      new HttpFrontend(std::move(access_policy), std::move(pam_client), *std::move(server)));
}

void HttpFrontend::reload(Reload when) {
  access_policy_->reload();
  if (when == Reload::IfChanged && !server_->have_tls_files_changed()) return;
  if (const Result<void> reloaded = server_->reload_tls(); !reloaded) {
    log::error("TLS_NOT_RELOADED", reloaded.error().message + "; the previous files stay in force",
               {{"DETAIL", reloaded.error().detail}});
    return;
  }
  if (server_->tls_port() != 0) log::notice("TLS_RELOADED", "TLS files reloaded for new connections");
}

}  // namespace nrd::daemon
