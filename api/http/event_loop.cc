#include "api/http/event_loop.h"

#include <pistache/reactor.h>
#include <sys/timerfd.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <unordered_set>
#include <utility>

#include "api/http/connection_table.h"
#include "api/http/limits.h"
#include "api/http/notify_queue.h"
#include "api/http/request_reader.h"
#include "api/http/response_text.h"
#include "base/invariant.h"
#include "base/log.h"

namespace nrd::http {
namespace {

using namespace std::chrono_literals;
namespace polling = Pistache::Polling;
using Time = Connection::Time;

// Tags of what the reactor watches besides connections, which are numbered from kFirstConnection.
constexpr uint64_t kBell = 0;
constexpr uint64_t kTimer = 1;
constexpr uint64_t kActs = 2;
constexpr uint64_t kFirstDoor = 3;
constexpr uint64_t kFirstConnection = 1024;

constexpr int kCallersPerTurn = 64;
// Turns of the house before the reactor is asked for news again. A request takes two; who pipelines without end gets
// two answers while everybody else is looked at once.
constexpr int kTurns = 4;
// And no longer than this, however many have asked: who comes new is let in and answered between two of them.
constexpr auto kTurnsTime = 10ms;
constexpr auto kDoorRest = 100ms;  // of a listener that cannot let anybody in

using Act = std::function<void()>;

struct Answer {
  uint64_t connection = 0;
  std::string bytes;
  bool closes = false;
};

Response plain(int status, const std::string& line) {
  return {.status = status, .content_type = "text/plain", .body = line + "\n", .headers = {}};
}

// Whether `act` ended without an exception, of whatever type.
template <typename Act>
bool survives(Act act) noexcept {
  try {
    act();
    return true;
  } catch (const std::exception& thrown) {
    log::error("REQUEST_LOST", "serving a client failed", {{"DETAIL", thrown.what()}});
  } catch (...) {
    log::error("REQUEST_LOST", "serving a client failed", {{"DETAIL", "unknown exception"}});
  }
  return false;
}

// All that happens on the event_loop's thread.
class Loop final : public Pistache::Aio::Handler {
 public:
  Loop(std::vector<ListeningSocket> listeners, const TlsContext* tls, http::Handler handler)
      : listeners_(std::move(listeners)),
        tls_(tls),
        handler_(std::move(handler)),
        answers_(std::make_shared<NotifyQueue<Answer>>()),
        acts_(std::make_shared<NotifyQueue<Act>>()),
        timer_(::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)) {}

  // Before the reactor runs.
  void watch_all() {
    watch(answers_->fd(), kBell);
    watch(acts_->fd(), kActs);
    watch(timer_.get(), kTimer);
    for (size_t i = 0; i < listeners_.size(); ++i) watch(listeners_[i].fd.get(), kFirstDoor + i);
  }

  void onReady(const Pistache::Aio::FdSet& events) override {
    now_ = std::chrono::steady_clock::now();
    thread_ = std::this_thread::get_id();
    for (const auto& event : events) note(event.getTag().value());
    for (int turn = 0; turn < kTurns && is_in_time() && take_turn(); ++turn) {
    }
    if (has_more_to_do()) answers_->notify();  // and go on as soon as others were looked at
    set_timer();
    last_beat_ = std::chrono::steady_clock::now();
    if (is_draining_) tell_if_idle();
  }

  // One reactor, one handler: Pistache clones handlers for reactors of several threads.
  std::shared_ptr<Pistache::Aio::Handler> clone() const override {
    INVARIANT(false);
    return nullptr;
  }
  void registerPoller(polling::Epoll& /*poller*/) override {}

  // Other threads.
  void drain(std::chrono::milliseconds deadline) {
    is_draining_ = true;
    std::unique_lock hold(idle_lock_);
    is_idle_ = false;  // until the event_loop has looked
    answers_->notify();
    became_idle_.wait_for(hold, deadline, [this] { return is_idle_; });
    const std::lock_guard asking(asking_);  // until the handler that runs now has returned
    is_shut_ = true;
  }
  void ask_for_beat() { answers_->notify(); }
  Time last_beat() const { return last_beat_; }
  void close() {
    acts_->close();
    answers_->close();
  }

