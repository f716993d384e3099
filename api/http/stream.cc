#include "api/http/stream.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <ctime>

#include "base/hex.h"

namespace nrd::http {
namespace {

bool is_transient(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

}  // namespace

void Stream::FreeSsl::operator()(ssl_st* ssl) const { ::SSL_free(ssl); }

Stream::Stream(UniqueFd fd, const std::shared_ptr<const ssl_ctx_st>& context)
    // OpenSSL takes a non-const context because it counts references.
    : fd_(std::move(fd)),
      late_handshakes_(std::make_unique<unsigned>(0)),
      ssl_(::SSL_new(const_cast<SSL_CTX*>(context.get()))) {
  is_broken_ = !ssl_ || ::SSL_set_fd(ssl_.get(), fd_.get()) != 1;
  if (is_broken_) return;
  ::SSL_set_accept_state(ssl_.get());
  SSL_set_app_data(ssl_.get(), late_handshakes_.get());
}

Stream::Moved Stream::moved_by_tls(int result, size_t bytes) {
  if (result > 0) return {Io::Done, bytes};
  const int error = ::SSL_get_error(ssl_.get(), result);
  if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) return {Io::Again, 0};
  is_broken_ = error != SSL_ERROR_ZERO_RETURN;
  speaks_http_ = ERR_GET_REASON(::ERR_peek_error()) == SSL_R_HTTP_REQUEST;
  ::ERR_clear_error();
  return {error == SSL_ERROR_ZERO_RETURN ? Io::Ended : Io::Failed, 0};
}

Stream::Io Stream::handshake() {
  if (!ssl_) return is_broken_ ? Io::Failed : Io::Done;
  if (is_broken_) return Io::Failed;
  ::ERR_clear_error();
  return moved_by_tls(::SSL_do_handshake(ssl_.get()), 0).io;
}

bool Stream::fall_back_to_plain() {
  if (!speaks_http_) return false;
  ssl_.reset();
  is_broken_ = false;
  return true;
}

Stream::Moved Stream::read(std::span<char> into) {
  if (is_broken_) return {};
  if (ssl_) {
    ::ERR_clear_error();
    size_t bytes = 0;
    const int result = ::SSL_read_ex(ssl_.get(), into.data(), into.size(), &bytes);
    return moved_by_tls(result, bytes);
  }
  const ssize_t got = ::recv(fd_.get(), into.data(), into.size(), 0);
  if (got > 0) return {Io::Done, static_cast<size_t>(got)};
  if (got == 0) return {Io::Ended, 0};
  return {is_transient(errno) ? Io::Again : Io::Failed, 0};
}

Stream::Moved Stream::write(std::string_view bytes) {
  if (is_broken_) return {};
  if (ssl_) {
    ::ERR_clear_error();
    size_t written = 0;
    const int result = ::SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &written);
    return moved_by_tls(result, written);
  }
  const ssize_t sent = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (sent >= 0) return {Io::Done, static_cast<size_t>(sent)};
  return {is_transient(errno) ? Io::Again : Io::Failed, 0};
}

bool Stream::has_hung_up(bool is_unix) const {
  pollfd watched{fd_.get(), static_cast<short>(is_unix ? 0 : POLLRDHUP), 0};  // POLLHUP and POLLERR are always reported
  return ::poll(&watched, 1, 0) > 0;
}

void Stream::end_writing() {
  if (ssl_ && !is_broken_) {
    ::ERR_clear_error();
    ::SSL_shutdown(ssl_.get());  // close_notify, best effort
    ::ERR_clear_error();
  }
  ::shutdown(fd_.get(), SHUT_WR);
}

void Stream::abort_on_close() {
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(fd_.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

void Stream::describe_client(Peer& peer) const {
  const X509* certificate = ssl_ ? ::SSL_get0_peer_certificate(ssl_.get()) : nullptr;
  // The handshake already requires this; check again, because roles depend on it.
  if (certificate == nullptr || ::SSL_get_verify_result(ssl_.get()) != X509_V_OK) return;
  tm end{};
  if (::ASN1_TIME_to_tm(::X509_get0_notAfter(certificate), &end) != 1) return;
  peer.valid_until = std::chrono::sys_seconds(std::chrono::seconds(::timegm(&end)));
  std::array<unsigned char, EVP_MAX_MD_SIZE> hash{};
  unsigned size = 0;
  if (::X509_digest(certificate, ::EVP_sha256(), hash.data(), &size) != 1) return;
  peer.fingerprint = hex_of({reinterpret_cast<const char*>(hash.data()), size});
  const X509_NAME* name = ::X509_get_subject_name(certificate);
  for (int i = 0; i < ::X509_NAME_entry_count(name); ++i) {
    const X509_NAME_ENTRY* entry = ::X509_NAME_get_entry(name, i);
    unsigned char* text = nullptr;
    const int length = ::ASN1_STRING_to_UTF8(&text, ::X509_NAME_ENTRY_get_data(entry));
    if (length < 0) continue;
    peer.subject.emplace_back(::OBJ_nid2sn(::OBJ_obj2nid(::X509_NAME_ENTRY_get_object(entry))),
                              std::string(reinterpret_cast<const char*>(text), static_cast<size_t>(length)));
    ::OPENSSL_free(text);
  }
}

bool Stream::began_with(const std::shared_ptr<const ssl_ctx_st>& context) const {
  return !ssl_ || ::SSL_get_SSL_CTX(ssl_.get()) == context.get();
}

// Verifies as in a new handshake. A resumed session has no intermediate certificates; if these are required, the client
// needs a full handshake.
bool Stream::is_trusted_by(const std::shared_ptr<const ssl_ctx_st>& context) const {
  X509* certificate = ssl_ ? ::SSL_get0_peer_certificate(ssl_.get()) : nullptr;
  if (certificate == nullptr) return true;
  const std::unique_ptr<X509_STORE_CTX, decltype(&::X509_STORE_CTX_free)> check(::X509_STORE_CTX_new(),
                                                                                &::X509_STORE_CTX_free);
  ::ERR_clear_error();
  const bool is_ready = check &&
                        ::X509_STORE_CTX_init(check.get(), ::SSL_CTX_get_cert_store(context.get()), certificate,
                                              ::SSL_get_peer_cert_chain(ssl_.get())) == 1 &&
                        ::X509_STORE_CTX_set_default(check.get(), "ssl_client") == 1;
  if (is_ready) ::X509_STORE_CTX_set_depth(check.get(), ::SSL_CTX_get_verify_depth(context.get()));
  const bool is_trusted = is_ready && ::X509_verify_cert(check.get()) == 1;
  ::ERR_clear_error();
  return is_trusted;
}

}  // namespace nrd::http
