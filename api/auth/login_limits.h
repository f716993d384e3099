// How often pam_client may fail: per client's host and per user.
//
// Each has a bucket of tokens. A login takes one of both before PAM is asked, gets them back if it succeeds, and one
// comes back by itself every so often. So many that are asked at once count as so many failures until they are
// answered, and who does not fail is never slowed down by how often he comes, only by how many of his are open. The
// user's bucket is larger, so that nobody locks another one out from a single host.
//
// The tables are bounded: where one is full, the fullest bucket is forgotten, which is the one that says least.
// One thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <unordered_map>

namespace nrd::auth {

constexpr double kFailuresOfHost = 10;
constexpr std::chrono::seconds kHostRegains{6};  // a token: ten failures a minute in the long run
constexpr double kFailuresOfUser = 30;
constexpr std::chrono::seconds kUserRegains{2};
constexpr size_t kBucketLimit = 4096;  // of each table

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
  std::unordered_map<std::string, Bucket> buckets_;  // those that are not full
};

class LoginLimits {
 public:
  using Time = Buckets::Time;

  // Whether PAM may be asked; if so it counts as a failure until succeeded().
  bool admit(const std::string& host, const std::string& user, Time now);
  void succeeded(const std::string& host, const std::string& user, Time now);

 private:
  Buckets hosts_{kFailuresOfHost, kHostRegains};
  Buckets users_{kFailuresOfUser, kUserRegains};
};

}  // namespace nrd::auth
