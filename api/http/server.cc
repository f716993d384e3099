#include "api/http/server.h"

#include <fmt/core.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "api/http/listening_socket.h"

namespace nrd::http {
namespace {

bool has_kind(const std::vector<ListeningSocket>& listeners, Peer::Transport kind) {
  return std::ranges::find(listeners, kind, &ListeningSocket::kind) != listeners.end();
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
  return fail(
      ErrorCode::Internal,
      fmt::format("systemd passed a socket at {} with the name \"{}\", but no [[server.sockets]] has that path or name",
                  path, name));
}

Result<ListeningSocket> adopt(PassedSocket passed, const std::vector<UnixEndpoint>& endpoints) {
  Result<ListeningSocket> listener = adopt_listener(std::move(passed.fd));
  if (!listener || listener->kind != Peer::Transport::Unix) return listener;
  listener->socket = TRY(endpoint_of(*listener, passed.name, endpoints));
  listener->is_limited = endpoints[listener->socket].is_limited;
  return listener;
}

// `own`: the indexes of the Unix sockets that nrd creates itself.
Result<std::vector<ListeningSocket>> open_listeners(ServerOptions& options, std::vector<size_t>& own) {
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
  const auto listener = std::ranges::find(listeners, kind, &ListeningSocket::kind);
  return listener == listeners.end() ? 0 : port_of(*listener);
}

}  // namespace

Server::Server(std::vector<ListeningSocket> listeners, std::vector<size_t> own, std::unique_ptr<TlsContext> tls,
               Handler handler)
    : plain_port_(port_of_kind(listeners, Peer::Transport::Plain)),
      tls_port_(port_of_kind(listeners, Peer::Transport::Tls)),
      own_(std::move(own)),
      tls_(std::move(tls)),
      event_loop_(std::move(listeners), tls_.get(), std::move(handler)) {}

void Server::use_tls(TlsContext::Prepared prepared) {
  if (tls_) tls_->use(std::move(prepared));
}

Result<void> Server::set_permissions(const std::vector<UnixEndpoint>& unix_at) {
  Result<void> all;
  for (const size_t index : own_) {
    if (index >= unix_at.size()) continue;
    const Result<void> set = permit(unix_at[index]);
    if (all && !set) all = set;
  }
  return all;
}

Result<std::unique_ptr<Server>> Server::start(ServerOptions options, Handler handler) {
  std::unique_ptr<TlsContext> tls;
  if (options.tls) {
    tls = TRY(TlsContext::load(*options.tls));
  }
  std::vector<size_t> own;
  std::vector<ListeningSocket> listeners = TRY(open_listeners(options, own));
  try {
    return std::unique_ptr<Server>(
        new Server(std::move(listeners), std::move(own), std::move(tls), std::move(handler)));
  } catch (const std::exception& thrown) {
    return fail(ErrorCode::Internal, "cannot start the HTTP server", thrown.what());
  }
}

}  // namespace nrd::http
