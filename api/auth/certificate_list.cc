#include "api/auth/certificate_list.h"

#include <fmt/core.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <array>
#include <memory>

#include "api/auth/root_owned_file.h"
#include "base/hex.h"
#include "base/result.h"

namespace nrd::auth {
namespace {

using Bytes = std::unique_ptr<BIO, int (*)(BIO*)>;
using Certificate = std::unique_ptr<X509, void (*)(X509*)>;

// Skip keys in the file, and do not prompt for a passphrase.
int no_passphrase(char* /*text*/, int /*size*/, int /*writing*/, void* /*unused*/) { return 0; }

Result<std::set<std::string>> fingerprints_in(const std::string& pem, const std::string& path) {
  const Bytes bytes(::BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), &::BIO_free);
  std::set<std::string> fingerprints;
  for (;;) {
    const Certificate certificate(::PEM_read_bio_X509(bytes.get(), nullptr, no_passphrase, nullptr), &::X509_free);
    if (!certificate) break;
    if (fingerprints.size() == kListedPerFile) {
      ::ERR_clear_error();
      return fail(ErrorCode::BadRequest, fmt::format("{}: more than {} certificates", path, kListedPerFile));
    }
    std::array<unsigned char, EVP_MAX_MD_SIZE> hash{};
    unsigned size = 0;
    if (::X509_digest(certificate.get(), ::EVP_sha256(), hash.data(), &size) != 1) break;
    fingerprints.insert(hex_of({reinterpret_cast<const char*>(hash.data()), size}));
  }
  const bool is_at_end = ERR_GET_REASON(::ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  ::ERR_clear_error();
  if (!is_at_end || fingerprints.empty()) {
    return fail(ErrorCode::BadRequest, path + ": not certificates in PEM form");
  }
  return fingerprints;
}

}  // namespace

CertificateList read_certificates(const std::string& folder) {
  const Result<RootOwnedDir> opened = RootOwnedDir::open(folder);
  if (!opened) return {{}, {opened.error().message}};
  const Result<std::vector<std::string>> names = opened->names(kListedFileLimit);
  if (!names) return {{}, {names.error().message}};
  CertificateList list;
  for (const std::string& name : *names) {
    auto found = opened->read(name, kListedSizeLimit).and_then([&](const std::string& pem) {
      return fingerprints_in(pem, folder + "/" + name);
    });
    if (found) {
      list.fingerprints.merge(*found);
    } else {
      list.problems.push_back(found.error().message);
    }
  }
  return list;
}

}  // namespace nrd::auth