 private:
  void watch(int fd, uint64_t tag) {
    // Edges: nothing has to be armed anew, and a client that has gone does not wake us while its request is worked on.
    reactor()->registerFd(key(), fd, polling::NotifyOn::Read | polling::NotifyOn::Write, polling::Tag(tag),
                          polling::Mode::Edge);
  }

  bool is_in_time() const { return std::chrono::steady_clock::now() - now_ < kTurnsTime; }

  bool has_more_to_do() { return !ready_.empty() || !ready_doors_.empty() || !answers_->is_empty(); }

  void note(uint64_t tag) {
    if (tag == kBell) {
      answers_->clear();
    } else if (tag == kTimer) {
      expire();
    } else if (tag == kActs) {
      acts_->clear();
      for (const Act& act : acts_->take()) call_handler(act);
    } else if (tag >= kFirstConnection) {
      put_in_line(tag);
    } else {
      ready_doors_.push_back(tag - kFirstDoor);
    }
  }

  // Once, however often it is noted: a client that sends byte by byte has one place, too.
  void put_in_line(uint64_t id) {
    if (in_line_.insert(id).second) ready_.push_back(id);
  }

  // Whether there was anything to do.
  bool take_turn() {
    deliver_all();
    const size_t ready = ready_.size();  // who becomes ready meanwhile waits for the next turn
    const std::vector<size_t> listeners = std::exchange(ready_doors_, {});
    for (size_t i = 0; i < ready && is_in_time(); ++i) {
      const uint64_t id = ready_.front();
      ready_.pop_front();
      in_line_.erase(id);
      attend(id, Next::Now);
      deliver_all();
    }
    for (const size_t listener : listeners) let_in(listener);
    return ready > 0 || !listeners.empty();
  }

  // Those that are there now, one by one onto the wire, so that answers do not pile up between handlers and clients.
  void deliver_all() {
    for (Answer& answer : answers_->take()) {
      Connection* connection = connections_.find(answer.connection);
      if (connection == nullptr || connection->phase() != Connection::Phase::Working) continue;
      connection->answer(std::move(answer.bytes), answer.closes, now_);
      attend(answer.connection, Next::InLine);
    }
  }

  // When a request that has arrived is worked on: who pipelines takes his place behind the others with each.
  enum class Next { Now, InLine };

  // What goes wrong here costs this client its connection and nobody else.
  void attend(uint64_t id, Next next) noexcept {
    Connection* connection = connections_.find(id);
    if (connection == nullptr) return;
    const bool went_well = survives([this, connection, id, next] {
      if (!connection->advance(now_)) put_in_line(id);
      if (connection->is_worked_on()) return connection->look_for_hang_up();
      if (!connection->has_request()) return;
      if (next == Next::Now) return dispatch(*connection);
      put_in_line(id);
    });
    if (!went_well) connection->abort();
    if (connection->phase() == Connection::Phase::Closed) {
      connections_.remove(id);
      return;
    }
    due_ = std::min(due_, connection->deadline());
    if (connection->phase() == Connection::Phase::Sending) make_room_for_answers();
  }

