// TLS context of the listener: certificate, key and client CA from the configured files.
//
// TLS 1.2 and 1.3 only, forward secrecy and authenticated encryption only, no renegotiation. Files may be replaced
// at run time: reload() validates the new ones and keeps the old ones on error. An existing connection gets its current
// response, or one more, and closes; for one more, the new CA verifies its certificate again. Only this module and
// stream.cc use OpenSSL.
#pragma once

#include <array>
#include <memory>
#include <string>

#include "base/published.h"
#include "base/result.h"

struct ssl_ctx_st;  // OpenSSL's SSL_CTX

namespace nrd::http {

enum class ClientAuth {
  Require,   // the handshake fails without a certificate of the client CA
  Optional,  // the handshake succeeds without one; authorization decides
};

struct TlsFiles {
  std::string certificate;  // PEM: the server's, then intermediate ones
  std::string key;          // PEM, without passphrase
  std::string client_ca;    // PEM: CA of client certificates; empty: clients have none
  ClientAuth client_auth = ClientAuth::Require;
  friend bool operator==(const TlsFiles&, const TlsFiles&) = default;
};

class TlsContext {
 public:
  // Errors name the file and the reason. Accepts an expired certificate.
  static Result<std::unique_ptr<TlsContext>> load(TlsFiles files);

  // Any thread, one at a time. Keeps the old context on failure.
  Result<void> reload();
  // The same in two steps, with other files: the second cannot fail. An expired certificate is refused if that of
  // `present` is valid; null: there is none.
  struct Prepared;
  static Result<Prepared> prepare(TlsFiles files, const TlsContext* present);
  void use(Prepared prepared);
  // True if a file changed since the last load or reload, successful or not.
  bool have_files_changed() const;

  // Earliest end of validity of the server's certificates and the CAs, in seconds since the epoch. On the thread of
  // use() and reload().
  int64_t certificate_expiry() const { return expiry_; }

  // The context for new connections; never null.
  std::shared_ptr<const ssl_ctx_st> get() const { return context_.get(); }

 private:
  // Identity and last change of each file: (device, inode, seconds, nanoseconds); zeros for a missing one.
  using Stamp = std::array<std::array<uint64_t, 4>, 3>;

  TlsContext() = default;
  static Stamp stamp_of(const TlsFiles& files);
  static Result<Prepared> read(TlsFiles files);

  TlsFiles files_;
  Published<ssl_ctx_st> context_;
  Stamp loaded_{};
  int64_t expiry_ = 0;
};

// Checked files and the context that has them.
struct TlsContext::Prepared {
  TlsFiles files;
  Stamp stamp{};
  std::shared_ptr<const ssl_ctx_st> context;
  int64_t expiry = 0;
};

}  // namespace nrd::http
