// A PKI for one node, made in memory: a CA, and signed by it nrd's certificate and one for each role a client can have.
//
// The CA may sign these and nothing beneath them (path length 0). What a client may do follows from the organisational
// unit (OU) of its certificate's subject: Admin or User. Keys are EC P-256, those of clients RSA with
// 3072 bits: clients of Intel RMD take no others. Signatures are ECDSA with SHA-256.
// libcrypto has its home in certificates.cc.
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
  std::string node;                // whose CA this is, for those who have the CAs of several nodes
  std::vector<std::string> hosts;  // names and addresses by which clients reach the server
  std::chrono::days lifetime{0};
};

// A DNS name or an IP address, as a certificate can carry it.
bool is_host(const std::string& text);

// BadRequest for a host that is none; Internal if libcrypto fails.
Result<Pki> make_pki(const NewPki& wanted);

}  // namespace nrd::cli
