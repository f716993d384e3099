#include "api/http/listening_socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/errno_text.h"
#include "base/process.h"

namespace nrd::http {
namespace {

constexpr int kBacklog = 1024;

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;

  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
  template <typename T>
  const T& as() const {
    return reinterpret_cast<const T&>(storage);
  }
};

std::optional<SocketAddress> tcp_address(const std::string& text, uint16_t port) {
  SocketAddress address;
  auto& v4 = reinterpret_cast<sockaddr_in&>(address.storage);
  if (::inet_pton(AF_INET, text.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    address.size = sizeof v4;
    return address;
  }
  auto& v6 = reinterpret_cast<sockaddr_in6&>(address.storage);
  if (::inet_pton(AF_INET6, text.c_str(), &v6.sin6_addr) == 1) {
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    address.size = sizeof v6;
    return address;
  }
  return std::nullopt;
}

void set_option(int fd, int level, int option) {
  const int on = 1;
  ::setsockopt(fd, level, option, &on, sizeof on);
}

Failure cannot_listen(const std::string& where, int error) {
  return fail(ErrorCode::Internal, errno_text("cannot listen on " + where, error));
}

std::string v6_text(const in6_addr& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  ::inet_ntop(AF_INET6, &address, text.data(), text.size());
  return text.data();
}

void describe_tcp(const SocketAddress& address, AcceptedSocket& accepted) {
  if (address.storage.ss_family == AF_INET) {
    const auto& v4 = address.as<sockaddr_in>();
    std::array<char, INET_ADDRSTRLEN> text{};
    ::inet_ntop(AF_INET, &v4.sin_addr, text.data(), text.size());
    accepted.peer.host = accepted.client_key = text.data();
    accepted.peer.address = fmt::format("{}:{}", accepted.client_key, ntohs(v4.sin_port));
    return;
  }
  const auto& v6 = address.as<sockaddr_in6>();
  if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) {  // a socket from systemd may be dual-stack
    SocketAddress mapped;
    auto& v4 = reinterpret_cast<sockaddr_in&>(mapped.storage);
    v4.sin_family = AF_INET;
    v4.sin_port = v6.sin6_port;
    std::memcpy(&v4.sin_addr, v6.sin6_addr.s6_addr + 12, sizeof v4.sin_addr);
    return describe_tcp(mapped, accepted);
  }
  accepted.peer.address = fmt::format("[{}]:{}", v6_text(v6.sin6_addr), ntohs(v6.sin6_port));
  // One client can use all addresses of a /64.
  in6_addr network = v6.sin6_addr;
  std::memset(network.s6_addr + 8, 0, 8);
  accepted.peer.host = accepted.client_key = v6_text(network) + "/64";
}

// A connection can be inherited and outlive the process that opened it, whose PID may then be reused.
uint64_t start_of(pid_t pid) {
  const Result<std::optional<Process>> process = open_process(pid);
  return process && *process ? (*process)->start : 0;
}

// False if the kernel reports no credentials.
bool describe_unix(int fd, const ListeningSocket& listener, AcceptedSocket& accepted) {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return false;
  constexpr size_t kMostGroups = 65536;  // NGROUPS_MAX of Linux
  std::vector<gid_t> groups(64);
  for (;;) {
    size = static_cast<socklen_t>(groups.size() * sizeof(gid_t));
    if (::getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups.data(), &size) == 0) break;
    if (errno != ERANGE || size > kMostGroups * sizeof(gid_t)) return false;
    groups.resize(size / sizeof(gid_t));
  }
  groups.resize(size / sizeof(gid_t));
  groups.insert(groups.begin(), credentials.gid);
  accepted.client_key = fmt::format("uid {}", credentials.uid);
  accepted.peer.address = fmt::format("{} pid {}", accepted.client_key, credentials.pid);
  if (listener.is_limited) accepted.client_key += fmt::format(", socket {}", listener.socket);
  accepted.peer.credentials = {.uid = credentials.uid,
                               .pid = credentials.pid,
                               .started = start_of(credentials.pid),
                               .groups = std::move(groups)};
  return true;
}

