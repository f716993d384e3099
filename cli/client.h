// The daemon's API, as nrdctl calls it. libcurl has its home in client.cc.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/result.h"
#include "base/secret.h"

namespace nrd::cli {

// Where nrd serves, and who we are there: the Unix socket, where the kernel tells nrd who is calling, or a URL, where a
// certificate does. All files are PEM.
struct Endpoint {
  std::string socket = "/run/nrd/nrd.sock";
  std::string url;          // scheme, host and port ("https://node17:8443"); if not empty, the socket is not used
  std::string certificate;  // empty: none is shown
  std::string key;          // empty: it is in the file of the certificate
  std::string ca;           // who may sign nrd's certificate; empty: whom this host trusts
  std::string user;         // with https and without a certificate, for PAM; empty: none
  std::shared_ptr<const Secret> password{};  // the user's
};

struct Answer {
  long status = 0;
  std::string body;
};

class Client {
 public:
  explicit Client(Endpoint to) : to_(std::move(to)) {}

  // The same for who may want to end: an answer is waited for until `fd` has something to read, then it is a refusal.
  Client broken_off_by(int fd) const {
    Client other = *this;
    other.breaks_off_ = fd;
    return other;
  }

  // Over the Unix socket, where nrd is told which process calls.
  bool is_local() const { return to_.url.empty(); }
  const std::string& socket() const { return to_.socket; }
  // Over a URL, where the server must show a certificate.
  bool is_encrypted() const { return to_.url.starts_with("https://"); }

  // An answer of any status. ErrorCode::Busy with what to do if the daemon cannot be reached or either side does not
  // trust the other.
  Result<Answer> get(const std::string& path) const { return call("GET", path, ""); }
  Result<Answer> post(const std::string& path, const std::string& body) const { return call("POST", path, body); }
  Result<Answer> put(const std::string& path, const std::string& body) const { return call("PUT", path, body); }
  Result<Answer> patch(const std::string& path, const std::string& body) const { return call("PATCH", path, body); }
  Result<Answer> remove(const std::string& path) const { return call("DELETE", path, ""); }

 private:
  Result<Answer> call(const std::string& method, const std::string& path, const std::string& body) const;

  Endpoint to_;
  std::optional<int> breaks_off_{};
};

}  // namespace nrd::cli
