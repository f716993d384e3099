// Creates the PKI of one node in memory: a CA, and signed by it, nrd's certificate and one for each client role.
//
// The CA signs end-entity certificates only (path length 0). The organisational unit (OU) of a client's subject,
// Admin or User, sets its rights. Keys are EC P-256; client keys are 3072-bit RSA because clients of Intel RMD accept
// no others. Signatures are ECDSA with SHA-256. Only certificates.cc and certificate_facts.cc use libcrypto.
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

// True for a DNS name or IP address that a certificate can carry.
bool is_host(const std::string& text);

// BadRequest for an invalid host; Internal if libcrypto fails.
Result<Pki> make_pki(const NewPki& wanted);

}  // namespace nrd::cli