// accept(2) also returns pending network errors of the new connection.
AcceptError reason_of(int error) {
  switch (error) {
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM: return AcceptError::OutOfFiles;
    case EBADF:
    case EINVAL:
    case ENOTSOCK:
    case EFAULT: return AcceptError::Broken;
    default: return AcceptError::Aborted;
  }
}

bool is_listening_at(const sockaddr_un& address) {
  const UniqueFd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  // EAGAIN: a listener exists and its backlog is full.
  return ::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 || errno == EAGAIN;
}

// The owner of the folder may have put a link in the place of the socket.
bool set_mode(const std::string& path, mode_t mode) {
  return ::fchmodat(AT_FDCWD, path.c_str(), mode, AT_SYMLINK_NOFOLLOW) == 0;
}

bool set_permissions(const UnixEndpoint& place) {
  switch (place.connects) {
    case UnixEndpoint::Connects::Root: return true;
    case UnixEndpoint::Connects::Group:
      return ::lchown(place.path.c_str(), 0, place.group) == 0 && set_mode(place.path, 0660);
    case UnixEndpoint::Connects::Everybody: return set_mode(place.path, 0666);
  }
  return false;
}

bool has_permissions(const UnixEndpoint& place) {
  const bool is_groups = place.connects == UnixEndpoint::Connects::Group;
  const mode_t mode = is_groups ? 0660 : place.connects == UnixEndpoint::Connects::Everybody ? 0666 : 0600;
  struct stat status {};
  return ::lstat(place.path.c_str(), &status) == 0 && status.st_uid == 0 &&
         status.st_gid == (is_groups ? place.group : 0) && (status.st_mode & 07777U) == mode;
}

}  // namespace

Result<void> permit(const UnixEndpoint& place) {
  if (has_permissions(place)) return {};  // no client is refused for a moment
  // First for root only, as after bind().
  if (::lchown(place.path.c_str(), 0, 0) == 0 && set_mode(place.path, 0600) && set_permissions(place)) return {};
  return fail(ErrorCode::Internal, "cannot set the permissions of " + place.path, errno_text());
}

