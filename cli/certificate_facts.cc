#include "cli/certificate_facts.h"

#include <openssl/pem.h>
#include <openssl/x509.h>

#include "cli/certificate_pointers.h"

namespace nrd::cli {
namespace {

Bio bytes_of(const std::string& pem) { return Bio(::BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()))); }

// Without this callback, OpenSSL would prompt on the terminal.
int no_passphrase(char* /*buffer*/, int /*size*/, int /*is_writing*/, void* /*of*/) { return -1; }

Certificate certificate_in(const std::string& pem) {
  const Bio bytes = bytes_of(pem);
  return Certificate(bytes ? ::PEM_read_bio_X509(bytes.get(), nullptr, no_passphrase, nullptr) : nullptr);
}

std::string name_text(const X509_NAME* name) {
  const Bio bytes(::BIO_new(::BIO_s_mem()));
  if (!bytes || ::X509_NAME_print_ex(bytes.get(), name, 0, XN_FLAG_RFC2253) < 0) return {};
  char* text = nullptr;
  const long size = BIO_get_mem_data(bytes.get(), &text);
  return {text, static_cast<size_t>(size)};
}

}  // namespace

Result<CertificateFacts> facts_of(const std::string& pem) {
  const Certificate certificate = certificate_in(pem);
  if (!certificate) return fail(ErrorCode::BadRequest, "not a PEM certificate");
  return CertificateFacts{.subject = name_text(::X509_get_subject_name(certificate.get())),
                          .issuer = name_text(::X509_get_issuer_name(certificate.get())),
                          .is_over = ::X509_cmp_current_time(::X509_get0_notAfter(certificate.get())) < 0};
}

bool is_key_of(const std::string& key, const std::string& certificate) {
  const Certificate owner = certificate_in(certificate);
  const Bio bytes = bytes_of(key);
  if (!owner || !bytes) return false;
  const Key read(::PEM_read_bio_PrivateKey(bytes.get(), nullptr, no_passphrase, nullptr));
  return read && ::X509_check_private_key(owner.get(), read.get()) == 1;
}

// Match the name of RMD's sample CA (misspelt in the original) or the name of its sample server, whatever the issuer.
bool is_sample_of_rmd(const CertificateFacts& facts) {
  const auto has = [](const std::string& name, const char* part) { return name.find(part) != std::string::npos; };
  constexpr const char* kCa = "Resource Management Daedmon";
  return has(facts.issuer, kCa) || has(facts.subject, kCa) || has(facts.subject, "CN=RMD-SERVER");
}

}  // namespace nrd::cli
