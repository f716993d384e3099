// The thread that serves clients: all listeners and all connections hang on one of Pistache's reactors.
//
// Answers may come from any thread; they are posted to the event_loop, which alone touches connections. A connection
// keeps its descriptor until its answer is written or given up, and answers name connections by a number that is never
// used twice, so no answer can reach another client.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "api/http/listening_socket.h"
#include "api/http/message.h"
#include "api/http/tls.h"

namespace nrd::http {

class EventLoop {
 public:
  // `tls` may be null if no listener needs it; it must outlive the event_loop.
  static std::unique_ptr<EventLoop> start(std::vector<ListeningSocket> listeners, const TlsContext* tls,
                                          Handler handler);
  virtual ~EventLoop() = default;  // ends all connections at once

  // From now on a new request gets 503 and its connection ends. Returns when those accepted are answered, or at the
  // deadline.
  virtual void drain(std::chrono::milliseconds deadline) = 0;

  // Asks the event_loop for a sign of life, and tells when it last gave one. Any thread.
  virtual void ask_for_beat() = 0;
  virtual std::chrono::steady_clock::time_point last_beat() const = 0;
};

}  // namespace nrd::http
