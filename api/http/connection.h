// One client connection: a stream, a parser, one response at a time, and a deadline for the current phase.
//
//   Handshaking -> Receiving -> Working -> Sending -> Receiving ...
//                                             \-> Leaving -> closed
//
// The connection does not read while it works or sends, so TCP flow control throttles a client that pipelines, and at
// most one response is in memory. Only the event loop's thread uses it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "api/http/message.h"
#include "api/http/request_parser.h"
#include "api/http/stream.h"

namespace nrd::http {

class Connection {
 public:
  using Time = std::chrono::steady_clock::time_point;

  enum class Phase { Handshaking, Receiving, Working, Sending, Leaving, Closed };

  // `client_key`: identifies the client in the connection limits.
  Connection(uint64_t id, Stream stream, Peer peer, std::string client_key, Time now);

  // Advances until the socket would block. Afterwards there may be a request, or the connection is Closed.
  // False if it used up its turn before the socket would block.
  bool advance(Time now);

  bool has_request() const { return phase_ == Phase::Working && !is_taken_; }
  RawRequest take();  // the request; call once
  bool is_in_progress() const { return phase_ == Phase::Working && is_taken_; }
  // In progress, and safe to drop: the request only reads, or the client has hung up.
  bool is_interruptible() const { return is_in_progress() && (reads_ || has_hung_up()); }
  // While a request is in progress: checks whether the client is still connected and updates hung_up().
  void check_hang_up();
  std::shared_ptr<const std::atomic<bool>> hung_up() const { return hung_up_; }
  bool has_hung_up() const { return hung_up_->load(); }
  // In Working: queues the whole response. If `closes`, the connection closes after it.
  void say(std::string bytes, bool closes, Time now);

  // The deadline has passed: sends a 408 if a request has begun, otherwise closes.
  void expire(Time now);
  // Closes at once and drops unsent output.
  void abort();

  uint64_t id() const { return id_; }
  int fd() const { return stream_.fd(); }
  Phase phase() const { return phase_; }
  Time deadline() const { return deadline_; }
  Time since() const { return since_; }
  size_t unread() const { return output_.size() - sent_; }
  bool has_asked() const { return has_asked_; }
  const Stream& stream() const { return stream_; }
  const std::string& client_key() const { return client_key_; }
  const std::shared_ptr<const Peer>& peer() const { return peer_; }

 private:
  enum class Next { Again, Waits };

  Next step(Time now);
  Next shake_hands(Time now);
  Next receive(Time now);
  Next send(Time now);
  Next leave();

  void become(Phase phase, Time now, Time deadline);
  void refuse(int status, const std::string& line, Time now);
  void note_progress(Time now);

  const uint64_t id_;
  Stream stream_;
  std::shared_ptr<const Peer> peer_;
  const std::string client_key_;

  Phase phase_ = Phase::Handshaking;
  Time since_;     // of the phase
  Time deadline_;  // of the phase; Time::max() in Working, which the client cannot prolong
  RequestParser parser_;
  std::string input_;  // bytes that the parser has not consumed yet
  bool request_has_begun_ = false;
  bool body_has_begun_ = false;
  bool is_taken_ = false;  // take() was called
  bool reads_ = false;     // the request is a GET or HEAD
  std::shared_ptr<std::atomic<bool>> hung_up_ = std::make_shared<std::atomic<bool>>(false);
  bool has_asked_ = false;  // at least one complete request was received
  std::string output_;
  size_t sent_ = 0;
  bool closes_ = false;
};

}  // namespace nrd::http
