// Requests and responses. Handlers use these types only, not those of the HTTP library.
//
// A handler receives a complete request of bounded size. A Reply is sent exactly once: any thread may call send(), also
// after the handler returned. Copies are the same Reply, so that a std::function can hold one; if all are destroyed
// without send(), it sends a 500, so that no client waits forever.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/client.h"
#include "base/origin.h"
#include "base/result.h"
#include "base/secret.h"

namespace nrd::http {

// The client of a connection, as identified by the transport.
struct Peer {
  enum class Transport { Plain, Tls, Unix };
  // The process that connected to a Unix socket (SO_PEERCRED, SO_PEERGROUPS).
  struct Credentials {
    uid_t uid = 0;
    pid_t pid = 0;              // 0: not visible in this PID namespace
    uint64_t started = 0;       // start time in clock ticks after boot, read at accept; 0: unknown or exited
    std::vector<gid_t> groups;  // primary group first
  };

  Transport transport = Transport::Plain;
  std::string address;                       // "192.0.2.7:40112", "[2001:db8::1]:40112", "uid 1000 pid 4711"
  std::string host{};                        // "192.0.2.7", "2001:db8::/64" (one client can use all of them)
  std::optional<Credentials> credentials{};  // Unix sockets only
  size_t socket = 0;                         // index into ServerOptions::unix_at
  // Subject of the client's certificate, verified against the client CA, in certificate order: {"OU", "Admin"}, {"CN",
  // "Alice"}. Empty without a certificate.
  std::vector<std::pair<std::string, std::string>> subject{};
  std::optional<std::chrono::sys_seconds> valid_until{};  // of that certificate
  std::string fingerprint{};                              // SHA-256 of that certificate (DER), in hexadecimal
  bool is_revoked = false;                                // the current client CA does not verify it
};

// Runs a function soon on the event loop's thread. Thread-safe; after shutdown it drops the function.
using Later = std::function<void(std::function<void()>)>;

struct Request {
  std::string method;                        // "GET"
  std::string path;                          // percent-decoded once, begins with '/'
  std::map<std::string, std::string> query;  // decoded
  std::string content_type;                  // as sent, empty if absent
  std::string accept;
  std::string if_match;
  std::string if_none_match{};
  std::string idempotency_key{};
  std::string body;                               // decompressed
  std::shared_ptr<const Secret> authorization{};  // over TLS only; null if absent
  std::shared_ptr<const Peer> peer;               // never null
  bool is_limited_to_own = false;                 // to what the calling process owns (auth::Grant::Own)
  std::string origin = kOriginRest;               // of the workloads that it creates and changes
  bool may_launch = true;                         // as in Requester
  Client client{};                                // keyed by address; authorization adds the user name
  Later later{};
};

struct Response {
  int status = 200;
  std::string content_type{};  // empty: no body
  std::string body{};
  std::vector<std::pair<std::string, std::string>> headers{};  // "Allow", ...
  std::shared_ptr<const Error> cause{};                        // of a failure, for the journal; never sent
  // What a change did, or why it was refused, for its audit line; never sent: {"NAME", "feed"}.
  std::vector<std::pair<std::string, std::string>> audit{};
};

// With a line of text.
inline Response plain(int status, std::string_view line) {
  return {.status = status, .content_type = "text/plain", .body = std::string(line) + "\n"};
}

class Reply {
 public:
  explicit Reply(std::function<void(Response)> send) : pending_(std::make_shared<Pending>(std::move(send))) {}

  void send(Response response) const {
    if (!pending_) return;
    if (auto send = std::exchange(pending_->send, nullptr)) send(std::move(response));
  }

 private:
  struct Pending {
    explicit Pending(std::function<void(Response)> its_send) : send(std::move(its_send)) {}
    Pending(const Pending&) = delete;
    ~Pending() {
      if (send) send(plain(500, "Internal error."));
    }
    std::function<void(Response)> send;
  };
  std::shared_ptr<Pending> pending_;  // null: moved from
};

// Must not throw.
using Handler = std::function<void(Request, Reply)>;

}  // namespace nrd::http
