// What a certificate says of itself, for one who is to decide whether it may be used. libcrypto is read in
// certificate_facts.cc.
#pragma once

#include <string>

#include "base/result.h"

namespace nrd::cli {

struct CertificateFacts {
  std::string subject;  // as RFC 2253 writes it: "CN=Alice,OU=Admin"
  std::string issuer;
  bool is_over = false;  // its time
};

// Of the first certificate in PEM text; BadRequest if there is none.
Result<CertificateFacts> facts_of(const std::string& pem);

// Both PEM; false also for a key with a passphrase, which nrd could not read either.
bool is_key_of(const std::string& key, const std::string& certificate);

// One of those that came with RMD: everybody has their keys.
bool is_sample_of_rmd(const CertificateFacts& facts);

}  // namespace nrd::cli