  void dispatch(Connection& connection) {
    RawRequest raw = connection.take();
    const bool is_outdated = connection.stream().is_tls() && !connection.stream().began_with(tls_->get());
    const Framing framing{.has_body = raw.method != "HEAD", .closes = raw.closes || is_draining_ || is_outdated};
    auto request = reader_.read(std::move(raw), is_outdated ? peer_by_now(connection) : connection.peer());
    Reply reply([answers = answers_, id = connection.id(), framing, event_loop = thread_](const Response& response) {
      answers->post({.connection = id, .bytes = bytes_of(response, framing), .closes = framing.closes},
                    std::this_thread::get_id() != event_loop);
    });
    constexpr const char* kStopping = "The service is stopping.";
    if (is_draining_) return reply.send(plain(503, kStopping));
    if (!request) return reply.send(plain(request.error().status, request.error().line));
    request->later = [acts = acts_](Act act) { acts->post(std::move(act), true); };
    request->client = {.share = connection.share(),
                       .is_privileged = connection.peer()->transport == Peer::Transport::Unix,
                       .hung_up = connection.hung_up()};
    // A handler that throws has dropped its reply, and thereby answered.
    if (!call_handler([this, &request, &reply] { handler_(std::move(*request), std::move(reply)); }))
      reply.send(plain(503, kStopping));
    // It may have been gone with the last byte of its request, and then no event will tell so.
    connection.look_for_hang_up();
  }

  // Of a connection from before a reload: the authorities of now have the last word.
  std::shared_ptr<const Peer> peer_by_now(const Connection& connection) const {
    if (connection.stream().is_trusted_by(tls_->get())) return connection.peer();
    auto peer = std::make_shared<Peer>(*connection.peer());
    peer->is_revoked = true;
    return peer;
  }

  // False: what is behind the handler may be gone, and nothing was asked.
  template <typename Act>
  bool call_handler(Act act) {
    const std::lock_guard asking(asking_);
    if (is_shut_) return false;
    survives(std::move(act));
    return true;
  }

  void let_in(size_t listener) noexcept {
    for (int i = 0; i < kCallersPerTurn; ++i) {
      tl::expected<AcceptedSocket, AcceptError> accepted = accept_next(listeners_[listener]);
      if (accepted) {
        accept(std::move(*accepted));
        continue;
      }
      if (accepted.error() == AcceptError::Nobody) return;
      const bool is_stuck = accepted.error() == AcceptError::Broken ||
                            (accepted.error() == AcceptError::OutOfFiles && !evict(connections_.next_to_evict()));
      if (is_stuck) return let_rest(listener);
    }
    ready_doors_.push_back(listener);
  }

  void let_rest(size_t listener) {
    if (std::ranges::find(resting_doors_, listener) != resting_doors_.end()) return;
    if (resting_doors_.empty()) rest_ends_ = now_ + kDoorRest;
    resting_doors_.push_back(listener);
  }

  void accept(AcceptedSocket accepted) noexcept {
    const Peer::Transport kind = accepted.peer.transport;
    const ConnectionTable::Place place = connections_.place_for(kind, accepted.share);
    if (place.is_refused) return;
    evict(place.leaves);
    const uint64_t id = next_connection_++;
    const bool is_in = survives([this, &accepted, kind, id] {
      Stream stream =
          kind == Peer::Transport::Tls ? Stream(std::move(accepted.fd), tls_->get()) : Stream(std::move(accepted.fd));
      Connection connection(id, std::move(stream), std::move(accepted.peer), std::move(accepted.share), now_);
      watch(connections_.add(std::move(connection), kind).fd(), id);
    });
    if (!is_in) return connections_.remove(id);
    attend(id,
           Next::Now);  // its request may be here already, and in a connections it should not lose its place before
                        // that is seen
  }

  bool evict(std::optional<uint64_t> id) {
    Connection* connection = id ? connections_.find(*id) : nullptr;
    if (connection == nullptr) return false;
    // An answer that the kernel has already may still be on its way: only who gets none, or takes none, is cut off.
    if (!connection->has_asked() || connection->phase() == Connection::Phase::Sending) connection->abort();
    connections_.remove(*id);
    return true;
  }

  void make_room_for_answers() {
    while (evict(connections_.slowest_reader_over_limit())) {
    }
  }

