// Certificates: those of one node, and what decides whether a given one may be used. Only certificates.cc uses
// libcrypto.
//
// The PKI of one node is created in memory: a CA, and signed by it, nrd's certificate and one for each client role.
//
// The CA signs end-entity certificates only (path length 0). The organisational unit (OU) of a client's subject,
// Admin or User, sets its rights. Keys are EC P-256; client keys are 3072-bit RSA because clients of Intel RMD accept
// no others. Signatures are ECDSA with SHA-256.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/result.h"

namespace nrd::cli {

struct KeyPair {
  std::string certificate;  // PEM
  std::string key;          // PEM, PKCS #8, not encrypted
};

struct Pki {
  KeyPair ca, server, admin, user;
};

struct NewPki {
  std::string node;                // distinguishes the CAs of several nodes
  std::vector<std::string> hosts;  // names and addresses under which clients reach the server
  std::chrono::days lifetime{0};
};

bool is_address(const std::string& text);  // of IP, version 4 or 6
// True for a DNS name or IP address that a certificate can carry.
bool is_host(const std::string& text);

// BadRequest for an invalid host; Internal if libcrypto fails.
Result<Pki> make_pki(const NewPki& wanted);

struct CertificateFacts {
  std::string subject;  // RFC 2253 form: "CN=Alice,OU=Admin"
  std::string issuer;
  bool is_over = false;  // expired
};

// Facts of the first certificate in PEM text; BadRequest if there is none.
Result<CertificateFacts> facts_of(const std::string& pem);

// Both in PEM. False also for a key with a passphrase, which nrd could not read either.
bool is_key_of(const std::string& key, const std::string& certificate);

}  // namespace nrd::cli
