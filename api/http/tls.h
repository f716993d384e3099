// The TLS side of the listener: certificate, key and the authority of clients, as they are in the files now.
//
// TLS 1.2 and 1.3 only, forward secrecy and authenticated encryption only, no renegotiation. Files may be replaced
// while nrd runs: reload() checks the new ones first and keeps the old ones if anything is wrong with them; a
// connection from before gets the answer it waits for, or one more, and ends. For that one more its certificate is
// verified again by the new authorities. OpenSSL has its home here and in stream.cc.
#pragma once

#include <array>
#include <memory>
#include <string>

#include "base/published.h"
#include "base/result.h"

struct ssl_ctx_st;  // OpenSSL's SSL_CTX

namespace nrd::http {

enum class ClientAuth {
  Require,   // no handshake without a certificate of our authority
  Optional,  // a handshake without one succeeds; who that is, is decided by others
};

struct TlsFiles {
  std::string certificate;  // PEM: the server's, then intermediate ones
  std::string key;          // PEM, without passphrase
  std::string client_ca;    // PEM: who signs clients
  ClientAuth client_auth = ClientAuth::Require;
  friend bool operator==(const TlsFiles&, const TlsFiles&) = default;
};

class TlsContext {
 public:
  // Fails with the file and what is wrong with it.
  static Result<std::unique_ptr<TlsContext>> load(TlsFiles files);

  // Any thread, one at a time. On failure the old files stay in force.
  Result<void> reload();
  // Whether a file was replaced or written since the last load or reload, successful or not.
  bool have_files_changed() const;

  // What new connections begin with; never null.
  std::shared_ptr<const ssl_ctx_st> get() const { return context_.get(); }

 private:
  // Identity and last change of each file: (device, inode, seconds, nanoseconds); zeros for a missing one.
  using Stamp = std::array<std::array<uint64_t, 4>, 3>;

  explicit TlsContext(TlsFiles files) : files_(std::move(files)) {}
  Stamp stamp() const;

  const TlsFiles files_;
  Published<ssl_ctx_st> context_;
  Stamp loaded_{};
};

}  // namespace nrd::http
