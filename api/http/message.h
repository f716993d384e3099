// A request and its answer on our own types. Handlers see these and nothing of the HTTP library.
//
// A Request is complete and bounded when a handler gets it. A Reply answers exactly once: send() may be called from any
// thread, also after the handler returned; a Reply that is dropped unanswered sends a 500, so no client waits for ever.
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
#include "base/secret.h"

namespace nrd::http {

// Who is at the other end of a connection, as far as the transport can vouch for it.
struct Peer {
  enum class Transport { Plain, Tls, Unix };
  // Of the process that connected to a Unix socket (SO_PEERCRED, SO_PEERGROUPS).
  struct Credentials {
    uid_t uid = 0;
    pid_t pid = 0;              // 0: out of reach of this node's numbers
    uint64_t started = 0;       // clock ticks after boot, as of the accept; 0: not known, or it had ended already
    std::vector<gid_t> groups;  // its own first
  };

  Transport transport = Transport::Plain;
  std::string address;                       // "192.0.2.7:40112", "[2001:db8::1]:40112", "uid 1000 pid 4711"
  std::string host{};                        // "192.0.2.7", "2001:db8::/64" (whoever has one of them can have all)
  std::optional<Credentials> credentials{};  // of a Unix socket only
  size_t socket = 0;                         // which of ServerOptions::unix_at
  // Subject of the client's certificate, verified against our CA, in its own order: {"OU", "Admin"}, {"CN", "Alice"}.
  // Empty without a certificate.
  std::vector<std::pair<std::string, std::string>> subject{};
  std::optional<std::chrono::sys_seconds> valid_until{};  // of that certificate
  std::string hash_of{};                                  // of that certificate, whole: SHA-256 in hexadecimal
  bool is_revoked = false;                                // our authorities of now do not vouch for it any more
};

// Runs an act soon, on the thread that serves this client. Any thread may call; once the server is gone, acts are
// dropped unrun.
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
  std::string body;                               // as it was before it was compressed, if it was
  std::shared_ptr<const Secret> authorization{};  // over TLS only; null if absent
  std::shared_ptr<const Peer> peer;               // never null
  bool is_limited_to_own = false;                 // to what is about the process that asks (auth::Grant::Own)
  Client client{};                                // by its address; the gate, who knows it better, by its name as well
  Later later{};
};

struct Response {
  int status = 200;
  std::string content_type;  // empty: no body
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;  // "Allow", ...
};

class Reply {
 public:
  explicit Reply(std::function<void(Response)> send) : send_(std::move(send)) {}
  Reply(Reply&& other) noexcept : send_(std::exchange(other.send_, nullptr)) {}
  Reply& operator=(Reply&&) = delete;
  ~Reply() {
    if (send_)
      send_({.status = 500, .content_type = "text/plain", .body = "The request was not answered.\n", .headers = {}});
  }

  void send(Response response) {
    if (auto send = std::exchange(send_, nullptr)) send(std::move(response));
  }

 private:
  std::function<void(Response)> send_;
};

// Must not throw.
using Handler = std::function<void(Request, Reply)>;

}  // namespace nrd::http
