// The HTTP server: listeners and the event loop.
//
// Pistache 0.0.5 has bugs that any client can trigger (a split chunk makes its worker loop forever, a response can
// reach another connection, a silent TLS client blocks all others). So nrd uses only its reactor and its texts of
// status codes; docs/security.md explains why the bugs cannot be triggered.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "api/http/endpoints.h"
#include "api/http/event_loop.h"
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

// Destroying it closes all connections.
class Server {
 public:
  // Binds and starts to serve. Errors name the address or file.
  static Result<std::unique_ptr<Server>> start(ServerOptions options, Handler handler);

  // Answers new requests with 503; returns when all accepted requests are answered, or at the deadline. Afterwards no
  // handler and no deferred function runs, so the services they use may be destroyed. Responses are still sent.
  void drain(std::chrono::milliseconds deadline) { event_loop_.drain(deadline); }

  // 0 without such a listener.
  uint16_t plain_port() const { return plain_port_; }
  uint16_t tls_port() const { return tls_port_; }

  // Reloads certificate, key and client CA; keeps the old ones on failure. No-op without TLS.
  Result<void> reload_tls() { return tls_ ? tls_->reload() : Result<void>(); }
  bool have_tls_files_changed() const { return tls_ && tls_->have_files_changed(); }
  const TlsContext* tls() const { return tls_.get(); }  // null: no TLS
  // Other files, which TlsContext::prepare() has checked. Requires TLS.
  void use_tls(TlsContext::Prepared prepared);
  // Sets owner and mode of the sockets in `unix_at` as they were at start, with other users. Sockets from systemd keep
  // theirs. The first error; the others are set nevertheless.
  Result<void> set_permissions(const std::vector<UnixEndpoint>& unix_at);
  // End of the certificate's validity in seconds since the epoch; 0: no TLS.
  int64_t certificate_expiry() const { return tls_ ? tls_->certificate_expiry() : 0; }

  // Liveness of the event loop; see EventLoop.
  void ask_for_beat() { event_loop_.ask_for_beat(); }
  std::chrono::steady_clock::time_point last_beat() const { return event_loop_.last_beat(); }

 private:
  // `own`: the indexes of the Unix sockets that nrd creates itself.
  Server(std::vector<ListeningSocket> listeners, std::vector<size_t> own, std::unique_ptr<TlsContext> tls,
         Handler handler);

  const uint16_t plain_port_;
  const uint16_t tls_port_;
  const std::vector<size_t> own_;
  const std::unique_ptr<TlsContext> tls_;
  EventLoop event_loop_;  // declared after what it uses
};

}  // namespace nrd::http
