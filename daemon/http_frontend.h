// The HTTP frontend: opens the configured listeners and applies the access policy.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "api/auth/pam_client.h"
#include "api/http/server.h"
#include "api/routing/call.h"
#include "base/result.h"
#include "daemon/access_policy.h"
#include "daemon/config.h"

namespace nrd::daemon {

class HttpFrontend {
 public:
  // Starts serving at once. Adopts sockets passed by systemd.
  static Result<std::unique_ptr<HttpFrontend>> open(const Config& config, routing::Services services);

  http::Server& server() { return *server_; }

  // Reloads TLS and access files. TLS files only if they changed, unless the reload was requested.
  enum class Reload { IfChanged, Always };
  void reload(Reload when);

 private:
  HttpFrontend(std::unique_ptr<AccessPolicy> access_policy, std::unique_ptr<auth::PamClient> pam_client,
               std::shared_ptr<std::atomic<int64_t>> certificate_expiry, std::unique_ptr<http::Server> server)
      : access_policy_(std::move(access_policy)),
        pam_client_(std::move(pam_client)),
        certificate_expiry_(std::move(certificate_expiry)),
        server_(std::move(server)) {}

  const std::unique_ptr<AccessPolicy> access_policy_;
  const std::unique_ptr<auth::PamClient> pam_client_;               // null without PAM
  const std::shared_ptr<std::atomic<int64_t>> certificate_expiry_;  // for the metrics
  const std::unique_ptr<http::Server> server_;                      // destroyed first: its event loop uses the others
};

}  // namespace nrd::daemon
