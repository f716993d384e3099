// The daemon's API, as nrdctl calls it. libcurl has its home in client.cc.
#pragma once

#include <string>

#include "base/result.h"

namespace nrd::cli {

struct Answer {
  long status = 0;
  std::string body;
};

class Client {
 public:
  // `url`: scheme, host and port ("http://127.0.0.1:8081").
  explicit Client(std::string url) : url_(std::move(url)) {}

  // An answer of any status. ErrorCode::Busy with what to do if the daemon cannot be reached.
  Result<Answer> get(const std::string& path) const { return call("GET", path, ""); }
  Result<Answer> post(const std::string& path, const std::string& body) const { return call("POST", path, body); }
  Result<Answer> remove(const std::string& path) const { return call("DELETE", path, ""); }

 private:
  Result<Answer> call(const std::string& method, const std::string& path, const std::string& body) const;

  std::string url_;
};

}  // namespace nrd::cli
