#include "api/routing/failure_log.h"

#include <chrono>
#include <memory>
#include <mutex>
#include <utility>

#include "api/auth/login_limits.h"
#include "api/routing/problem.h"
#include "base/log.h"

namespace nrd::routing {
namespace {

// Thread-safe: the engine replies on its own thread.
class FailureLog {
 public:
  void add(const Error& error) {
    if (!admits(name_of(error.code))) return;
    log::warning("REQUEST_FAILED", error.message, {{"CODE", name_of(error.code)}, {"DETAIL", error.detail}});
  }

 private:
  bool admits(const std::string& code) {
    const std::lock_guard hold(lock_);
    const auto now = std::chrono::steady_clock::now();
    if (!lines_.has_token(code, now)) return false;
    lines_.take(code, now);
    return true;
  }

  std::mutex lock_;
  auth::Buckets lines_{10, std::chrono::seconds(10)};
};

}  // namespace

http::Handler log_failures(http::Handler next) {
  return [log = std::make_shared<FailureLog>(), next = std::move(next)](http::Request request, http::Reply reply) {
    next(std::move(request), http::Reply([log, reply](http::Response response) {
           if (response.cause) log->add(*response.cause);
           reply.send(std::move(response));
         }));
  };
}

}  // namespace nrd::routing