  void expire() {
    uint64_t count = 0;
    [[maybe_unused]] const ssize_t got = ::read(timer_.get(), &count, sizeof count);
    timer_is_for_ = Time::max();
    if (now_ >= rest_ends_) {
      rest_ends_ = Time::max();
      for (const size_t listener : std::exchange(resting_doors_, {})) ready_doors_.push_back(listener);
    }
    due_ = rest_ends_;
    connections_.each([this](Connection& connection) {
      if (connection.deadline() <= now_) {
        connection.expire(now_);
        put_in_line(connection.id());
      } else {
        due_ = std::min(due_, connection.deadline());
      }
    });
  }

  // Only if it must notify earlier than it will anyway: deadlines mostly move away before they come.
  void set_timer() {
    const Time due = std::min(due_, rest_ends_);
    if (due >= timer_is_for_) return;
    timer_is_for_ = due;
    const auto nanoseconds = std::chrono::nanoseconds(due.time_since_epoch()).count();
    constexpr int64_t kSecond = 1'000'000'000;
    const itimerspec at{.it_interval = {},
                        .it_value = {.tv_sec = nanoseconds / kSecond, .tv_nsec = nanoseconds % kSecond}};
    ::timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &at, nullptr);
  }

  void tell_if_idle() {
    bool is_idle = answers_->is_empty() && ready_.empty();
    connections_.each([&is_idle](Connection& connection) {
      const Connection::Phase phase = connection.phase();
      if (phase == Connection::Phase::Working || phase == Connection::Phase::Sending) is_idle = false;
    });
    const std::lock_guard hold(idle_lock_);
    is_idle_ = is_idle;
    if (is_idle) became_idle_.notify_all();
  }

  const std::vector<ListeningSocket> listeners_;
  const TlsContext* const tls_;
  const http::Handler handler_;
  const std::shared_ptr<NotifyQueue<Answer>> answers_;
  const std::shared_ptr<NotifyQueue<Act>> acts_;
  const UniqueFd timer_;

  RequestReader reader_;
  ConnectionTable connections_;
  uint64_t next_connection_ = kFirstConnection;
  Time now_{};
  std::thread::id thread_;
  std::deque<uint64_t> ready_;            // connections to look after
  std::unordered_set<uint64_t> in_line_;  // who is in ready_
  std::vector<size_t> ready_doors_;       // listeners that may have callers
  std::vector<size_t> resting_doors_;
  Time rest_ends_ = Time::max();
  Time due_ = Time::max();           // not later than the first deadline
  Time timer_is_for_ = Time::max();  // when the timer will notify

  std::atomic<bool> is_draining_ = false;
  std::atomic<Time> last_beat_ = std::chrono::steady_clock::now();
  std::mutex asking_;     // held while the handler, or an act of its, runs
  bool is_shut_ = false;  // guarded by asking_
  std::mutex idle_lock_;
  std::condition_variable became_idle_;
  bool is_idle_ = false;
};

class ReactorWorker final : public EventLoop {
 public:
  ReactorWorker(std::vector<ListeningSocket> listeners, const TlsContext* tls, Handler handler)
      : reactor_(Pistache::Aio::Reactor::create()),
        loop_(std::make_shared<Loop>(std::move(listeners), tls, std::move(handler))) {
    reactor_->init(Pistache::Aio::SyncContext());
    reactor_->addHandler(loop_);
    loop_->watch_all();
    thread_ = std::thread([reactor = reactor_] { reactor->run(); });
  }

  ~ReactorWorker() override {
    loop_->close();
    reactor_->shutdown();
    thread_.join();
  }

  void drain(std::chrono::milliseconds deadline) override { loop_->drain(deadline); }
  void ask_for_beat() override { loop_->ask_for_beat(); }
  Time last_beat() const override { return loop_->last_beat(); }

 private:
  const std::shared_ptr<Pistache::Aio::Reactor> reactor_;
  const std::shared_ptr<Loop> loop_;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<EventLoop> EventLoop::start(std::vector<ListeningSocket> listeners, const TlsContext* tls,
                                            Handler handler) {
  return std::make_unique<ReactorWorker>(std::move(listeners), tls, std::move(handler));
}

}  // namespace nrd::http
