// The bytes to and from one client, plain or through TLS. Nothing here blocks.
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
    Done,   // the handshake is over; some bytes were moved
    Again,  // when the socket is ready
    Ended,  // the client will send no more
    Failed,
  };
  struct Moved {
    Io io = Io::Failed;
    size_t bytes = 0;
  };

  // `fd` must not block.
  explicit Stream(UniqueFd fd) : fd_(std::move(fd)) {}
  // TLS as server, with all that `context` says now.
  Stream(UniqueFd fd, const std::shared_ptr<const ssl_ctx_st>& context);

  int fd() const { return fd_.get(); }
  bool is_tls() const { return ssl_ != nullptr; }

  Io handshake();  // Done at once without TLS
  // After a handshake that failed: the client speaks plain HTTP. Further writes are plain then.
  bool fall_back_to_plain();
  Moved read(std::span<char> into);
  Moved write(std::string_view bytes);

  // Whether the client has gone while its answer is worked on: a Unix socket is closed at its end; by TCP it says that
  // it will send no more, which for HTTP's clients is the same.
  bool has_hung_up(bool is_unix) const;

  // Says that nothing more will come; the client may still be sending.
  void end_writing();
  // The close that follows throws away what is unsent.
  void abort_on_close();

  // What the client's verified certificate says of him; nothing without one.
  void describe_client(Peer& peer) const;
  // False if the context has been replaced since by `context`.
  bool began_with(const std::shared_ptr<const ssl_ctx_st>& context) const;
  // Whether the authorities of `context` vouch for the client's certificate, too; true if it has shown none.
  bool is_trusted_by(const std::shared_ptr<const ssl_ctx_st>& context) const;

 private:
  struct FreeSsl {
    void operator()(ssl_st* ssl) const;
  };

  Moved moved_by_tls(int result, size_t bytes);

  UniqueFd fd_;
  // Counted by TlsContext, by way of the SSL: where it lies must not change when the Stream moves.
  std::unique_ptr<unsigned> late_handshakes_;
  std::unique_ptr<ssl_st, FreeSsl> ssl_;
  bool is_broken_ = false;  // a TLS error: OpenSSL must not be asked again
  bool speaks_http_ = false;
};

}  // namespace nrd::http
