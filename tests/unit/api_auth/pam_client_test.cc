// Basic credentials, login limits, and packets to nrd-pam.
#include "api/auth/pam_client.h"

#include <doctest/doctest.h>

#include <string>

#include "api/auth/basic.h"
#include "api/auth/login_limits.h"
#include "api/auth/pam_message.h"
#include "tests/unit/no_threads.h"

namespace nrd::auth::pam_client_test {

using namespace std::chrono_literals;

namespace {

std::string read(const std::string& header) {
  const auto found = parse_basic(header);
  return found ? found->user + " / " + std::string(found->password.view()) : "none";
}

const LoginLimits::Time kNow{1000h};

}  // namespace

TEST_CASE("Basic credentials are a user, a colon and a password that may have colons") {
  CHECK(read("Basic YWxpY2U6c2VjcmV0") == "alice / secret");
  CHECK(read("bAsIc  YWxpY2U6c2VjcmV0") == "alice / secret");
  CHECK(read("Basic YTo6Yjo=") == "a / :b:");
  CHECK(read("Basic YTo=") == "a / ");
  CHECK(read("Basic w7Y6w7w=") == "ö / ü");
}

TEST_CASE("ambiguous credentials are refused") {
  for (const char* header : {"", "Basic", "Basic ", "Bearer YTpi", "BasicYTpi", "Basic YTpi YTpi", "Basic YTpiY",
                             "Basic YTp=i", "Basic ====", "Basic YTo", "Basic YTp=", "Basic YTr=", "Basic YTp_",
                             "Basic YWxpY2U=", "Basic OnNlY3JldA==", "Basic YToA", "Basic YTpiCg=="}) {
    CAPTURE(header);
    CHECK(read(header) == "none");
  }
}

TEST_CASE("user names and passwords have a maximum length") {
  // Each "YWFh" is three letters a in base64.
  std::string long_user = "Basic ";
  for (size_t i = 0; i < kUserLimit / 3 + 1; ++i) long_user += "YWFh";
  CHECK(read(long_user + "Ogo=") == "none");
  std::string long_password = "Basic YTph";
  for (size_t i = 0; i < kPasswordLimit / 3 + 1; ++i) long_password += "YWFh";
  CHECK(read(long_password) == "none");
}

TEST_CASE("a host without room for threads cannot switch on passwords, and nrd continues") {
  const testing::NoThreads none;
  const auto started = PamClient::start("/bin/true");
  REQUIRE_FALSE(started);
  CHECK(started.error().message == "cannot start the threads that check passwords");
}

TEST_CASE("repeated failures are refused without asking PAM until tokens refill") {
  LoginLimits limits;
  for (int i = 0; i < static_cast<int>(kFailuresOfHost); ++i) CHECK(limits.admit("h", "u" + std::to_string(i), kNow));
  CHECK_FALSE(limits.admit("h", "other", kNow));
  CHECK(limits.admit("h2", "other", kNow));
  CHECK_FALSE(limits.admit("h", "other", kNow + kHostRegains - 1s));
  CHECK(limits.admit("h", "other", kNow + kHostRegains));
  CHECK_FALSE(limits.admit("h", "other", kNow + kHostRegains));
}

TEST_CASE("a host that waited long may fail no more often than a new one") {
  LoginLimits limits;
  CHECK(limits.admit("h", "first", kNow));
  int admitted = 0;
  for (int i = 0; i < 100; ++i) admitted += limits.admit("h", std::to_string(i), kNow + 24h) ? 1 : 0;
  CHECK(admitted == static_cast<int>(kFailuresOfHost));
}

TEST_CASE("failed logins of a user are limited across hosts") {
  LoginLimits limits;
  int admitted = 0;
  for (int i = 0; i < 1000; ++i) admitted += limits.admit("h" + std::to_string(i), "root", kNow) ? 1 : 0;
  CHECK(admitted == static_cast<int>(kFailuresOfUser));
  CHECK(limits.admit("h5", "alice", kNow));
}

TEST_CASE("successful logins are not limited") {
  LoginLimits limits;
  for (int i = 0; i < 1000; ++i) {
    REQUIRE(limits.admit("h", "u", kNow));
    limits.did_not_fail("h", "u", kNow);
  }
}

TEST_CASE("the table of failures is bounded and keeps the most frequent failures") {
  Buckets buckets(10, 6s);
  for (int i = 0; i < 10; ++i) buckets.take("worst", kNow);
  for (size_t i = 0; i < 2 * kBucketLimit; ++i) buckets.take(std::to_string(i), kNow);
  CHECK(buckets.count() == kBucketLimit);
  CHECK_FALSE(buckets.has_token("worst", kNow));
  buckets.take("one more", kNow + 6s);
  CHECK(buckets.count() < 10);  // those that were full again have gone
}

TEST_CASE("PAM packets survive a round trip") {
  const PamQuestion question{"nrd", "alice", "::1/64", nrd::Secret("a b: ")};
  const auto read_back = question_in(packet_of(question).view());
  REQUIRE(read_back);
  CHECK(read_back->service == "nrd");
  CHECK(read_back->user == "alice");
  CHECK(read_back->host == "::1/64");
  CHECK(read_back->password.view() == "a b: ");
  using namespace std::string_view_literals;
  CHECK_FALSE(question_in("nrd\0alice\0h"sv));
  CHECK_FALSE(question_in("nrd\0alice\0h\0p\0more"sv));
  const PamAnswer answer{7, "Authentication failure"};
  CHECK(answer_in(packet_of(answer)) == answer);
  for (const char* packet : {"", "7", "x 7", " 7 y", "-"}) CHECK_FALSE(answer_in(packet));
}

}  // namespace nrd::auth::pam_client_test
