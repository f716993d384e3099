#include "api/http/event_loop.h"

#include <pistache/reactor.h>
#include <sys/timerfd.h>

#include <algorithm>
#include <condition_variable>
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
#include "base/fair_queue.h"
#include "base/invariant.h"
#include "base/log.h"

namespace nrd::http {
namespace {

using namespace std::chrono_literals;
namespace polling = Pistache::Polling;
using Time = Connection::Time;

// Reactor tags of all other descriptors; connection ids start at kFirstConnection.
constexpr uint64_t kAnswersTag = 0;
constexpr uint64_t kTimerTag = 1;
constexpr uint64_t kDeferredTag = 2;
constexpr uint64_t kFirstListener = 3;
constexpr uint64_t kFirstConnection = 1024;

constexpr int kAcceptsPerTurn = 64;
// Turns between two polls of the reactor. A request takes two turns, so a client that pipelines without end gets two
// responses per poll.
constexpr int kTurns = 4;
// Time limit for these turns, so that new connections are accepted in time under load.
constexpr auto kTurnsTime = 10ms;
constexpr auto kAcceptBackoff = 100ms;  // pause of a listener that cannot accept

using Act = std::function<void()>;

// Runs `act` and logs any exception; false if it threw.
template <typename Act>
bool runs_without_exception(Act act) noexcept {
  try {
    act();
    return true;
  } catch (const std::exception& thrown) {
    log::error("REQUEST_LOST",
               "exception while serving a client; the request is answered with 500 or its connection is closed",
               {{"DETAIL", thrown.what()}});
  } catch (...) {
    log::error("REQUEST_LOST",
               "exception while serving a client; the request is answered with 500 or its connection is closed",
               {{"DETAIL", "unknown exception"}});
  }
  return false;
}

}  // namespace

// The reactor's handler. Private functions run on the event loop's thread only.
class EventLoop::Loop final : public Pistache::Aio::Handler {
 public:
  Loop(std::vector<ListeningSocket> listeners, const TlsContext* tls, http::Handler handler)
      : listeners_(std::move(listeners)),
        tls_(tls),
        handler_(std::move(handler)),
        answers_(std::make_shared<NotifyQueue<Answer>>()),
        acts_(std::make_shared<NotifyQueue<Act>>()),
        timer_(::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)) {}

  // Call before the reactor runs.
  void watch_all() {
    watch(answers_->fd(), kAnswersTag);
    watch(acts_->fd(), kDeferredTag);
    watch(timer_.get(), kTimerTag);
    for (size_t i = 0; i < listeners_.size(); ++i) watch(listeners_[i].fd.get(), kFirstListener + i);
  }

  void onReady(const Pistache::Aio::FdSet& events) override {
    now_ = std::chrono::steady_clock::now();
    thread_ = std::this_thread::get_id();
    for (const auto& event : events) record_event(event.getTag().value());
    for (int turn = 0; turn < kTurns && is_in_time() && take_turn(); ++turn) {
    }
    if (has_more_to_do()) answers_->notify();  // continue after polling the reactor
    set_timer();
    last_beat_ = std::chrono::steady_clock::now();
    if (is_draining_) notify_if_idle();
  }

  // Never called: Pistache clones handlers only for multi-threaded reactors.
  std::shared_ptr<Pistache::Aio::Handler> clone() const override {
    INVARIANT(false);
    return nullptr;
  }
  void registerPoller(polling::Epoll& /*poller*/) override {}

  // Called from other threads.
  void drain(std::chrono::milliseconds deadline) {
    is_draining_ = true;
    std::unique_lock hold(idle_lock_);
    is_idle_ = false;  // until the event loop has checked
    answers_->notify();
    became_idle_.wait_for(hold, deadline, [this] { return is_idle_; });
    const std::lock_guard asking(handler_lock_);  // waits for the running handler to return
    is_stopped_ = true;
  }
  void ask_for_beat() { answers_->notify(); }
  Time last_beat() const { return last_beat_; }
  void close() {
    acts_->close();
    answers_->close();
  }

 private:
  struct Answer {
    uint64_t connection = 0;
    std::string bytes;
    bool closes = false;
  };

  void watch(int fd, uint64_t tag) {
    // Edge-triggered: needs no re-arming, and a hang-up does not wake the loop repeatedly during a request.
    reactor()->registerFd(key(), fd, polling::NotifyOn::Read | polling::NotifyOn::Write, polling::Tag(tag),
                          polling::Mode::Edge);
  }

  bool is_in_time() const { return std::chrono::steady_clock::now() - now_ < kTurnsTime; }

