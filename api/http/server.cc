#include "api/http/server.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "api/http/event_loop.h"
#include "api/http/listening_socket.h"

namespace nrd::http {
namespace {

bool has_kind(const std::vector<ListeningSocket>& listeners, Peer::Transport kind) {
  for (const ListeningSocket& listener : listeners) {
    if (listener.kind == kind) return true;
  }
  return false;
}

bool has_socket(const std::vector<ListeningSocket>& listeners, size_t socket) {
  return std::ranges::any_of(listeners, [socket](const ListeningSocket& listener) {
    return listener.kind == Peer::Transport::Unix && listener.socket == socket;
  });
}

// Finds the endpoint of a passed Unix socket by descriptor name or path. A single endpoint matches any socket, because
// there are no other access rules to confuse it with.
Result<size_t> endpoint_of(const ListeningSocket& listener, const std::string& name,
                           const std::vector<UnixEndpoint>& endpoints) {
  const auto index = [&endpoints](const auto& found) { return static_cast<size_t>(found - endpoints.begin()); };
  const auto named =
      std::ranges::find_if(endpoints, [&](const auto& place) { return !place.name.empty() && place.name == name; });
  if (named != endpoints.end()) return index(named);
  const std::string path = path_of(listener);
  const auto at_path = std::ranges::find(endpoints, path, &UnixEndpoint::path);
  if (at_path != endpoints.end()) return index(at_path);
  if (endpoints.size() == 1) return size_t{0};
  return fail(ErrorCode::Internal, "systemd passed a socket at " + path + " with the name \"" + name +
                                       "\", but no [[server.sockets]] has that path or name");
}

Result<ListeningSocket> adopt(PassedSocket passed, const std::vector<UnixEndpoint>& endpoints) {
  Result<ListeningSocket> listener = adopt_listener(std::move(passed.fd));
  if (!listener || listener->kind != Peer::Transport::Unix) return listener;
  listener->socket = TRY(endpoint_of(*listener, passed.name, endpoints));
  listener->is_limited = endpoints[listener->socket].is_limited;
  return listener;
}

// `own`: the indexes of the Unix sockets that nrd creates itself.
Result<std::vector<ListeningSocket>> open_doors(ServerOptions& options, std::vector<size_t>& own) {
  std::vector<ListeningSocket> listeners;
  const auto keep = [&listeners](Result<ListeningSocket> listener) -> Result<void> {
    if (!listener) return Failure(listener.error());
    listeners.push_back(std::move(*listener));
    return {};
  };
  for (PassedSocket& passed : options.adopted) {
    TRY(keep(adopt(std::move(passed), options.unix_at)));
  }
  if (has_kind(listeners, Peer::Transport::Tls) && !options.tls) {
    return fail(ErrorCode::Internal, "systemd passed a TCP socket, but no certificate is configured; see [tls]");
  }
  for (size_t i = 0; i < options.unix_at.size(); ++i) {
    if (has_socket(listeners, i)) continue;
    TRY(keep(listen_on_unix(options.unix_at[i])));
    listeners.back().socket = i;
    listeners.back().is_limited = options.unix_at[i].is_limited;
    own.push_back(i);
  }
  if (options.tls_at && !has_kind(listeners, Peer::Transport::Tls)) {
    TRY(keep(listen_on_tcp(Peer::Transport::Tls, options.tls_at->address, options.tls_at->port)));
  }
  if (options.plain) {
    TRY(keep(listen_on_tcp(Peer::Transport::Plain, options.plain->address, options.plain->port)));
  }
  return listeners;
}

uint16_t port_of_kind(const std::vector<ListeningSocket>& listeners, Peer::Transport kind) {
  for (const ListeningSocket& listener : listeners) {
    if (listener.kind == kind) return port_of(listener);
  }
  return 0;
}

class HouseServer final : public Server {
 public:
  HouseServer(std::vector<ListeningSocket> listeners, std::vector<size_t> own, std::unique_ptr<TlsContext> tls,
              Handler handler)
      : plain_port_(port_of_kind(listeners, Peer::Transport::Plain)),
        tls_port_(port_of_kind(listeners, Peer::Transport::Tls)),
        own_(std::move(own)),
        tls_(std::move(tls)),
        event_loop_(EventLoop::start(std::move(listeners), tls_.get(), std::move(handler))) {}

  void drain(std::chrono::milliseconds deadline) override { event_loop_->drain(deadline); }
  uint16_t plain_port() const override { return plain_port_; }
  uint16_t tls_port() const override { return tls_port_; }
  Result<void> reload_tls() override { return tls_ ? tls_->reload() : Result<void>(); }
  bool have_tls_files_changed() const override { return tls_ && tls_->have_files_changed(); }
  void use_tls(TlsContext::Prepared prepared) override {
    if (tls_) tls_->use(std::move(prepared));
  }
  Result<void> set_permissions(const std::vector<UnixEndpoint>& unix_at) override {
    Result<void> all;
    for (const size_t index : own_) {
      if (index >= unix_at.size()) continue;
      const Result<void> set = permit(unix_at[index]);
      if (all && !set) all = set;
    }
    return all;
  }
  int64_t certificate_expiry() const override { return tls_ ? tls_->certificate_expiry() : 0; }
  void ask_for_beat() override { event_loop_->ask_for_beat(); }
  std::chrono::steady_clock::time_point last_beat() const override { return event_loop_->last_beat(); }

 private:
  const uint16_t plain_port_;
  const uint16_t tls_port_;
  const std::vector<size_t> own_;
  const std::unique_ptr<TlsContext> tls_;
  const std::unique_ptr<EventLoop> event_loop_;  // declared after what it uses
};

}  // namespace

Result<std::unique_ptr<Server>> Server::start(ServerOptions options, Handler handler) {
  std::unique_ptr<TlsContext> tls;
  if (options.tls) {
    tls = TRY(TlsContext::load(*options.tls));
  }
  std::vector<size_t> own;
  std::vector<ListeningSocket> listeners = TRY(open_doors(options, own));
  try {
    return std::make_unique<HouseServer>(std::move(listeners), std::move(own), std::move(tls), std::move(handler));
  } catch (const std::exception& thrown) {
    return fail(ErrorCode::Internal, "cannot start the HTTP server", thrown.what());
  }
}

}  // namespace nrd::http
