// A TLS 1.3 client that changes its keys again and again and says nothing else.
//
//   nrd-key-updates PORT CERTIFICATE-AND-KEY COUNT
//
// Exits with 0 when all is sent or the other side has had enough.
#include <openssl/ssl.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "tests/wire/tcp_client.h"

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  nrd::wire::TcpClient client(static_cast<uint16_t>(std::atoi(argv[1])));
  const std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context(::SSL_CTX_new(::TLS_client_method()), &::SSL_CTX_free);
  ::SSL_CTX_set_min_proto_version(context.get(), TLS1_3_VERSION);
  ::SSL_CTX_use_certificate_chain_file(context.get(), argv[2]);
  ::SSL_CTX_use_PrivateKey_file(context.get(), argv[2], SSL_FILETYPE_PEM);
  const std::unique_ptr<SSL, void (*)(SSL*)> ssl(::SSL_new(context.get()), &::SSL_free);
  ::SSL_set_fd(ssl.get(), client.fd());
  if (::SSL_connect(ssl.get()) != 1) return 1;
  // From here on into memory, so that all of it is ready when it is sent.
  BIO* made = ::BIO_new(::BIO_s_mem());
  ::SSL_set0_wbio(ssl.get(), made);
  for (long i = std::atol(argv[3]); i > 0; --i) {
    if (::SSL_key_update(ssl.get(), SSL_KEY_UPDATE_NOT_REQUESTED) != 1 || ::SSL_do_handshake(ssl.get()) != 1) return 1;
  }
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(made, &bytes);
  std::printf("made\n");
  std::fflush(stdout);
  client.say(std::string_view(bytes, static_cast<size_t>(size)));
  return 0;
}
