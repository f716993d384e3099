// The HTTP client of nrdctl. Only client.cc uses libcurl.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/result.h"
#include "base/secret.h"

namespace nrd::cli {

// The endpoint and the client's identity: the Unix socket, where the kernel reports the peer's credentials, or a URL
// with a certificate or password. All files are PEM.
struct Endpoint {
  std::string socket = "/run/nrd/nrd.sock";
  std::string url;          // scheme, host and port ("https://node17:8443"); if not empty, the socket is not used
  std::string certificate;  // empty: no client certificate
  std::string key;          // empty: contained in `certificate`
  std::string ca;           // CA of nrd's certificate; empty: the host's default CAs
  std::string user;         // for PAM, with https and without a certificate; empty: none
  std::shared_ptr<const Secret> password{};  // of `user`
};

// From one long poll to the next, because nrd answers early if there are too many, or many changes.
inline constexpr std::chrono::milliseconds kPollInterval{100};

// How long commands that follow nrd outlast its absence: a restart, such as that of an upgrade.
inline constexpr std::chrono::seconds kRestartTime{60};
inline constexpr const char* kReconnecting = "nrd does not answer; reconnecting";

inline constexpr long kOk = 200, kCreated = 201, kAccepted = 202, kNotFound = 404, kConflict = 409, kUnavailable = 503;

// What a refusal calls a member of the request, given its JSON pointer. Null: the pointer.
using NameOf = std::string (*)(const std::string& pointer);

struct Answer {
  long status = 0;
  std::string body;
  NameOf name_of = nullptr;  // of the client
  bool is_success() const { return status >= kOk && status <= kAccepted; }
};

class Client {
 public:
  explicit Client(Endpoint to) : to_(std::move(to)) {}

  // A copy that aborts requests with Busy once `fd` is readable.
  Client broken_off_by(int fd) const {
    Client other = *this;
    other.breaks_off_ = fd;
    return other;
  }

  // A copy that repeats a GET that nrd does not answer, for kRestartTime or until `end`, after a line on standard
  // error.
  Client over_restarts(std::chrono::steady_clock::time_point end = std::chrono::steady_clock::time_point::max()) const {
    Client other = *this;
    other.outlasts_until_ = end;
    return other;
  }

  // A copy whose refusals call members of requests by these names.
  Client naming(NameOf name_of) const {
    Client other = *this;
    other.name_of_ = name_of;
    return other;
  }

  // True over the Unix socket, where nrd knows the calling process.
  bool is_local() const { return to_.url.empty(); }
  // True over https, where the server must present a certificate.
  bool is_encrypted() const { return to_.url.starts_with("https://"); }

  // Checks whether the server may choose code that will run as the calling user: root accepts it only from a server
  // that is authenticated, by a Unix socket owned by root, or a certificate. BadRequest otherwise.
  Result<void> check_trusted() const;

  // A response of any status. ErrorCode::Busy, with advice, if the daemon cannot be reached or either side does not
  // trust the other; NotFound if nothing serves the Unix socket.
  Result<Answer> get(const std::string& path) const;
  Result<Answer> post(const std::string& path, const std::string& body) const { return call("POST", path, body); }
  Result<Answer> put(const std::string& path, const std::string& body) const { return call("PUT", path, body); }
  Result<Answer> patch(const std::string& path, const std::string& body) const { return call("PATCH", path, body); }
  Result<Answer> remove(const std::string& path) const { return call("DELETE", path, ""); }

 private:
  Result<Answer> call(const std::string& method, const std::string& path, const std::string& body) const;

  Endpoint to_;
  std::optional<int> breaks_off_{};
  std::optional<std::chrono::steady_clock::time_point> outlasts_until_{};
  NameOf name_of_ = nullptr;
};

}  // namespace nrd::cli
