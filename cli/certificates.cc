#include "cli/certificates.h"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <memory>
#include <optional>

#include "base/ascii.h"

namespace nrd::cli {
namespace {

constexpr int kSerialBits = 128;
constexpr size_t kNameLimit = 64;  // RFC 5280, ub-common-name
// Tolerate clients whose clock is slightly behind.
constexpr std::chrono::seconds kClockTolerance = std::chrono::minutes(5);
// Clients of Intel RMD expect this name in the certificate.
constexpr const char* kServerName = "rmd-nameserver";

// Objects of OpenSSL free themselves.
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
using Bignum = std::unique_ptr<BIGNUM, Releaser<::BN_free>>;
using Extension = std::unique_ptr<X509_EXTENSION, Releaser<::X509_EXTENSION_free>>;
using GeneralNames = std::unique_ptr<GENERAL_NAMES, Releaser<::GENERAL_NAMES_free>>;

struct Issued {
  Certificate certificate;
  Key key;
  KeyPair pem;
};

struct Subject {
  const char* unit;  // nullptr: none
  std::string name;
};

enum class KeyKind { EllipticCurve, Rsa };

// What a certificate may be used for, in the words of x509v3_config(5).
struct Profile {
  KeyKind key;
  const char* constraints;
  const char* key_usage;
  const char* extended_key_usage;  // nullptr: none
};
constexpr Profile kCa{KeyKind::EllipticCurve, "critical,CA:TRUE,pathlen:0", "critical,keyCertSign,cRLSign", nullptr};
constexpr Profile kServer{KeyKind::EllipticCurve, "critical,CA:FALSE", "critical,digitalSignature", "serverAuth"};
constexpr Profile kClient{KeyKind::Rsa, "critical,CA:FALSE", "critical,digitalSignature", "clientAuth"};

struct Validity {
  std::time_t from;
  std::time_t to;
};

bool is_dns_name(const std::string& text) {
  constexpr size_t kTextLimit = 253, kLabelLimit = 63;  // RFC 1035
  if (text.empty() || text.size() > kTextLimit) return false;
  size_t label = 0;
  for (const char c : text) {
    const bool is_dot = c == '.';
    if (is_dot ? label == 0 : !is_alphanumeric(c) && c != '-' && c != '_') return false;
    label = is_dot ? 0 : label + 1;
    if (label > kLabelLimit) return false;
  }
  return label > 0;
}

bool set_serial(X509* certificate) {
  // Random, so that serial numbers never repeat, even across CAs of the same name.
  const Bignum number(::BN_new());
  return number && ::BN_rand(number.get(), kSerialBits, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY) == 1 &&
         ::BN_to_ASN1_INTEGER(number.get(), ::X509_get_serialNumber(certificate)) != nullptr;
}

bool add_name(X509_NAME* subject, const char* field, const std::string& value) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(value.data());
  return ::X509_NAME_add_entry_by_txt(subject, field, MBSTRING_UTF8, bytes, static_cast<int>(value.size()), -1, 0) == 1;
}

bool set_subject(X509* certificate, const Subject& wanted) {
  X509_NAME* subject = ::X509_get_subject_name(certificate);
  if (wanted.unit != nullptr && !add_name(subject, "OU", wanted.unit)) return false;
  return add_name(subject, "CN", wanted.name.substr(0, kNameLimit));
}

bool set_validity(X509* certificate, Validity validity) {
  return ::ASN1_TIME_set(::X509_getm_notBefore(certificate), validity.from) != nullptr &&
         ::ASN1_TIME_set(::X509_getm_notAfter(certificate), validity.to) != nullptr;
}

bool add_extension(X509* certificate, X509V3_CTX* context, int id, const char* value) {
  if (value == nullptr) return true;
  const Extension extension(::X509V3_EXT_conf_nid(nullptr, context, id, value));
  return extension && ::X509_add_ext(certificate, extension.get(), -1) == 1;
}

// Not X509V3_EXT_conf_nid: it would treat a comma in a name as a separator.
bool add_hosts(X509* certificate, const std::vector<std::string>& hosts) {
  if (hosts.empty()) return true;
  const GeneralNames names(sk_GENERAL_NAME_new_null());
  if (!names) return false;
  for (const std::string& host : hosts) {
    const int kind = is_address(host) ? GEN_IPADD : GEN_DNS;
    GENERAL_NAME* name = ::a2i_GENERAL_NAME(nullptr, nullptr, nullptr, kind, host.c_str(), 0);
    if (name == nullptr) return false;
    if (sk_GENERAL_NAME_push(names.get(), name) == 0) {
      ::GENERAL_NAME_free(name);
      return false;
    }
  }
  return ::X509_add1_ext_i2d(certificate, NID_subject_alt_name, names.get(), 0, X509V3_ADD_DEFAULT) == 1;
}

bool add_extensions(X509* certificate, X509* issuer, const Profile& profile) {
  X509V3_CTX context;
  ::X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  // Add the subject key identifier first: a self-signed certificate copies the authority key identifier from it.
  return add_extension(certificate, &context, NID_basic_constraints, profile.constraints) &&
         add_extension(certificate, &context, NID_key_usage, profile.key_usage) &&
         add_extension(certificate, &context, NID_ext_key_usage, profile.extended_key_usage) &&
         add_extension(certificate, &context, NID_subject_key_identifier, "hash") &&
         add_extension(certificate, &context, NID_authority_key_identifier, "keyid:always");
}

std::string content_of(BIO* bio) {
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(bio, &bytes);
  return {bytes, static_cast<size_t>(size)};
}

Bio bytes_of(const std::string& pem) { return Bio(::BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()))); }

