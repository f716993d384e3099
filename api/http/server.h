// The HTTP server: listeners and the event loop.
//
// Pistache 0.0.5 has bugs that any client can trigger (a split chunk makes its worker loop forever, a response can
// reach another connection, a silent TLS client blocks all others). So nrd uses only its reactor and its request
// parser, behind its own listener and parser; docs/security.md explains why the bugs cannot be triggered.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "api/http/endpoints.h"
#include "api/http/message.h"
#include "api/http/tls.h"
#include "base/result.h"

namespace nrd::http {

struct ServerOptions {
  std::optional<TcpEndpoint> plain{};  // without authentication
  std::optional<TcpEndpoint> tls_at{};
  std::optional<TlsFiles> tls{};  // required for tls_at
  std::vector<UnixEndpoint> unix_at{};
  // Passed sockets replace tls_at and the matching entries of unix_at.
  std::vector<PassedSocket> adopted{};
};

class Server {
 public:
  // Binds and starts to serve. Errors name the address or file.
  static Result<std::unique_ptr<Server>> start(ServerOptions options, Handler handler);
  virtual ~Server() = default;  // closes all connections

  // Answers new requests with 503; returns when all accepted requests are answered, or at the deadline. Afterwards no
  // handler and no deferred function runs, so the services they use may be destroyed. Responses are still sent.
  virtual void drain(std::chrono::milliseconds deadline) = 0;

  // 0 without such a listener.
  virtual uint16_t plain_port() const = 0;
  virtual uint16_t tls_port() const = 0;

  // Reloads certificate, key and client CA; keeps the old ones on failure. No-op without TLS.
  virtual Result<void> reload_tls() = 0;
  virtual bool have_tls_files_changed() const = 0;
  // Other files, which TlsContext::prepare() has checked. Requires TLS.
  virtual void use_tls(TlsContext::Prepared prepared) = 0;
  // Sets owner and mode of the sockets in `unix_at` as they were at start, with other users. Sockets from systemd keep
  // theirs. The first error; the others are set nevertheless.
  virtual Result<void> set_permissions(const std::vector<UnixEndpoint>& unix_at) = 0;
  // End of the certificate's validity in seconds since the epoch; 0: no TLS.
  virtual int64_t certificate_expiry() const = 0;

  // Liveness of the event loop; see EventLoop.
  virtual void ask_for_beat() = 0;
  virtual std::chrono::steady_clock::time_point last_beat() const = 0;
};

}  // namespace nrd::http
