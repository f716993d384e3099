// The house's front: which doors the configuration asks for, and who may come in by them.
#pragma once

#include <memory>
#include <utility>

#include "api/auth/logins.h"
#include "api/http/server.h"
#include "api/v1/routes.h"
#include "base/result.h"
#include "daemon/config.h"
#include "daemon/rulebook.h"

namespace nrd::daemon {

class Front {
 public:
  // Serves at once. Adopts the sockets that systemd passes.
  static Result<std::unique_ptr<Front>> open(const Config& config, v1::House house);

  http::Server& server() { return *server_; }

  // Reads the files of TLS and of access again. Those of TLS only if they have changed, unless it was asked for.
  enum class Reload { IfChanged, Always };
  void reload(Reload when);

 private:
  Front(std::unique_ptr<Rulebook> rulebook, std::unique_ptr<auth::Logins> logins, std::unique_ptr<http::Server> server)
      : rulebook_(std::move(rulebook)), logins_(std::move(logins)), server_(std::move(server)) {}

  const std::unique_ptr<Rulebook> rulebook_;
  const std::unique_ptr<auth::Logins> logins_;  // null without PAM
  const std::unique_ptr<http::Server> server_;  // goes first: its worker uses the others
};

}  // namespace nrd::daemon
