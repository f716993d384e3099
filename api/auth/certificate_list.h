// Client certificates in a folder owned by root, as SHA-256 of the DER form. RMD compared signatures only.
//
// A file holds one or more certificates in PEM form. A file that is unreadable or writable by other users grants
// nothing and adds a line to `problems`. The other files still count, so that a bad file does not keep a removed
// certificate valid. If the folder is not owned by root or has too many files, the list is empty.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

namespace nrd::auth {

constexpr size_t kListedFileLimit = 256;  // files per folder
constexpr size_t kListedSizeLimit = size_t{64} << 10;
constexpr size_t kListedPerFile = 16;

struct CertificateList {
  std::set<std::string> fingerprints;  // in the format of http::Peer
  std::vector<std::string> problems;
  friend bool operator==(const CertificateList&, const CertificateList&) = default;
};

CertificateList read_certificates(const std::string& folder);

}  // namespace nrd::auth
