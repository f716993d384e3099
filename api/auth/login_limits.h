// Limits for failed logins, per client host and per user.
//
// Each host and each user has a token bucket. A login takes a token from both before PAM is asked and returns them
// unless PAM refuses; buckets also refill over time. So pending logins count as failures until PAM answers, and logins
// that PAM accepts or cannot check are limited only in their concurrency. The user's bucket is larger, so that a single
// host cannot lock a user out.
//
// The tables are bounded: a full table drops the bucket with the most tokens. Not thread-safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <unordered_map>

namespace nrd::auth {

constexpr double kFailuresOfHost = 10;
constexpr std::chrono::seconds kHostRegains{6};  // per token: ten failures a minute on average
constexpr double kFailuresOfUser = 30;
constexpr std::chrono::seconds kUserRegains{2};
constexpr size_t kBucketLimit = 4096;  // entries per table

class Buckets {
 public:
  using Time = std::chrono::steady_clock::time_point;

  Buckets(double size, std::chrono::seconds regain) : size_(size), regain_(regain) {}

  bool has_token(const std::string& key, Time now) const;
  void take(const std::string& key, Time now);
  void give_back(const std::string& key, Time now);
  size_t count() const { return buckets_.size(); }

 private:
  struct Bucket {
    double tokens = 0;
    Time at;
  };
  double tokens_in(const Bucket& bucket, Time now) const;
  void make_room(Time now);

  const double size_;
  const std::chrono::duration<double> regain_;
  std::unordered_map<std::string, Bucket> buckets_;  // only buckets that are not full
};

class LoginLimits {
 public:
  using Time = Buckets::Time;

  // True if PAM may be asked; the login then counts as a failure until did_not_fail().
  bool admit(const std::string& host, const std::string& user, Time now);
  void did_not_fail(const std::string& host, const std::string& user, Time now);

 private:
  Buckets hosts_{kFailuresOfHost, kHostRegains};
  Buckets users_{kFailuresOfUser, kUserRegains};
};

}  // namespace nrd::auth
