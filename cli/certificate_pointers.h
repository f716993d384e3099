// Objects of OpenSSL that free themselves.
#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

#include <memory>

namespace nrd::cli {

template <auto release>
struct Releaser {
  template <typename T>
  void operator()(T* object) const {
    release(object);
  }
};
using Bio = std::unique_ptr<BIO, Releaser<::BIO_free_all>>;
using Certificate = std::unique_ptr<X509, Releaser<::X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Releaser<::EVP_PKEY_free>>;

}  // namespace nrd::cli