Result<ListeningSocket> listen_on_tcp(Peer::Transport kind, const std::string& address, uint16_t port) {
  const std::string where = fmt::format("{}:{}", address, port);
  std::optional<SocketAddress> at = tcp_address(address, port);
  if (!at)
    return fail(ErrorCode::Internal, fmt::format("cannot listen on {}: not a numeric IPv4 or IPv6 address", where));
  UniqueFd fd(::socket(at->storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return cannot_listen(where, errno);
  set_option(fd.get(), SOL_SOCKET, SO_REUSEADDR);
  // At boot nrd starts before the network: the host may get the address later.
  set_option(fd.get(), IPPROTO_IP, IP_FREEBIND);
  if (at->storage.ss_family == AF_INET6) set_option(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY);
  if (::bind(fd.get(), at->get(), at->size) != 0 || ::listen(fd.get(), kBacklog) != 0) {
    return cannot_listen(where, errno);
  }
  return ListeningSocket{.kind = kind, .fd = std::move(fd)};
}

Result<ListeningSocket> listen_on_unix(const UnixEndpoint& place) {
  const std::string& path = place.path;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return fail(ErrorCode::Internal, fmt::format("cannot listen on {}: socket paths are limited to 107 bytes", path));
  }
  path.copy(address.sun_path, path.size());
  struct stat found {};
  if (::lstat(path.c_str(), &found) == 0) {
    if (!S_ISSOCK(found.st_mode))
      return fail(ErrorCode::Internal, fmt::format("cannot listen on {}: not a socket", path));
    if (is_listening_at(address))
      return fail(ErrorCode::Internal, fmt::format("cannot listen on {}: another process is listening there", path));
    ::unlink(path.c_str());
  }
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return cannot_listen(path, errno);
  // Not accessible until the final mode is set; connecting is impossible before listen() anyway.
  const mode_t before = ::umask(0177);
  const int bound = ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  const int error = errno;
  ::umask(before);
  if (bound != 0) return cannot_listen(path, error);
  const bool is_open = set_permissions(place);
  if (!is_open) return cannot_listen(path, errno);
  if (::listen(fd.get(), kBacklog) != 0) return cannot_listen(path, errno);
  return ListeningSocket{.kind = Peer::Transport::Unix, .fd = std::move(fd)};
}

Result<ListeningSocket> adopt_listener(UniqueFd fd) {
  int is_listening = 0;
  socklen_t size = sizeof is_listening;
  SocketAddress address;
  int type = 0;
  socklen_t type_size = sizeof type;
  if (::getsockopt(fd.get(), SOL_SOCKET, SO_ACCEPTCONN, &is_listening, &size) != 0 || is_listening == 0 ||
      ::getsockopt(fd.get(), SOL_SOCKET, SO_TYPE, &type, &type_size) != 0 || type != SOCK_STREAM ||
      ::getsockname(fd.get(), address.get(), &address.size) != 0) {
    return fail(ErrorCode::Internal, "a passed descriptor is not a listening stream socket; see nrd.socket");
  }
  const sa_family_t family = address.storage.ss_family;
  if (family != AF_UNIX && family != AF_INET && family != AF_INET6) {
    return fail(ErrorCode::Internal, "a passed socket is neither TCP nor Unix; see nrd.socket");
  }
  const int flags = ::fcntl(fd.get(), F_GETFL);
  if (flags < 0 || ::fcntl(fd.get(), F_SETFL, flags | O_NONBLOCK) != 0) return cannot_listen("a passed socket", errno);
  return ListeningSocket{.kind = family == AF_UNIX ? Peer::Transport::Unix : Peer::Transport::Tls, .fd = std::move(fd)};
}

uint16_t port_of(const ListeningSocket& listener) {
  SocketAddress address;
  if (::getsockname(listener.fd.get(), address.get(), &address.size) != 0) return 0;
  if (address.storage.ss_family == AF_INET) return ntohs(address.as<sockaddr_in>().sin_port);
  if (address.storage.ss_family == AF_INET6) return ntohs(address.as<sockaddr_in6>().sin6_port);
  return 0;
}

std::string path_of(const ListeningSocket& listener) {
  SocketAddress address;
  if (::getsockname(listener.fd.get(), address.get(), &address.size) != 0 || address.storage.ss_family != AF_UNIX)
    return {};
  const auto& path = address.as<sockaddr_un>().sun_path;
  return {path, ::strnlen(path, sizeof path)};
}

tl::expected<AcceptedSocket, AcceptError> accept_next(const ListeningSocket& listener) {
  SocketAddress address;
  AcceptedSocket accepted;
  accepted.fd = UniqueFd(::accept4(listener.fd.get(), address.get(), &address.size, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!accepted.fd.valid()) {
    if (errno == EAGAIN || errno == EWOULDBLOCK) return tl::unexpected(AcceptError::WouldBlock);
    return tl::unexpected(reason_of(errno));
  }
  accepted.peer.transport = listener.kind;
  accepted.peer.socket = listener.socket;
  if (listener.kind == Peer::Transport::Unix) {
    if (!describe_unix(accepted.fd.get(), listener, accepted)) return tl::unexpected(AcceptError::Aborted);
    return accepted;
  }
  describe_tcp(address, accepted);
  // A response is written in one piece, so Nagle's algorithm would only delay it.
  set_option(accepted.fd.get(), IPPROTO_TCP, TCP_NODELAY);
  return accepted;
}

}  // namespace nrd::http