  bool has_more_to_do() { return !ready_.empty() || !ready_listeners_.empty() || !answers_->is_empty(); }

  void record_event(uint64_t tag) {
    if (tag == kAnswersTag) {
      answers_->clear();
    } else if (tag == kTimerTag) {
      expire();
    } else if (tag == kDeferredTag) {
      acts_->clear();
      for (const Act& act : acts_->take()) call_handler(act);
    } else if (tag >= kFirstConnection) {
      enqueue(tag);
    } else {
      ready_listeners_.push_back(tag - kFirstListener);
    }
  }

  // At most one queue entry per connection, so that a client gains nothing by sending single bytes.
  void enqueue(uint64_t id) {
    const Connection* connection = connections_.find(id);
    if (connection && queued_.insert(id).second) ready_.push({.client_key = connection->client_key()}, id);
  }

  // False if there was nothing to do.
  bool take_turn() {
    deliver_all();
    const size_t ready = ready_.size();  // connections that become ready meanwhile wait for the next turn
    const std::vector<size_t> listeners = std::exchange(ready_listeners_, {});
    for (size_t i = 0; i < ready && is_in_time(); ++i) {
      const uint64_t id = *ready_.pop();
      queued_.erase(id);
      serve(id, Next::Now);
      deliver_all();
    }
    for (const size_t listener : listeners) accept_pending(listener);
    return ready > 0 || !listeners.empty();
  }

  // Writes posted responses one by one, so that they do not accumulate in memory.
  void deliver_all() {
    for (Answer& answer : answers_->take()) {
      Connection* connection = connections_.find(answer.connection);
      if (connection == nullptr || connection->phase() != Connection::Phase::Working) continue;
      connection->say(std::move(answer.bytes), answer.closes, now_);
      serve(answer.connection, Next::Queued);
    }
  }

  // Now: dispatch a received request at once. Queued: queue it behind other connections, for pipelined requests.
  enum class Next { Now, Queued };

