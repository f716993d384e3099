// One client: a stream, a parser, one answer at a time, and a deadline for whatever it is at.
//
//   Handshaking -> Receiving -> Working -> Sending -> Receiving ...
//                                             \-> Leaving -> closed
//
// While it works or sends nothing is read, so a client that asks faster than it listens is held back by TCP, and at
// most one answer waits in memory. Belongs to the event_loop's thread alone.
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

  // `share`: by what the event_loop counts connections of one client.
  Connection(uint64_t id, Stream stream, Peer peer, std::string share, Time now);

  // Goes on as far as the socket lets it. Afterwards it may have a request, or be Closed.
  // False if there is more to do although the socket was not waited for: others come first.
  bool advance(Time now);

  bool has_request() const { return phase_ == Phase::Working && !is_taken_; }
  RawRequest take();  // the request, once
  bool is_worked_on() const { return phase_ == Phase::Working && is_taken_; }
  // Worked on, and nothing is lost if it ends all the same: it only reads, or the client has gone.
  bool is_only_waited_for() const { return is_worked_on() && (reads_ || has_hung_up()); }
  // While it is worked on: whether the client still waits. Whoever works on it sees it in hung_up().
  void look_for_hang_up();
  std::shared_ptr<const std::atomic<bool>> hung_up() const { return hung_up_; }
  bool has_hung_up() const { return hung_up_->load(); }
  // In Working: hands over the whole answer. The connection ends with it if `closes`.
  void answer(std::string bytes, bool closes, Time now);

  // The deadline has passed: a 408 for a request that has begun, otherwise the end.
  void expire(Time now);
  // Ends at once; what the client has not taken yet is lost.
  void abort();

  uint64_t id() const { return id_; }
  int fd() const { return stream_.fd(); }
  Phase phase() const { return phase_; }
  Time deadline() const { return deadline_; }
  Time since() const { return since_; }
  size_t unread() const { return output_.size() - sent_; }
  bool has_asked() const { return has_asked_; }
  const Stream& stream() const { return stream_; }
  const std::string& share() const { return share_; }
  const std::shared_ptr<const Peer>& peer() const { return peer_; }

 private:
  enum class Step { Again, Waits };

  Step step(Time now);
  Step shake_hands(Time now);
  Step receive(Time now);
  Step send(Time now);
  Step leave();

  void become(Phase phase, Time now, Time deadline);
  void say(std::string bytes, bool closes, Time now);
  void refuse(int status, const std::string& line, Time now);
  void note_progress(Time now);

  const uint64_t id_;
  Stream stream_;
  std::shared_ptr<const Peer> peer_;
  const std::string share_;

  Phase phase_ = Phase::Handshaking;
  Time since_;     // of the phase
  Time deadline_;  // of the phase; Time::max() if the server's own work bounds it
  RequestParser parser_;
  std::string input_;  // what the parser has not used yet
  bool request_has_begun_ = false;
  bool body_has_begun_ = false;
  bool is_taken_ = false;  // the request that is worked on
  bool reads_ = false;     // it is a GET or HEAD
  std::shared_ptr<std::atomic<bool>> hung_up_ = std::make_shared<std::atomic<bool>>(false);
  bool has_asked_ = false;  // at least one whole request has come
  std::string output_;
  size_t sent_ = 0;
  bool closes_ = false;
};

}  // namespace nrd::http
