// The HTTP frontend: opens the configured listeners and applies the access policy.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "api/auth/access.h"
#include "api/auth/pam_client.h"
#include "api/http/server.h"
#include "api/http/tls.h"
#include "api/routing/call.h"
#include "base/result.h"

namespace nrd::daemon {

class AccessPolicy;
struct Config;

// Whether HTTPS could be served with the files of [tls]; without them there is nothing to check. Logs an expired one.
Result<void> check_tls(const Config& config);

class HttpFrontend {
 public:
  // Starts serving at once. Adopts sockets passed by systemd.
  static Result<std::unique_ptr<HttpFrontend>> open(const Config& config, routing::Services services,
                                                    routing::Sentences declared_problems);

  ~HttpFrontend();

  http::Server& server() { return *server_; }

  // Reloads TLS and access files that have changed.
  void reload_changed_files();

  // Takes another configuration in two steps; the second cannot fail. Listeners stay as they are.
  struct Prepared {
    auth::Rules rules;
    std::vector<http::UnixEndpoint> places;
    std::unique_ptr<auth::PamClient> pam_client;  // null: not needed, or there is one
    std::optional<http::TlsContext::Prepared> tls;
  };
  Result<Prepared> prepare(const Config& config) const;
  void use(const Config& config, Prepared prepared);

 private:
  using CurrentPamClient = std::atomic<auth::PamClient*>;
  HttpFrontend(std::unique_ptr<AccessPolicy> access_policy, std::unique_ptr<auth::PamClient> pam_client,
               std::shared_ptr<CurrentPamClient> current, std::shared_ptr<std::atomic<int64_t>> certificate_expiry,
               std::unique_ptr<http::Server> server);

  const std::unique_ptr<AccessPolicy> access_policy_;
  std::unique_ptr<auth::PamClient> pam_client_;  // null before PAM is first configured
  const std::shared_ptr<CurrentPamClient> current_pam_client_;
  const std::shared_ptr<std::atomic<int64_t>> certificate_expiry_;  // for the metrics
  const std::unique_ptr<http::Server> server_;                      // destroyed first: its event loop uses the others
};

}  // namespace nrd::daemon