// Without this callback, OpenSSL would prompt on the terminal.
int no_passphrase(char* /*buffer*/, int /*size*/, int /*is_writing*/, void* /*of*/) { return -1; }

Certificate certificate_in(const std::string& pem) {
  const Bio bytes = bytes_of(pem);
  return Certificate(bytes ? ::PEM_read_bio_X509(bytes.get(), nullptr, no_passphrase, nullptr) : nullptr);
}

std::string name_text(const X509_NAME* name) {
  const Bio text(::BIO_new(::BIO_s_mem()));
  if (!text || ::X509_NAME_print_ex(text.get(), name, 0, XN_FLAG_RFC2253) < 0) return {};
  return content_of(text.get());
}

std::optional<KeyPair> pem_of(X509* certificate, EVP_PKEY* key) {
  const Bio first(::BIO_new(::BIO_s_mem()));
  const Bio second(::BIO_new(::BIO_s_mem()));
  if (!first || ::PEM_write_bio_X509(first.get(), certificate) != 1) return std::nullopt;
  if (!second || ::PEM_write_bio_PKCS8PrivateKey(second.get(), key, nullptr, nullptr, 0, nullptr, nullptr) != 1) {
    return std::nullopt;
  }
  return KeyPair{content_of(first.get()), content_of(second.get())};
}

Failure broken(const std::string& what) {
  std::array<char, 256> reason;
  ::ERR_error_string_n(::ERR_get_error(), reason.data(), reason.size());
  return fail(ErrorCode::Internal, fmt::format("{}: {}", what, reason.data()));
}

Key new_key(KeyKind kind) {
  constexpr size_t kRsaBits = 3072;
  return Key(kind == KeyKind::Rsa ? ::EVP_PKEY_Q_keygen(nullptr, nullptr, "RSA", kRsaBits)
                                  : ::EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256"));
}

// Create a key and its certificate, signed by `ca`, or self-signed if `ca` is null.
Result<Issued> issue(const Subject& subject, const Profile& profile, const std::vector<std::string>& hosts,
                     Validity validity, const Issued* ca) {
  Issued made{Certificate(::X509_new()), new_key(profile.key), {}};
  X509* certificate = made.certificate.get();
  EVP_PKEY* key = made.key.get();
  if (certificate == nullptr || key == nullptr) return broken("cannot create a key for " + subject.name);
  X509* issuer = ca == nullptr ? certificate : ca->certificate.get();
  const bool is_signed = ::X509_set_version(certificate, X509_VERSION_3) == 1 && set_serial(certificate) &&
                         set_subject(certificate, subject) && set_validity(certificate, validity) &&
                         ::X509_set_issuer_name(certificate, ::X509_get_subject_name(issuer)) == 1 &&
                         ::X509_set_pubkey(certificate, key) == 1 && add_hosts(certificate, hosts) &&
                         add_extensions(certificate, issuer, profile) &&
                         ::X509_sign(certificate, ca == nullptr ? key : ca->key.get(), ::EVP_sha256()) > 0;
  if (!is_signed) return broken("cannot create a certificate for " + subject.name);
  std::optional<KeyPair> pem = pem_of(certificate, key);
  if (!pem) return broken("cannot encode as PEM: " + subject.name);
  made.pem = *std::move(pem);
  return made;
}

}  // namespace

bool is_address(const std::string& text) {
  std::array<unsigned char, sizeof(in6_addr)> bytes;
  return ::inet_pton(AF_INET, text.c_str(), bytes.data()) == 1 ||
         ::inet_pton(AF_INET6, text.c_str(), bytes.data()) == 1;
}

bool is_host(const std::string& text) { return is_address(text) || is_dns_name(text); }

Result<Pki> make_pki(const NewPki& wanted) {
  const auto bad = std::find_if_not(wanted.hosts.begin(), wanted.hosts.end(), is_host);
  if (bad != wanted.hosts.end()) return fail(ErrorCode::BadRequest, *bad + " is not a valid host name or IP address");
  const auto now = std::chrono::system_clock::now();
  // All share one validity: a certificate that outlives its CA is useless.
  const Validity validity{std::chrono::system_clock::to_time_t(now - kClockTolerance),
                          std::chrono::system_clock::to_time_t(now + wanted.lifetime)};
  const Issued ca = TRY(issue({nullptr, "nrd CA of " + wanted.node}, kCa, {}, validity, nullptr));
  const Result<Issued> server = issue({nullptr, kServerName}, kServer, wanted.hosts, validity, &ca);
  const Result<Issued> admin = issue({"Admin", "admin"}, kClient, {}, validity, &ca);
  const Result<Issued> user = issue({"User", "user"}, kClient, {}, validity, &ca);
  for (const Result<Issued>* one : {&server, &admin, &user}) {
    if (!*one) return Failure(one->error());
  }
  return Pki{ca.pem, server->pem, admin->pem, user->pem};
}

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

}  // namespace nrd::cli
