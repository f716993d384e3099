// The certificate fields that decide whether a certificate may be used. Only certificate_facts.cc uses libcrypto.
#pragma once

#include <string>

#include "base/result.h"

namespace nrd::cli {

struct CertificateFacts {
  std::string subject;  // RFC 2253 form: "CN=Alice,OU=Admin"
  std::string issuer;
  bool is_over = false;  // expired
};

// Facts of the first certificate in PEM text; BadRequest if there is none.
Result<CertificateFacts> facts_of(const std::string& pem);

// Both in PEM. False also for a key with a passphrase, which nrd could not read either.
bool is_key_of(const std::string& key, const std::string& certificate);

// True for the sample certificates shipped with RMD, whose private keys are public.
bool is_sample_of_rmd(const CertificateFacts& facts);

}  // namespace nrd::cli
