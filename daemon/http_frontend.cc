#include "daemon/http_frontend.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <filesystem>
#include <utility>

#include "api/routing/authorization.h"
#include "api/routing/failure_log.h"
#include "api/routing/request_counters.h"
#include "api/routing/routes.h"
#include "base/errno_text.h"
#include "base/log.h"
#include "base/version.h"
#include "daemon/access_policy.h"
#include "daemon/config.h"
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

http::ServerOptions server_options_of(const Config& config, std::vector<http::UnixEndpoint> places) {
  http::ServerOptions options;
  options.adopted = passed_sockets();
  for (const http::UnixEndpoint& place : places) make_directory_of(place.path);
  options.unix_at = std::move(places);
  options.tls = config.tls;
  if (config.tls) options.tls_at = http::TcpEndpoint{config.server.address, config.server.tls_port};
  if (config.server.debug) options.plain = http::TcpEndpoint{config.server.address, config.server.debug_port};
  return options;
}

void log_if_expired(int64_t certificate_expiry) {
  if (certificate_expiry >= ::time(nullptr)) return;
  log::error("TLS_EXPIRED", "a certificate of [tls] has expired; clients over HTTPS are refused or refuse it");
}

void announce(const Config& config, const http::Server& server) {
  for (const LocalSocket& socket : config.server.sockets) {
    log::notice("SERVING", "serving on a local socket", {{"SOCKET", socket.path}});
  }
  if (server.tls_port() != 0) {
    log::notice("SERVING", "serving HTTPS",
                {{"ADDRESS", config.server.address}, {"PORT", std::to_string(server.tls_port())}});
    log_if_expired(server.certificate_expiry());
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
  return Failure(Error{.code = ErrorCode::BadRequest,
                       .field = "access.pam_service",
                       .message = file + " is missing (access.pam_service)",
                       .detail = errno_text()});
}

Result<std::unique_ptr<auth::PamClient>> start_logins(const AccessConfig& access) {
  if (!access.pam) return nullptr;
  return check_service(access.pam_service).and_then([] { return auth::PamClient::start(kPamProgram); });
}

// The error of a file, with its key.
Error with_key(const http::TlsFiles& files, Error error) {
  error.field = "tls";
  for (const auto& [key, path] : {std::pair{"tls.client_ca", &files.client_ca}, std::pair{"tls.key", &files.key},
                                  std::pair{"tls.certificate", &files.certificate}}) {
    if (error.message.find(*path) != std::string::npos) error.field = key;
  }
  return error;
}

void log_tls_reloaded() { log::notice("TLS_RELOADED", "TLS files reloaded for new connections"); }

Result<http::TlsContext::Prepared> prepare_tls(const http::TlsFiles& files, const http::TlsContext* present) {
  return http::TlsContext::prepare(files, present).map_error([&files](Error error) {
    return with_key(files, std::move(error));
  });
}

}  // namespace

Result<void> check_tls(const Config& config) {
  if (!config.tls) return {};
  return prepare_tls(*config.tls, nullptr).map([](const auto& prepared) { log_if_expired(prepared.expiry); });
}

HttpFrontend::HttpFrontend(std::unique_ptr<AccessPolicy> access_policy, std::unique_ptr<auth::PamClient> pam_client,
                           std::shared_ptr<CurrentPamClient> current,
                           std::shared_ptr<std::atomic<int64_t>> certificate_expiry,
                           std::unique_ptr<http::Server> server)
    : access_policy_(std::move(access_policy)),
      pam_client_(std::move(pam_client)),
      current_pam_client_(std::move(current)),
      certificate_expiry_(std::move(certificate_expiry)),
      server_(std::move(server)) {}

HttpFrontend::~HttpFrontend() = default;

Result<std::unique_ptr<HttpFrontend>> HttpFrontend::open(const Config& config, routing::Services services,
                                                         routing::Sentences declared_problems) {
  LocalSocketAccess local = local_socket_access(config.server.sockets);
  std::unique_ptr<AccessPolicy> access_policy = TRY(AccessPolicy::open(config, std::move(local.rules)));
  std::unique_ptr<auth::PamClient> pam_client = TRY(start_logins(config.access));
  const auto current = std::make_shared<CurrentPamClient>(pam_client.get());
  const auto counters = std::make_shared<routing::RequestCounters>(routing::route_table());
  const auto certificate_expiry = std::make_shared<std::atomic<int64_t>>(0);
  http::Handler handler = routing::routes(services, {.version = kVersion,
                                                     .debug_port_open = config.server.debug,
                                                     .lock_holder = rdt::holder_of_tree,
                                                     .declared_problems = std::move(declared_problems),
                                                     .counters = counters,
                                                     .certificate_expiry = certificate_expiry});
  handler = routing::log_failures(std::move(handler));
  handler = routing::authorize(
      {.table = routing::route_table(), .rules = access_policy->rules(), .pam_client = current}, std::move(handler));
  std::unique_ptr<http::Server> server = TRY(http::Server::start(server_options_of(config, std::move(local.places)),
                                                                 routing::counted(counters, std::move(handler))));
  certificate_expiry->store(server->certificate_expiry());
  announce(config, *server);
  return std::unique_ptr<HttpFrontend>(new HttpFrontend(std::move(access_policy), std::move(pam_client), current,
                                                        certificate_expiry, std::move(server)));
}

void HttpFrontend::reload_changed_files() {
  access_policy_->reload();
  if (!server_->have_tls_files_changed()) return;
  if (const Result<void> reloaded = server_->reload_tls(); !reloaded) {
    log::error("TLS_NOT_RELOADED", reloaded.error().message + "; the previous files stay in force",
               {{"DETAIL", reloaded.error().detail}});
    return;
  }
  certificate_expiry_->store(server_->certificate_expiry());
  log_tls_reloaded();
}

Result<HttpFrontend::Prepared> HttpFrontend::prepare(const Config& config) const {
  LocalSocketAccess local = local_socket_access(config.server.sockets);
  if (local.failure) return Failure(*local.failure);  // a user must not lose access because a name service is away
  auth::Rules rules = TRY(AccessPolicy::prepare(config, std::move(local.rules)));
  Prepared prepared{.rules = std::move(rules), .places = std::move(local.places), .pam_client = {}, .tls = {}};
  if (config.access.pam) {
    TRY(check_service(config.access.pam_service));
    if (!pam_client_) {
      prepared.pam_client = TRY(start_logins(config.access));
    }
  }
  if (config.tls) {
    prepared.tls = TRY(prepare_tls(*config.tls, server_->tls()));
  }
  return prepared;
}

void HttpFrontend::use(const Config& config, Prepared prepared) {
  if (prepared.pam_client) {
    pam_client_ = std::move(prepared.pam_client);
    *current_pam_client_ = pam_client_.get();
  }
  access_policy_->use(config, std::move(prepared.rules));
  if (const Result<void> set = server_->set_permissions(prepared.places); !set) {
    log::error("SOCKET_MODE", set.error().message + "; its users may be unable to connect",
               {{"DETAIL", set.error().detail}});
  }
  if (prepared.tls && server_->tls_port() != 0) {
    server_->use_tls(*std::move(prepared.tls));
    certificate_expiry_->store(server_->certificate_expiry());
    log_tls_reloaded();
  }
}

}  // namespace nrd::daemon
