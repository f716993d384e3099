// The thread that serves clients: one Pistache reactor for all listeners and connections.
//
// Any thread may send a response; it is posted to the event loop, which alone accesses connections. A connection keeps
// its descriptor until its response is written or dropped, and connection ids are never reused, so no response can
// reach another client.
#pragma once

#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "api/http/listening_socket.h"
#include "api/http/message.h"
#include "api/http/tls.h"

namespace Pistache::Aio {
class Reactor;
}

namespace nrd::http {

class EventLoop {
 public:
  // `tls` may be null if no listener uses TLS; it must outlive the event loop.
  EventLoop(std::vector<ListeningSocket> listeners, const TlsContext* tls, Handler handler);
  ~EventLoop();  // closes all connections

  // Answers new requests with 503 and closes their connections. Returns when all accepted requests are answered, or at
  // the deadline.
  void drain(std::chrono::milliseconds deadline);

  // Liveness: ask_for_beat() wakes the event loop, last_beat() is the end of its last turn. Any thread.
  void ask_for_beat();
  std::chrono::steady_clock::time_point last_beat() const;

 private:
  class Loop;

  const std::shared_ptr<Pistache::Aio::Reactor> reactor_;
  const std::shared_ptr<Loop> loop_;
  std::thread thread_;
};

}  // namespace nrd::http
