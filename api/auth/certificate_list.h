// Clients' certificates that root has put into a folder, each as a whole: the SHA-256 of its DER form. RMD compared
// signatures only.
//
// A file holds one certificate or several, in PEM form. One that cannot be read, or that others could have written,
// grants nothing, and is a line in `problems`; the others count all the same, so that whoever is taken off the list is
// off it whatever else lies there. Of a folder that is not root's, or too full, nothing counts.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

namespace nrd::auth {

constexpr size_t kListedFileLimit = 256;  // files of a folder
constexpr size_t kListedSizeLimit = size_t{64} << 10;
constexpr size_t kListedPerFile = 16;

struct CertificateList {
  std::set<std::string> fingerprints;  // as http::Peer has them
  std::vector<std::string> problems;
  friend bool operator==(const CertificateList&, const CertificateList&) = default;
};

CertificateList read_certificates(const std::string& folder);

}  // namespace nrd::auth
