// The thread that serves clients: one Pistache reactor for all listeners and connections.
//
// Any thread may send a response; it is posted to the event loop, which alone accesses connections. A connection keeps
// its descriptor until its response is written or dropped, and connection ids are never reused, so no response can
// reach another client.
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
  // `tls` may be null if no listener uses TLS; it must outlive the event loop.
  static std::unique_ptr<EventLoop> start(std::vector<ListeningSocket> listeners, const TlsContext* tls,
                                          Handler handler);
  virtual ~EventLoop() = default;  // closes all connections

  // Answers new requests with 503 and closes their connections. Returns when all accepted requests are answered, or at
  // the deadline.
  virtual void drain(std::chrono::milliseconds deadline) = 0;

  // Liveness: ask_for_beat() wakes the event loop, last_beat() is the end of its last turn. Any thread.
  virtual void ask_for_beat() = 0;
  virtual std::chrono::steady_clock::time_point last_beat() const = 0;
};

}  // namespace nrd::http
