// Byte stream of one client, plain or TLS. Never blocks.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/http/message.h"
#include "base/unique_fd.h"

struct ssl_ctx_st;  // OpenSSL's SSL_CTX
struct ssl_st;      // OpenSSL's SSL

namespace nrd::http {

class Stream {
 public:
  enum class Io {
    Done,   // handshake complete, or some bytes transferred
    Again,  // would block
    Ended,  // end of stream
    Failed,
  };
  struct Moved {
    Io io = Io::Failed;
    size_t bytes = 0;
  };

  // `fd` must be non-blocking.
  explicit Stream(UniqueFd fd) : fd_(std::move(fd)) {}
  // A TLS server stream with the current `context`.
  Stream(UniqueFd fd, const std::shared_ptr<const ssl_ctx_st>& context);

  int fd() const { return fd_.get(); }
  bool is_tls() const { return ssl_ != nullptr; }

  Io handshake();  // Done immediately without TLS
  // After a failed handshake: true if the client sent plain HTTP. Further writes are then unencrypted.
  bool fall_back_to_plain();
  Moved read(std::span<char> into);
  Moved write(std::string_view bytes);

  // True if the client has disconnected during a request: it has closed its Unix socket, or shut down the TCP
  // connection for writing, which HTTP clients do only when they disconnect.
  bool has_hung_up(bool is_unix) const;

  // Shuts down writing; the client may still send.
  void end_writing();
  // Makes the following close discard unsent data (RST).
  void abort_on_close();

  // Adds the data of the client's verified certificate, if any.
  void describe_client(Peer& peer) const;
  // False if `context` is not the context of this stream's handshake.
  bool began_with(const std::shared_ptr<const ssl_ctx_st>& context) const;
  // True if the CA of `context` also verifies the client's certificate, or there is none.
  bool is_trusted_by(const std::shared_ptr<const ssl_ctx_st>& context) const;

 private:
  struct FreeSsl {
    void operator()(ssl_st* ssl) const;
  };

  Moved moved_by_tls(int result, size_t bytes);

  UniqueFd fd_;
  // TlsContext counts through a pointer in the SSL, so its address must survive a move of the Stream.
  std::unique_ptr<unsigned> late_handshakes_;
  std::unique_ptr<ssl_st, FreeSsl> ssl_;
  bool is_broken_ = false;  // after a TLS error OpenSSL must not be called again
  bool speaks_http_ = false;
};

}  // namespace nrd::http
