#include "api/http/tls.h"

#include <fmt/core.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <ctime>

#include "api/http/limits.h"

namespace nrd::http {
namespace {

// TLS 1.2 ciphers: ECDHE-*-AES256-GCM and suites of equal strength.
constexpr const char* kCiphers =
    "ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384:"
    "ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305:"
    "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256";
constexpr const char* kGroups = "X25519:P-256:P-384";
constexpr unsigned char kSessionContext[] = "nrd";
constexpr int kLongestChain = 4;
// Resumption is refused when the full handshake is older than this, so that the certificate is verified again.
constexpr int64_t kSessionSeconds = 300;
// Limit of handshake messages after the handshake: a few key updates per connection.
constexpr unsigned kMostLateHandshakes = 16;

Failure failed(const char* what, const std::string& file) {
  std::array<char, 256> reason{};
  ::ERR_error_string_n(::ERR_peek_error(), reason.data(), reason.size());  // the first: "No such file or directory"
  ::ERR_clear_error();
  return fail(ErrorCode::Internal, fmt::format("tls: {} {}", file, what), reason.data());
}

// OpenSSL works through any number of handshake messages (changes of keys in TLS 1.3, refused renegotiations in 1.2) in
// one SSL_read(), so that a client could block the event loop. At the limit nrd closes the connection by
// replacing the descriptor, the only way to leave OpenSSL's loop.
void count_late_handshakes(int is_ours, int /*version*/, int type, const void* bytes, size_t size, SSL* ssl,
                           void* /*unused*/) {
  const int record = ::SSL_version(ssl) == TLS1_3_VERSION ? SSL3_RT_INNER_CONTENT_TYPE : SSL3_RT_HEADER;
  if (is_ours != 0 || type != record || size == 0 || ::SSL_is_init_finished(ssl) == 0) return;
  if (*static_cast<const unsigned char*>(bytes) != SSL3_RT_HANDSHAKE) return;
  auto* count = static_cast<unsigned*>(SSL_get_app_data(ssl));
  if (count != nullptr && ++*count > kMostLateHandshakes) BIO_set_fd(::SSL_get_rbio(ssl), -1, BIO_NOCLOSE);
}

int64_t seconds_now() { return static_cast<int64_t>(::time(nullptr)); }

// A ticket carries the time of the full handshake, also when issued in a resumed session: resumption does not extend
// the lifetime of a session.
int stamp_ticket(SSL* ssl, void* /*unused*/) {
  SSL_SESSION* session = ::SSL_get_session(ssl);
  void* stamp = nullptr;
  size_t size = 0;
  ::SSL_SESSION_get0_ticket_appdata(session, &stamp, &size);
  if (::SSL_session_reused(ssl) != 0 && size == sizeof(int64_t)) return 1;
  const int64_t now = seconds_now();
  return ::SSL_SESSION_set1_ticket_appdata(session, &now, sizeof now);
}

bool is_fresh(SSL_SESSION* session) {
  void* stamp = nullptr;
  size_t size = 0;
  int64_t shown = 0;
  if (::SSL_SESSION_get0_ticket_appdata(session, &stamp, &size) != 1 || size != sizeof shown) return false;
  std::memcpy(&shown, stamp, size);
  const int64_t age = seconds_now() - shown;
  if (age < 0 || age > kSessionSeconds) return false;
  const X509* client = ::SSL_SESSION_get0_peer(session);
  return client == nullptr || ::X509_cmp_current_time(::X509_get0_notAfter(client)) > 0;
}

SSL_TICKET_RETURN accept_ticket(SSL* /*ssl*/, SSL_SESSION* session, const unsigned char* /*name*/, size_t /*size*/,
                                SSL_TICKET_STATUS status, void* /*unused*/) {
  const bool is_ours = status == SSL_TICKET_SUCCESS || status == SSL_TICKET_SUCCESS_RENEW;
  if (!is_ours || !is_fresh(session)) return SSL_TICKET_RETURN_IGNORE_RENEW;
  return status == SSL_TICKET_SUCCESS ? SSL_TICKET_RETURN_USE : SSL_TICKET_RETURN_USE_RENEW;
}

// Refuse keys with a passphrase instead of prompting.
int no_passphrase(char* /*text*/, int /*size*/, int /*writing*/, void* /*unused*/) { return 0; }

using Context = std::shared_ptr<SSL_CTX>;

Result<void> use_own(SSL_CTX* context, const TlsFiles& files) {
  if (::SSL_CTX_use_certificate_chain_file(context, files.certificate.c_str()) != 1) {
    return failed("is not a readable certificate (PEM)", files.certificate);
  }
  if (::SSL_CTX_use_PrivateKey_file(context, files.key.c_str(), SSL_FILETYPE_PEM) != 1) {
    return failed("is not a readable key (PEM, without passphrase) that belongs to the certificate", files.key);
  }
  if (::SSL_CTX_check_private_key(context) != 1) return failed("does not belong to the certificate", files.key);
  return {};
}

Result<void> trust_clients(SSL_CTX* context, const TlsFiles& files) {
  if (files.client_ca.empty()) return {};  // requests no certificates
  if (::SSL_CTX_load_verify_file(context, files.client_ca.c_str()) != 1) {
    return failed("is not a readable certificate (PEM)", files.client_ca);
  }
  STACK_OF(X509_NAME)* names = ::SSL_load_client_CA_file(files.client_ca.c_str());
  if (names == nullptr) return failed("is not a readable certificate (PEM)", files.client_ca);
  ::SSL_CTX_set_client_CA_list(context, names);  // takes ownership
  const int required = files.client_auth == ClientAuth::Require ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0;
  ::SSL_CTX_set_verify(context, SSL_VERIFY_PEER | required, nullptr);
  ::SSL_CTX_set_verify_depth(context, kLongestChain);
  // OpenSSL makes room for all that a client announces, before it knows the client.
  SSL_CTX_set_max_cert_list(context, static_cast<long>(kCertificatesLimit));
  return {};
}

Result<Context> load_context(const TlsFiles& files) {
  ::ERR_clear_error();
  const Context context(::SSL_CTX_new(::TLS_server_method()), &::SSL_CTX_free);
  if (!context) return fail(ErrorCode::Internal, "tls: OpenSSL cannot make a context");
  SSL_CTX* raw = context.get();
  ::SSL_CTX_set_min_proto_version(raw, TLS1_2_VERSION);
  ::SSL_CTX_set_options(raw, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  // Write from the response buffer without copying; idle connections keep no buffers.
  ::SSL_CTX_set_mode(raw,
                     SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
  ::SSL_CTX_set_read_ahead(raw, 1);
  // Clients keep sessions in tickets encrypted with a key of this context, so new files invalidate all sessions.
  ::SSL_CTX_set_session_cache_mode(raw, SSL_SESS_CACHE_OFF);
  ::SSL_CTX_set_session_id_context(raw, kSessionContext, sizeof kSessionContext - 1);
  ::SSL_CTX_set_timeout(raw, kSessionSeconds);
  ::SSL_CTX_set_session_ticket_cb(raw, stamp_ticket, accept_ticket, nullptr);
  ::SSL_CTX_set_msg_callback(raw, count_late_handshakes);
  ::SSL_CTX_set_default_passwd_cb(raw, no_passphrase);
  if (::SSL_CTX_set_cipher_list(raw, kCiphers) != 1 || ::SSL_CTX_set1_groups_list(raw, kGroups) != 1) {
    return failed("OpenSSL does not know our ciphers", "");
  }
  TRY(use_own(raw, files));
  TRY(trust_clients(raw, files));
  return context;
}

bool has_expired(const SSL_CTX* context) {
  return ::X509_cmp_current_time(::X509_get0_notAfter(::SSL_CTX_get0_certificate(context))) < 0;
}

int64_t end_of(const X509* certificate) {
  std::tm end{};
  return ::ASN1_TIME_to_tm(::X509_get0_notAfter(certificate), &end) == 1 ? ::timegm(&end) : 0;
}

// Clients refuse the server when one of its chain ends, nrd refuses clients when their CA does.
int64_t earliest_end(SSL_CTX* context) {
  int64_t earliest = end_of(::SSL_CTX_get0_certificate(context));
  const auto include = [&earliest](const STACK_OF(X509) * certificates) {
    for (int i = 0; i < sk_X509_num(certificates); ++i)
      earliest = std::min(earliest, end_of(sk_X509_value(certificates, i)));
  };
  STACK_OF(X509)* intermediate = nullptr;
  SSL_CTX_get0_chain_certs(context, &intermediate);
  include(intermediate);
  STACK_OF(X509)* authorities = ::X509_STORE_get1_all_certs(::SSL_CTX_get_cert_store(context));
  include(authorities);
  sk_X509_pop_free(authorities, ::X509_free);
  return earliest;
}

}  // namespace

// Without earlier files to keep, an expired certificate is better than none: the local sockets do not depend on it.
Result<std::unique_ptr<TlsContext>> TlsContext::load(TlsFiles files) {
  Prepared prepared = TRY(read(std::move(files)));
  std::unique_ptr<TlsContext> context(new TlsContext());
  context->use(std::move(prepared));
  return context;
}

Result<void> TlsContext::reload() {
  loaded_ = stamp_of(files_);  // of files that fail, too: they are not tried again before they change
  Prepared prepared = TRY(prepare(files_, this));
  use(std::move(prepared));
  return {};
}

Result<TlsContext::Prepared> TlsContext::prepare(TlsFiles files, const TlsContext* present) {
  Prepared prepared = TRY(read(std::move(files)));
  if (present != nullptr && !has_expired(present->get().get()) && has_expired(prepared.context.get())) {
    return fail(ErrorCode::Internal, fmt::format("tls: {} has expired", prepared.files.certificate));
  }
  return prepared;
}

Result<TlsContext::Prepared> TlsContext::read(TlsFiles files) {
  const Stamp stamp = stamp_of(files);  // before reading, so that a concurrent change is detected later
  const Context context = TRY(load_context(files));
  return Prepared{.files = std::move(files), .stamp = stamp, .context = context, .expiry = earliest_end(context.get())};
}

void TlsContext::use(Prepared prepared) {
  files_ = std::move(prepared.files);
  loaded_ = prepared.stamp;
  expiry_ = prepared.expiry;
  context_.set(std::move(prepared.context));
}

bool TlsContext::have_files_changed() const { return stamp_of(files_) != loaded_; }

TlsContext::Stamp TlsContext::stamp_of(const TlsFiles& files) {
  Stamp stamps{};
  size_t i = 0;
  for (const std::string* file : {&files.certificate, &files.key, &files.client_ca}) {
    struct stat found {};
    if (::stat(file->c_str(), &found) == 0) {
      stamps[i] = {found.st_dev, found.st_ino, static_cast<uint64_t>(found.st_mtim.tv_sec),
                   static_cast<uint64_t>(found.st_mtim.tv_nsec)};
    }
    ++i;
  }
  return stamps;
}

}  // namespace nrd::http
