#include "cli/certificates.h"

#include <doctest/doctest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>

namespace nrd::certificates_test {
namespace {

using Certificate = std::unique_ptr<X509, void (*)(X509*)>;
using Key = std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)>;
using Bio = std::unique_ptr<BIO, void (*)(BIO*)>;

const std::vector<std::string> kHosts = {"rmd-nameserver", "node17.example.org", "127.0.0.1", "fe80::1"};

cli::Pki a_pki(std::chrono::days lifetime = std::chrono::days(30)) {
  return cli::make_pki({.node = "node17", .hosts = kHosts, .lifetime = lifetime}).value();
}

// For all that only look at one: its RSA keys take most of the time of these tests.
const cli::Pki& the_pki() {
  static const cli::Pki pki = a_pki();
  return pki;
}

Bio bio_of(const std::string& text) {
  return {::BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), ::BIO_vfree};
}

Certificate certificate_of(const cli::KeyPair& pair) {
  return {::PEM_read_bio_X509(bio_of(pair.certificate).get(), nullptr, nullptr, nullptr), ::X509_free};
}

Key key_of(const cli::KeyPair& pair) {
  return {::PEM_read_bio_PrivateKey(bio_of(pair.key).get(), nullptr, nullptr, nullptr), ::EVP_PKEY_free};
}

// As a strict peer sees it that trusts `ca` alone: "ok", or the reason why not.
std::string verdict(const cli::KeyPair& pair, const cli::KeyPair& ca, int purpose) {
  const Certificate leaf = certificate_of(pair);
  const Certificate root = certificate_of(ca);
  const std::unique_ptr<X509_STORE, void (*)(X509_STORE*)> trusted(::X509_STORE_new(), ::X509_STORE_free);
  ::X509_STORE_add_cert(trusted.get(), root.get());
  ::X509_STORE_set_flags(trusted.get(), X509_V_FLAG_X509_STRICT);
  ::X509_STORE_set_purpose(trusted.get(), purpose);
  const std::unique_ptr<X509_STORE_CTX, void (*)(X509_STORE_CTX*)> look(::X509_STORE_CTX_new(), ::X509_STORE_CTX_free);
  ::X509_STORE_CTX_init(look.get(), trusted.get(), leaf.get(), nullptr);
  ::X509_verify_cert(look.get());
  return ::X509_verify_cert_error_string(::X509_STORE_CTX_get_error(look.get()));
}

std::string subject_of(const cli::KeyPair& pair) {
  const Certificate certificate = certificate_of(pair);
  const Bio text(::BIO_new(::BIO_s_mem()), ::BIO_vfree);
  ::X509_NAME_print_ex(text.get(), ::X509_get_subject_name(certificate.get()), 0, XN_FLAG_RFC2253 & ~XN_FLAG_DN_REV);
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(text.get(), &bytes);
  return {bytes, static_cast<size_t>(size)};
}

// Whole days from now on, as of `pair`.
int days_left(const cli::KeyPair& pair) {
  int days = 0, seconds = 0;
  const Certificate certificate = certificate_of(pair);
  ::ASN1_TIME_diff(&days, &seconds, nullptr, ::X509_get0_notAfter(certificate.get()));
  return seconds > 0 ? days + 1 : days;
}

}  // namespace

TEST_CASE("every key matches its certificate and is of its kind") {
  const cli::Pki& pki = the_pki();
  for (const cli::KeyPair* pair : {&pki.ca, &pki.server, &pki.admin, &pki.user}) {
    const Key key = key_of(*pair);
    CHECK(::X509_check_private_key(certificate_of(*pair).get(), key.get()) == 1);
    const bool is_client = pair == &pki.admin || pair == &pki.user;
    CHECK(::EVP_PKEY_get_base_id(key.get()) == (is_client ? EVP_PKEY_RSA : EVP_PKEY_EC));
    CHECK(::EVP_PKEY_get_bits(key.get()) == (is_client ? 3072 : 256));
  }
  CHECK(pki.admin.key != pki.user.key);
}

