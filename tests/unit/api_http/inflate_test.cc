#include "api/http/inflate.h"

#include <doctest/doctest.h>

#include "api/http/limits.h"

namespace nrd::inflate_test {

using nrd::http::inflated;

namespace {

// "hello" as Python's gzip and zlib write it.
const std::string kGzip(
    "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff\xcb\x48\xcd\xc9\xc9\x07\x00\x86\xa6\x10\x36\x05\x00\x00\x00", 25);
const std::string kZlib("\x78\x9c\xcb\x48\xcd\xc9\xc9\x07\x00\x06\x2c\x02\x15", 13);

int status(const std::string& body, const char* encoding) {
  const auto got = inflated(body, encoding);
  return got ? 200 : got.error().status;
}

}  // namespace

TEST_CASE("a compressed body is decompressed unchanged") {
  CHECK(*inflated(kGzip, "gzip") == "hello");
  CHECK(*inflated(kGzip, "X-GZIP") == "hello");
  CHECK(*inflated(kZlib, "deflate") == "hello");
  CHECK(*inflated("hello", "") == "hello");
  CHECK(*inflated("hello", "Identity") == "hello");
  CHECK(*inflated("", "gzip") == "");
}

TEST_CASE("a corrupt, truncated or overlong compressed body is a 400") {
  for (size_t size = 1; size < kGzip.size(); ++size) CHECK(status(kGzip.substr(0, size), "gzip") == 400);
  CHECK(status(kGzip + "x", "gzip") == 400);
  CHECK(status(kGzip + kGzip, "gzip") == 400);
  CHECK(status(kZlib, "gzip") == 400);
  CHECK(status(kGzip, "deflate") == 400);
  std::string wrong_sum = kGzip;
  wrong_sum[18] ^= 1;
  CHECK(status(wrong_sum, "gzip") == 400);
}

TEST_CASE("another encoding is a 415") {
  for (const char* encoding : {"br", "gzip, gzip", "compress", "gzip;q=1"}) CHECK(status(kGzip, encoding) == 415);
}

}  // namespace nrd::inflate_test
