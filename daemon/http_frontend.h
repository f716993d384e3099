// The HTTP frontend: opens the configured listeners and applies the access policy.
#pragma once

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
  static Result<std::unique_ptr<HttpFrontend>> open(const Config& config, routing::Services services,
                                                    routing::Sentences declared_problems);

  http::Server& server() { return *server_; }

  // Reloads TLS and access files. TLS files only if they changed, unless the reload was requested.
  enum class Reload { IfChanged, Always };
  void reload(Reload when);

 private:
  HttpFrontend(std::unique_ptr<AccessPolicy> access_policy, std::unique_ptr<auth::PamClient> pam_client,
               std::unique_ptr<http::Server> server)
      : access_policy_(std::move(access_policy)), pam_client_(std::move(pam_client)), server_(std::move(server)) {}

  const std::unique_ptr<AccessPolicy> access_policy_;
  const std::unique_ptr<auth::PamClient> pam_client_;  // null without PAM
  const std::unique_ptr<http::Server> server_;         // destroyed first: its event loop uses the others
};

}  // namespace nrd::daemon
