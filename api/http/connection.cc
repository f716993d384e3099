#include "api/http/connection.h"

#include <algorithm>
#include <array>
#include <utility>

#include "api/http/limits.h"
#include "api/http/response_text.h"
#include "base/secret.h"

namespace nrd::http {
namespace {

constexpr size_t kReadSize = size_t{16} << 10;  // a TLS record
// Per turn, so that a client that sends without pause does not starve the others.
constexpr int kStepsPerTurn = 32;

}  // namespace

Connection::Connection(uint64_t id, Stream stream, Peer peer, std::string client_key, Time now)
    : id_(id),
      stream_(std::move(stream)),
      peer_(std::make_shared<const Peer>(std::move(peer))),
      client_key_(std::move(client_key)),
      since_(now),
      deadline_(now + kHeadDeadline),
      parser_(peer_->transport == Peer::Transport::Plain ? RequestParser::HostPolicy::LoopbackOnly
                                                         : RequestParser::HostPolicy::Any) {}

void Connection::become(Phase phase, Time now, Time deadline) {
  phase_ = phase;
  since_ = now;
  deadline_ = deadline;
}

bool Connection::advance(Time now) {
  for (int i = 0; i < kStepsPerTurn; ++i) {
    if (step(now) == Next::Waits) return true;
  }
  return false;
}

Connection::Next Connection::step(Time now) {
  switch (phase_) {
    case Phase::Handshaking: return shake_hands(now);
    case Phase::Receiving: return receive(now);
    case Phase::Sending: return send(now);
    case Phase::Leaving: return leave();
    case Phase::Working:
    case Phase::Closed: break;
  }
  return Next::Waits;
}

Connection::Next Connection::shake_hands(Time now) {
  switch (stream_.handshake()) {
    case Stream::Io::Again: return Next::Waits;
    case Stream::Io::Done:
      if (stream_.is_tls()) {
        Peer known = *peer_;
        stream_.describe_client(known);
        peer_ = std::make_shared<const Peer>(std::move(known));
      }
      // Handshake and first head share one deadline.
      phase_ = Phase::Receiving;
      return Next::Again;
    case Stream::Io::Ended:
    case Stream::Io::Failed: break;
  }
  if (stream_.fall_back_to_plain()) {
    refuse(400, "Client sent an HTTP request to an HTTPS server.", now);
    return Next::Again;
  }
  phase_ = Phase::Closed;
  return Next::Waits;
}

Connection::Next Connection::receive(Time now) {
  switch (parser_.read(input_)) {
    case RequestParser::ReadResult::Complete:
      has_asked_ = true;
      is_taken_ = false;
      become(Phase::Working, now, Time::max());
      return Next::Waits;
    case RequestParser::ReadResult::Refused:
      refuse(parser_.refusal().status, parser_.refusal().line, now);
      return Next::Again;
    case RequestParser::ReadResult::NeedsMore: break;
  }
  note_progress(now);
  if (parser_.take_continue()) {
    say("HTTP/1.1 100 Continue\r\n\r\n", false, now);
    return Next::Again;
  }
  std::array<char, kReadSize> buffer;
  const Stream::Moved got = stream_.read(buffer);
  if (got.io == Stream::Io::Done) {
    input_.append(buffer.data(), got.bytes);
    if (stream_.is_tls()) wipe(std::span(buffer).first(got.bytes));  // may contain a password
    return Next::Again;
  }
  if (got.io == Stream::Io::Again) return Next::Waits;
  phase_ = Phase::Closed;
  return Next::Waits;
}

// The head deadline starts at the first byte of the request, the body deadline at the end of the head; further bytes do
// not extend them.
void Connection::note_progress(Time now) {
  if (!request_has_begun_ && !input_.empty()) {
    request_has_begun_ = true;
    if (has_asked_) deadline_ = now + kHeadDeadline;
  }
  if (!body_has_begun_ && parser_.in_body()) {
    request_has_begun_ = true;
    body_has_begun_ = true;
    deadline_ = now + kBodyDeadline;
  }
}

RawRequest Connection::take() {
  is_taken_ = true;
  request_has_begun_ = false;
  body_has_begun_ = false;
  RawRequest request = parser_.take();
  reads_ = request.method == "GET" || request.method == "HEAD";
  return request;
}

void Connection::check_hang_up() {
  if (is_in_progress() && stream_.has_hung_up(peer_->transport == Peer::Transport::Unix)) *hung_up_ = true;
}

void Connection::refuse(int status, const std::string& line, Time now) {
  say(bytes_of(plain(status, line), {.has_body = !parser_.is_head(), .closes = true}), true, now);
}

void Connection::say(std::string bytes, bool closes, Time now) {
  output_ = std::move(bytes);
  sent_ = 0;
  closes_ = closes;
  become(Phase::Sending, now, now + kStalledDeadline);
}

Connection::Next Connection::send(Time now) {
  while (sent_ < output_.size()) {
    const Stream::Moved put = stream_.write(std::string_view(output_).substr(sent_));
    if (put.io == Stream::Io::Again) return Next::Waits;
    if (put.io != Stream::Io::Done) {
      phase_ = Phase::Closed;
      return Next::Waits;
    }
    sent_ += put.bytes;
    deadline_ = std::min(now + kStalledDeadline, since_ + kAnswerDeadline);
  }
  output_ = {};
  sent_ = 0;
  if (closes_) {
    stream_.end_writing();
    become(Phase::Leaving, now, now + kLingerDeadline);
  } else {
    become(Phase::Receiving, now, now + (body_has_begun_ ? kBodyDeadline : kIdleDeadline));
  }
  return Next::Again;
}

// Lingering close: discards input for a moment. Closing with unread input sends a reset, and the client could lose the
// response.
Connection::Next Connection::leave() {
  std::array<char, kReadSize> buffer;
  switch (stream_.read(buffer).io) {
    case Stream::Io::Done: return Next::Again;
    case Stream::Io::Again: return Next::Waits;
    case Stream::Io::Ended:
    case Stream::Io::Failed: break;
  }
  phase_ = Phase::Closed;
  return Next::Waits;
}

void Connection::expire(Time now) {
  if (phase_ == Phase::Receiving && request_has_begun_) {
    refuse(408, "Request timeout.", now);
    return;
  }
  if (phase_ == Phase::Sending) stream_.abort_on_close();
  phase_ = Phase::Closed;
}

void Connection::abort() {
  stream_.abort_on_close();
  phase_ = Phase::Closed;
}

}  // namespace nrd::http
