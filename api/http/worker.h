// The thread that serves clients: all doors and all connections hang on one of Pistache's reactors.
//
// Answers may come from any thread; they are posted to the worker, which alone touches connections. A connection keeps
// its descriptor until its answer is written or given up, and answers name connections by a number that is never used
// twice, so no answer can reach another client.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "api/http/door.h"
#include "api/http/message.h"
#include "api/http/tls.h"

namespace nrd::http {

class Worker {
 public:
  // `tls` may be null if no door needs it; it must outlive the worker.
  static std::unique_ptr<Worker> start(std::vector<Door> doors, const TlsContext* tls, Handler handler);
  virtual ~Worker() = default;  // ends all connections at once

  // From now on a new request gets 503 and its connection ends. Returns when those accepted are answered, or at the
  // deadline.
  virtual void drain(std::chrono::milliseconds deadline) = 0;

  // Asks the worker for a sign of life, and tells when it last gave one. Any thread.
  virtual void ask_for_beat() = 0;
  virtual std::chrono::steady_clock::time_point last_beat() const = 0;
};

}  // namespace nrd::http