TEST_CASE("the subject holds name and role of a client") {
  const cli::Pki& pki = the_pki();
  CHECK(subject_of(pki.ca) == "CN=nrd CA of node17");
  CHECK(subject_of(pki.server) == "CN=rmd-nameserver");
  CHECK(subject_of(pki.admin) == "OU=Admin,CN=admin");
  CHECK(subject_of(pki.user) == "OU=User,CN=user");
}

TEST_CASE("the server certificate covers exactly the requested names and addresses") {
  const Certificate server = certificate_of(the_pki().server);
  const auto has_name = [&server](const char* name) {
    return ::X509_check_host(server.get(), name, 0, 0, nullptr) == 1;
  };
  const auto has_address = [&server](const char* text) { return ::X509_check_ip_asc(server.get(), text, 0) == 1; };
  CHECK(has_name("rmd-nameserver"));
  CHECK(has_name("node17.example.org"));
  CHECK_FALSE(has_name("node18.example.org"));
  CHECK(has_address("127.0.0.1"));
  CHECK(has_address("fe80:0::1"));
  CHECK_FALSE(has_address("127.0.0.2"));
}

TEST_CASE("all certificates expire on the requested day, also beyond the year 2049") {
  for (const int days : {1, 30, 36500}) {
    const cli::Pki pki = a_pki(std::chrono::days(days));
    for (const cli::KeyPair* pair : {&pki.ca, &pki.server, &pki.admin, &pki.user}) CHECK(days_left(*pair) == days);
    CHECK(verdict(pki.server, pki.ca, X509_PURPOSE_SSL_SERVER) == "ok");
  }
}

TEST_CASE("serial numbers are positive, long and different") {
  const cli::Pki& pki = the_pki();
  const auto serial_of = [](const cli::KeyPair& pair) {
    const Certificate certificate = certificate_of(pair);
    const std::unique_ptr<BIGNUM, void (*)(BIGNUM*)> number(
        ::ASN1_INTEGER_to_BN(::X509_get0_serialNumber(certificate.get()), nullptr), ::BN_free);
    CHECK_FALSE(::BN_is_negative(number.get()));
    const std::unique_ptr<char, void (*)(char*)> hex(::BN_bn2hex(number.get()), [](char* text) { OPENSSL_free(text); });
    return std::string(hex.get());
  };
  const std::string server = serial_of(pki.server), admin = serial_of(pki.admin);
  CHECK(server.size() > 24);  // of 32 digits; that eight of them are zero does not happen
  CHECK(server.size() <= 32);
  CHECK(server != admin);
}

TEST_CASE("a name too long for a subject is truncated only there") {
  const std::string name = std::string(60, 'n') + ".org";
  const auto pki = cli::make_pki({.node = name, .hosts = {name}, .lifetime = std::chrono::days(1)});
  REQUIRE(pki.has_value());
  CHECK(subject_of(pki->ca) == ("CN=nrd CA of " + name).substr(0, 3 + 64));
  CHECK(::X509_check_host(certificate_of(pki->server).get(), name.c_str(), 0, 0, nullptr) == 1);
}

TEST_CASE("invalid host names and addresses are refused") {
  for (const char* good : {"a", "node-17", "my_host.example.org", "10.1.2.3", "::1", "fe80::1"}) {
    CHECK_MESSAGE(cli::is_host(good), good);
  }
  const std::string long_label(64, 'a');
  for (const std::string& bad :
       {std::string(), std::string("."), std::string("a..b"), std::string("a."), std::string("a,b"), std::string("a b"),
        std::string("*.example.org"), std::string("[::1]"), std::string("fe80::1%eth0"), std::string("n\xc3\xb6"),
        long_label}) {
    CHECK_MESSAGE(!cli::is_host(bad), bad);
    const auto pki = cli::make_pki({.node = "n", .hosts = {"localhost", bad}, .lifetime = std::chrono::days(1)});
    REQUIRE_FALSE(pki.has_value());
    CHECK(pki.error().code == ErrorCode::BadRequest);
  }
}

}  // namespace nrd::certificates_test
