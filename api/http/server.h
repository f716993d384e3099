// The HTTP service: its listeners, and the event_loop behind them.
//
// Pistache 0.0.5 has faults that any client can trigger (a split chunk spins a event_loop for ever, an answer can reach
// another connection, a silent TLS client blocks all others). So only its reactor and its request parser are used here,
// behind a listener and a parser of our own; docs/security.md tells what each of the faults would need and lacks.
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
  std::optional<TcpEndpoint> plain{};  // without any authentication
  std::optional<TcpEndpoint> tls_at{};
  std::optional<TlsFiles> tls{};  // needed for tls_at
  std::vector<UnixEndpoint> unix_at{};
  // They take the place of tls_at and of those of unix_at that they are.
  std::vector<PassedSocket> adopted{};
};

class Server {
 public:
  // Binds and serves at once; fails with the address, or the file, in the message.
  static Result<std::unique_ptr<Server>> start(ServerOptions options, Handler handler);
  virtual ~Server() = default;  // stops at once

  // New requests get 503; returns when those accepted are answered, or at the deadline. From then on no handler runs,
  // nor what one has left for later: what they ask may be taken down. Answers are still sent.
  virtual void drain(std::chrono::milliseconds deadline) = 0;

  // 0 if there is no such listener.
  virtual uint16_t plain_port() const = 0;
  virtual uint16_t tls_port() const = 0;

  // Reads certificate, key and authority again; on failure the old ones stay in force. Nothing to do without TLS.
  virtual Result<void> reload_tls() = 0;
  virtual bool have_tls_files_changed() const = 0;

  // Asks the event_loop for a sign of life, and tells when it last gave one.
  virtual void ask_for_beat() = 0;
  virtual std::chrono::steady_clock::time_point last_beat() const = 0;
};

}  // namespace nrd::http
