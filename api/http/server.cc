#include "api/http/server.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "api/http/door.h"
#include "api/http/worker.h"

namespace nrd::http {
namespace {

bool has_kind(const std::vector<Door>& doors, Peer::Door kind) {
  for (const Door& door : doors) {
    if (door.kind == kind) return true;
  }
  return false;
}

bool has_socket(const std::vector<Door>& doors, size_t socket) {
  return std::ranges::any_of(
      doors, [socket](const Door& door) { return door.kind == Peer::Door::Unix && door.socket == socket; });
}

// Which of the places a passed Unix socket is for: by the name of its descriptor, or by its path. A single one needs
// neither, since there is no other right that it could lend.
Result<size_t> place_of(const Door& door, const std::string& name, const std::vector<UnixPlace>& places) {
  const auto index = [&places](const auto& found) { return static_cast<size_t>(found - places.begin()); };
  const auto named =
      std::ranges::find_if(places, [&](const auto& place) { return !place.name.empty() && place.name == name; });
  if (named != places.end()) return index(named);
  const std::string path = path_of(door);
  const auto at_path = std::ranges::find(places, path, &UnixPlace::path);
  if (at_path != places.end()) return index(at_path);
  if (places.size() == 1) return size_t{0};
  return fail(ErrorCode::Internal, "a socket was passed at " + path + " with the name \"" + name +
                                       "\", but no [[server.sockets]] has that path or name");
}

Result<Door> adopt(PassedSocket passed, const std::vector<UnixPlace>& places) {
  Result<Door> door = adopt_door(std::move(passed.fd));
  if (!door || door->kind != Peer::Door::Unix) return door;
  const Result<size_t> place = place_of(*door, passed.name, places);
  if (!place) return Failure(place.error());
  door->socket = *place;
  return door;
}

Result<std::vector<Door>> open_doors(ServerOptions& options) {
  std::vector<Door> doors;
  const auto keep = [&doors](Result<Door> door) -> Result<void> {
    if (!door) return Failure(door.error());
    doors.push_back(std::move(*door));
    return {};
  };
  for (PassedSocket& passed : options.adopted) {
    if (const auto kept = keep(adopt(std::move(passed), options.unix_at)); !kept) return Failure(kept.error());
  }
  if (has_kind(doors, Peer::Door::Tls) && !options.tls) {
    return fail(ErrorCode::Internal, "a TCP socket was passed, but the configuration names no certificate: see [tls]");
  }
  for (size_t i = 0; i < options.unix_at.size(); ++i) {
    if (has_socket(doors, i)) continue;
    if (const auto kept = keep(open_unix_door(options.unix_at[i])); !kept) return Failure(kept.error());
    doors.back().socket = i;
  }
  if (options.tls_at && !has_kind(doors, Peer::Door::Tls)) {
    const auto kept = keep(open_tcp_door(Peer::Door::Tls, options.tls_at->address, options.tls_at->port));
    if (!kept) return Failure(kept.error());
  }
  if (options.plain) {
    const auto kept = keep(open_tcp_door(Peer::Door::Plain, options.plain->address, options.plain->port));
    if (!kept) return Failure(kept.error());
  }
  return doors;
}

uint16_t port_of_kind(const std::vector<Door>& doors, Peer::Door kind) {
  for (const Door& door : doors) {
    if (door.kind == kind) return port_of(door);
  }
  return 0;
}

class HouseServer final : public Server {
 public:
  HouseServer(std::vector<Door> doors, std::unique_ptr<TlsContext> tls, Handler handler)
      : plain_port_(port_of_kind(doors, Peer::Door::Plain)),
        tls_port_(port_of_kind(doors, Peer::Door::Tls)),
        tls_(std::move(tls)),
        worker_(Worker::start(std::move(doors), tls_.get(), std::move(handler))) {}

  void drain(std::chrono::milliseconds deadline) override { worker_->drain(deadline); }
  uint16_t plain_port() const override { return plain_port_; }
  uint16_t tls_port() const override { return tls_port_; }
  Result<void> reload_tls() override { return tls_ ? tls_->reload() : Result<void>(); }
  bool have_tls_files_changed() const override { return tls_ && tls_->have_files_changed(); }
  void ask_for_beat() override { worker_->ask_for_beat(); }
  std::chrono::steady_clock::time_point last_beat() const override { return worker_->last_beat(); }

 private:
  const uint16_t plain_port_;
  const uint16_t tls_port_;
  const std::unique_ptr<TlsContext> tls_;
  const std::unique_ptr<Worker> worker_;  // after what it uses
};

}  // namespace

Result<std::unique_ptr<Server>> Server::start(ServerOptions options, Handler handler) {
  std::unique_ptr<TlsContext> tls;
  if (options.tls) {
    Result<std::unique_ptr<TlsContext>> loaded = TlsContext::load(*options.tls);
    if (!loaded) return Failure(loaded.error());
    tls = std::move(*loaded);
  }
  Result<std::vector<Door>> doors = open_doors(options);
  if (!doors) return Failure(doors.error());
  try {
    return std::make_unique<HouseServer>(std::move(*doors), std::move(tls), std::move(handler));
  } catch (const std::exception& thrown) {
    return fail(ErrorCode::Internal, "the HTTP service cannot be started", thrown.what());
  }
}

}  // namespace nrd::http
