#include "api/auth/login_limits.h"

#include <algorithm>

namespace nrd::auth {

double Buckets::tokens_in(const Bucket& bucket, Time now) const {
  return std::min(size_, bucket.tokens + std::chrono::duration<double>(now - bucket.at) / regain_);
}

bool Buckets::has_token(const std::string& key, Time now) const {
  const auto found = buckets_.find(key);
  return found == buckets_.end() || tokens_in(found->second, now) >= 1;
}

void Buckets::take(const std::string& key, Time now) {
  auto found = buckets_.find(key);
  if (found == buckets_.end()) {
    if (buckets_.size() >= kBucketLimit) make_room(now);
    found = buckets_.emplace(key, Bucket{size_, now}).first;
  }
  found->second = {tokens_in(found->second, now) - 1, now};
}

void Buckets::give_back(const std::string& key, Time now) {
  const auto found = buckets_.find(key);
  if (found == buckets_.end()) return;
  found->second = {std::min(size_, tokens_in(found->second, now) + 1), now};
  if (found->second.tokens >= size_) buckets_.erase(found);
}

void Buckets::make_room(Time now) {
  std::erase_if(buckets_, [this, now](const auto& entry) { return tokens_in(entry.second, now) >= size_; });
  if (buckets_.size() < kBucketLimit) return;
  buckets_.erase(
      std::ranges::max_element(buckets_, {}, [this, now](const auto& entry) { return tokens_in(entry.second, now); }));
}

bool LoginLimits::admit(const std::string& host, const std::string& user, Time now) {
  if (!hosts_.has_token(host, now) || !users_.has_token(user, now)) return false;
  hosts_.take(host, now);
  users_.take(user, now);
  return true;
}

void LoginLimits::did_not_fail(const std::string& host, const std::string& user, Time now) {
  hosts_.give_back(host, now);
  users_.give_back(user, now);
}

}  // namespace nrd::auth
