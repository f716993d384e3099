// Plain HTTP on Pistache's own endpoint: loopback and debugging only.
//
// Pistache's endpoint has faults that any client can trigger (a split chunk spins a worker, an answer can reach a
// reused connection), so it never faces a network; the hardened listener replaces it behind the same door.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "api/http/message.h"
#include "base/result.h"

namespace nrd::http {

struct ServerOptions {
  std::string address = "127.0.0.1";
  uint16_t port = 8081;
  unsigned threads = 1;  // each wakes up twice a second (a timer of Pistache), idle or not
};

class Server {
 public:
  static constexpr size_t kBodyLimit = size_t{64} << 10;

  // Binds and serves at once; fails with the address in the message if it is taken.
  static Result<std::unique_ptr<Server>> start(const ServerOptions& options, Handler handler);
  virtual ~Server() = default;  // stops at once

  // New requests get 503; returns when those accepted are answered, or at the deadline.
  virtual void drain(std::chrono::milliseconds deadline) = 0;
  virtual uint16_t port() const = 0;
};

}  // namespace nrd::http