  // An exception closes this connection only.
  void serve(uint64_t id, Next next) noexcept {
    Connection* connection = connections_.find(id);
    if (connection == nullptr) return;
    const bool went_well = runs_without_exception([this, connection, id, next] {
      if (!connection->advance(now_)) enqueue(id);
      if (connection->is_in_progress()) return connection->check_hang_up();
      if (!connection->has_request()) return;
      if (next == Next::Now) return dispatch(*connection);
      enqueue(id);
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
    auto request = read_request(std::move(raw), is_outdated ? reverified_peer(connection) : connection.peer());
    Reply reply([answers = answers_, id = connection.id(), framing, event_loop = thread_](const Response& response) {
      answers->post({.connection = id, .bytes = bytes_of(response, framing), .closes = framing.closes},
                    std::this_thread::get_id() != event_loop);
    });
    constexpr const char* kStopping = "The service is stopping.";
    if (is_draining_) return reply.send(plain(503, kStopping));
    if (!request) return reply.send(plain(request.error().status, request.error().line));
    request->later = [acts = acts_](Act act) { acts->post(std::move(act), true); };
    request->client = {.client_key = connection.client_key(),
                       .is_privileged = connection.peer()->transport == Peer::Transport::Unix,
                       .hung_up = connection.hung_up()};
    // A handler that throws destroys its Reply, which sends a 500.
    if (!call_handler([this, &request, &reply] { handler_(std::move(*request), std::move(reply)); }))
      reply.send(plain(503, kStopping));
    // The client may have hung up right after its request, and no further event would report it.
    connection.check_hang_up();
  }

  // For a connection from before a reload: checks the certificate against the current CA.
  std::shared_ptr<const Peer> reverified_peer(const Connection& connection) const {
    if (connection.stream().is_trusted_by(tls_->get())) return connection.peer();
    auto peer = std::make_shared<Peer>(*connection.peer());
    peer->is_revoked = true;
    return peer;
  }

  // False after drain(): the handler was not called, because its services may be destroyed.
  template <typename Act>
  bool call_handler(Act act) {
    const std::lock_guard asking(handler_lock_);
    if (is_stopped_) return false;
    runs_without_exception(std::move(act));
    return true;
  }

  void accept_pending(size_t listener) noexcept {
    for (int i = 0; i < kAcceptsPerTurn; ++i) {
      tl::expected<AcceptedSocket, AcceptError> accepted = accept_next(listeners_[listener]);
      if (accepted) {
        accept(std::move(*accepted));
        continue;
      }
      if (accepted.error() == AcceptError::WouldBlock) return;
      const bool is_stuck = accepted.error() == AcceptError::Broken ||
                            (accepted.error() == AcceptError::OutOfFiles && !evict(connections_.next_to_evict()));
      if (is_stuck) return back_off(listener);
    }
    ready_listeners_.push_back(listener);
  }

  void back_off(size_t listener) {
    if (std::ranges::find(backed_off_listeners_, listener) != backed_off_listeners_.end()) return;
    if (backed_off_listeners_.empty()) backoff_ends_ = now_ + kAcceptBackoff;
    backed_off_listeners_.push_back(listener);
  }

  void accept(AcceptedSocket accepted) noexcept {
    const Peer::Transport kind = accepted.peer.transport;
    const ConnectionTable::Admission place = connections_.admit(kind, accepted.client_key);
    if (place.is_refused) return;
    evict(place.evicts);
    const uint64_t id = next_connection_++;
    const bool is_in = runs_without_exception([this, &accepted, kind, id] {
      Stream stream =
          kind == Peer::Transport::Tls ? Stream(std::move(accepted.fd), tls_->get()) : Stream(std::move(accepted.fd));
      Connection connection(id, std::move(stream), std::move(accepted.peer), std::move(accepted.client_key), now_);
      watch(connections_.add(std::move(connection), kind).fd(), id);
    });
    if (!is_in) return connections_.remove(id);
    // The request may have arrived already: it is read before the connection can be evicted as idle.
    serve(id, Next::Queued);
  }

  bool evict(std::optional<uint64_t> id) {
    Connection* connection = id ? connections_.find(*id) : nullptr;
    if (connection == nullptr) return false;
    // Reset only connections without a pending response or whose client does not read; the kernel may still be sending
    // to others.
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
    if (now_ >= backoff_ends_) {
      backoff_ends_ = Time::max();
      for (const size_t listener : std::exchange(backed_off_listeners_, {})) ready_listeners_.push_back(listener);
    }
    due_ = backoff_ends_;
    connections_.each([this](Connection& connection) {
      if (connection.deadline() <= now_) {
        connection.expire(now_);
        enqueue(connection.id());
      } else {
        due_ = std::min(due_, connection.deadline());
      }
    });
  }

  // Re-arms only for an earlier deadline: most deadlines are extended before they expire.
  void set_timer() {
    const Time due = std::min(due_, backoff_ends_);
    if (due >= timer_is_for_) return;
    timer_is_for_ = due;
    const auto nanoseconds = std::chrono::nanoseconds(due.time_since_epoch()).count();
    constexpr int64_t kSecond = 1'000'000'000;
    const itimerspec at{.it_interval = {},
                        .it_value = {.tv_sec = nanoseconds / kSecond, .tv_nsec = nanoseconds % kSecond}};
    ::timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &at, nullptr);
  }

  void notify_if_idle() {
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

  ConnectionTable connections_;
  uint64_t next_connection_ = kFirstConnection;
  Time now_{};
  std::thread::id thread_;
  FairQueue<uint64_t> ready_{{}};        // connections to serve, of which clients take turns
  std::unordered_set<uint64_t> queued_;  // ids in ready_
  std::vector<size_t> ready_listeners_;  // listeners with pending connections
  std::vector<size_t> backed_off_listeners_;
  Time backoff_ends_ = Time::max();
  Time due_ = Time::max();           // at or before the first deadline
  Time timer_is_for_ = Time::max();  // when the timer fires

  std::atomic<bool> is_draining_ = false;
  std::atomic<Time> last_beat_ = std::chrono::steady_clock::now();
  std::mutex handler_lock_;  // held while a handler or a deferred function runs
  bool is_stopped_ = false;  // guarded by handler_lock_
  std::mutex idle_lock_;
  std::condition_variable became_idle_;
  bool is_idle_ = false;
};

EventLoop::EventLoop(std::vector<ListeningSocket> listeners, const TlsContext* tls, Handler handler)
    : reactor_(Pistache::Aio::Reactor::create()),
      loop_(std::make_shared<Loop>(std::move(listeners), tls, std::move(handler))) {
  reactor_->init(Pistache::Aio::SyncContext());
  reactor_->addHandler(loop_);
  loop_->watch_all();
  thread_ = std::thread([reactor = reactor_] { reactor->run(); });
}

EventLoop::~EventLoop() {
  loop_->close();
  reactor_->shutdown();
  thread_.join();
}

void EventLoop::drain(std::chrono::milliseconds deadline) { loop_->drain(deadline); }
void EventLoop::ask_for_beat() { loop_->ask_for_beat(); }
Time EventLoop::last_beat() const { return loop_->last_beat(); }

}  // namespace nrd::http
