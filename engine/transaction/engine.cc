#include "engine/transaction/engine.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "base/fair_queue.h"
#include "base/log.h"
#include "base/published.h"
#include "engine/model/capacity.h"
#include "engine/plan/frequency_governor.h"
#include "engine/transaction/ended.h"
#include "engine/transaction/engine_config.h"
#include "engine/transaction/hotplug_refresh.h"
#include "engine/transaction/transaction.h"

namespace nrd {
namespace {

using Steady = std::chrono::steady_clock::time_point;

// The most commands that one commit carries; bounds how long the first waits for the last.
constexpr size_t kBatchLimit = 64;
constexpr QueueLimits kQueue{.most = 1024, .reserve = 64, .share = 512};  // more are refused at once (ErrorCode::Busy)
// Those that would begin later go back to their lines, so that others and administrators have their turn.
constexpr std::chrono::seconds kBatchTime{1};
constexpr std::chrono::milliseconds kPartitionInterval{500};  // reads one file
constexpr std::chrono::seconds kPartitionRetry{5};            // a repair takes a second or two on a busy host
constexpr std::chrono::seconds kReleaseTime{2};               // at the end, for memory of deleted workloads

struct DryRun {
  Command command;
};

using Request = std::variant<Command, DryRun, IdempotencyKey>;

// In the queue.
struct Waiting {
  Request request;  // a key: find what was created with it
  Callback<Done> done;
  Steady begin_by;
};

// Answers those that have waited too long, or whose client has gone.
void withdraw_late(std::vector<Waiting>& batch, Steady now) {
  std::erase_if(batch, [now](const Waiting& waiting) {
    const bool is_late = waiting.begin_by < now;
    if (!is_late && !waiting.done.client().is_gone()) return false;
    waiting.done(fail(ErrorCode::Busy, is_late ? "the change waited too long and was withdrawn; try again"
                                               : "the client disconnected; the change was withdrawn"));
    return true;
  });
}

// For the engine thread, beside requests for workloads.
struct Job {
  std::function<Result<void>()> work;
  std::function<void(Result<void>)> done;
};

class ThreadedEngine final : public Engine {
 public:
  ThreadedEngine(Hardware& hardware, store::Store& store, const Clock& clock, const EngineConfig& config,
                 EngineOptions options)
      : hardware_(hardware),
        clock_(clock),
        drift_interval_(config.drift_interval),
        tasks_interval_(config.tasks_interval),
        options_(std::move(options)),
        transaction_(hardware, store, clock, config.node, [this] { ring(); }),
        capacity_revision_(clock),
        sampler_(clock, config.usage_interval) {}

  ~ThreadedEngine() override {
    {
      const std::lock_guard hold(lock_);
      stopping_ = true;
    }
    wake_.notify_one();
    if (thread_.joinable()) thread_.join();
    transaction_.stop_memory_changes(clock_.steady() + kReleaseTime);
    sampler_.end();
  }

  // Recovery runs on the engine thread as well: libpqos binds its signal handling to the thread that calls it.
  Result<void> start() {
    std::unique_lock hold(lock_);
    std::optional<Result<void>> recovered;
    thread_ = std::thread([this, &recovered] { run(recovered); });
    started_.wait(hold, [&] { return recovered.has_value(); });
    return *recovered;
  }

  std::shared_ptr<const NodeState> state() const override { return published_.get(); }

  void submit(Command command, Callback<Done> done) override { push(std::move(command), std::move(done)); }

  void dry_run(Command command, Callback<Done> done) override { push(DryRun{std::move(command)}, std::move(done)); }

  void find_created(IdempotencyKey key, Callback<Done> done) override { push(std::move(key), std::move(done)); }

  void record(store::DocumentChange operations, std::function<void(Result<void>)> done) override {
    push({.work = [this,
                   operations = std::move(operations)]() mutable { return transaction_.record(std::move(operations)); },
          .done = std::move(done)});
  }

  void reconfigure(EngineConfig config, ReloadMode mode, std::function<void(Result<void>)> done) override {
    push({.work = [this, config = std::move(config), mode] { return take_config(config, mode); },
          .done = std::move(done)});
  }

  void refresh_cpus() override { ring(); }

  void sample_usage(ClosId clos, Sampler::Done done) override {
    if (sampler_.ask(clos, std::move(done))) ring();
  }

  std::shared_ptr<const UsageSample> last_usage() override {
    bool is_due = false;
    auto last = sampler_.last(is_due);
    if (is_due) ring();
    return last;
  }

  Steady last_beat() const override {
    const Steady since = busy_since_.load();
    return since == Steady{} ? clock_.steady() : since;
  }

 private:
  void push(Job job) {
    {
      const std::lock_guard hold(lock_);
      if (!stopping_) {
        jobs_.push_back(std::move(job));
        wake_.notify_one();
        return;
      }
    }
    job.done(fail(ErrorCode::Busy, "nrd is stopping"));
  }

  void push(Request request, Callback<Done> done) {
    const char* refusal = "nrd is stopping";
    {
      const std::lock_guard hold(lock_);
      if (const Client client = done.client(); !stopping_ && waiting_.has_room_for(client)) {
        waiting_.push(client, {std::move(request), std::move(done), clock_.steady() + options_.begin_deadline});
        wake_.notify_one();
        return;
      }
      if (!stopping_) refusal = "too many changes are waiting; try again";
    }
    done(fail(ErrorCode::Busy, refusal));
  }

  void run(std::optional<Result<void>>& recovered) noexcept {
    ::pthread_setname_np(::pthread_self(), "nrd-engine");
    {
      Result<void> result = transaction_.recover();
      publish();
      const std::lock_guard hold(lock_);
      recovered = std::move(result);
      if (!*recovered) stopping_ = true;
      started_.notify_one();
    }
    begin_intervals();
    std::optional<Steady> next_sample = first_sample();
    for (;;) {
      std::vector<Waiting> batch = next_batch(next_turn(next_sample));
      busy_since_ = clock_.steady();
      if (options_.changed_cpus) hotplug_.note(options_.changed_cpus(), clock_.steady());
      if (hotplug_.is_due(clock_.steady()) || (hotplug_.has_news() && !batch.empty())) serve_hotplug();
      if (transaction_.has_ended_memory_change()) {
        transaction_.finish_memory_changes();
        publish();
      }
      run_jobs();
      if (!batch.empty()) {
        serve(std::move(batch));
      } else if (may_stop()) {
        return;
      }
      if (drift_interval_.count() > 0 && clock_.steady() >= next_look_) {
        transaction_.repair();
        publish();
        next_look_ = clock_.steady() + drift_interval_;
        // It has looked at tasks as well.
        if (transaction_.state().health.hardware_problem.empty()) next_ending_ = clock_.steady() + tasks_interval_;
      }
      if (has_partition() && clock_.steady() >= next_check_) check_partition();
      if (has_tasks() && clock_.steady() >= next_ending_) {
        transaction_.reap_tasks();
        publish();
      }
      if (clock_.steady() >= next_ending_) next_ending_ = clock_.steady() + tasks_interval_;
      if (!next_sample) next_sample = first_sample();
      if (next_sample && clock_.steady() >= *next_sample) {
        next_sample =
            transaction_.govern_frequencies() ? std::optional(clock_.steady() + plan::kSampleInterval) : std::nullopt;
        publish();
      }
      if (sampler_.is_due()) take_sample();
      busy_since_ = Steady{};
    }
  }

  void take_sample() {
    const auto classes = counted_classes(transaction_.state());
    sampler_.take(hardware_.count_usage(classes, sampler_.asked(classes)), transaction_.state().workloads);
  }

  // Wakes the engine thread because work is due earlier than it knows.
  void ring() {
    const std::lock_guard hold(lock_);
    is_rung_ = true;
    wake_.notify_one();
  }

  // Not before all that was accepted has been answered, also what came while the thread was busy.
  bool may_stop() {
    const std::lock_guard hold(lock_);
    return stopping_ && jobs_.empty() && waiting_.empty();
  }

  // Without monitored CPUs there is no deadline.
  std::optional<Steady> first_sample() const {
    return monitored_cpus(transaction_.state().workloads).empty() ? std::nullopt : std::optional(clock_.steady());
  }

  bool has_tasks() const { return tasks_interval_.count() > 0 && names_tasks(transaction_.state()); }

  bool has_partition() const { return transaction_.state().config->confinement == Confinement::Partition; }

  // Other software can invalidate it at any time, without a notification.
  void check_partition() {
    const bool has_changed = transaction_.note_partition();
    if (has_changed) publish();  // before the repair, which takes a while
    // The cause may have ended without a change of the file.
    if (has_changed || (transaction_.has_invalid_partition() && clock_.steady() >= next_retry_)) {
      transaction_.repair();
      publish();
      next_retry_ = clock_.steady() + kPartitionRetry;
    }
    next_check_ = clock_.steady() + kPartitionInterval;
  }

  std::optional<Steady> next_turn(std::optional<Steady> next_sample) const {
    std::optional<Steady> next = sampler_.next();
    const auto also = [&next](Steady turn) { next = next ? std::min(*next, turn) : turn; };
    if (next_sample) also(*next_sample);
    if (drift_interval_.count() > 0) also(next_look_);
    if (has_tasks()) also(next_ending_);
    if (has_partition()) also(next_check_);
    if (const auto refresh = hotplug_.next()) also(*refresh);
    return next;
  }

  std::vector<Waiting> next_batch(std::optional<Steady> until) {
    std::unique_lock hold(lock_);
    const auto is_due = [this] {
      return stopping_ || is_rung_ || !waiting_.empty() || !jobs_.empty() || sampler_.is_due();
    };
    if (until) {
      wake_.wait_until(hold, *until, is_due);
    } else {
      wake_.wait(hold, is_due);
    }
    is_rung_ = false;
    std::vector<Waiting> batch;
    while (!waiting_.empty() && batch.size() < kBatchLimit) {
      batch.push_back(*waiting_.pop());
    }
    return batch;
  }

  void serve_hotplug() {
    const bool is_right = transaction_.serve_hotplug(hotplug_.changed());
    publish();
    hotplug_.completed(is_right, clock_.steady());
  }

  void run_jobs() {
    std::deque<Job> jobs;
    {
      const std::lock_guard hold(lock_);
      jobs.swap(jobs_);
    }
    for (const Job& job : jobs) {
      Result<void> outcome = job.work();
      publish();
      job.done(std::move(outcome));
    }
  }

  void begin_intervals() {
    next_look_ = clock_.steady() + drift_interval_;
    next_ending_ = clock_.steady() + tasks_interval_;
  }

  Result<void> take_config(const EngineConfig& config, ReloadMode mode) {
    TRY(transaction_.reconfigure(config.node, mode));
    if (mode == ReloadMode::Check) return {};
    drift_interval_ = config.drift_interval;
    tasks_interval_ = config.tasks_interval;
    sampler_.set_interval(config.usage_interval);
    begin_intervals();
    return {};
  }

  // The changes share one commit; then come those that ask for their outcome.
  void serve(std::vector<Waiting> batch) {
    const Steady begun = clock_.steady();
    withdraw_late(batch, begun);
    const auto questions = std::stable_partition(batch.begin(), batch.end(), [](const Waiting& waiting) {
      return std::holds_alternative<Command>(waiting.request);
    });
    std::vector<Command> commands;
    for (auto waiting = batch.begin(); waiting != questions; ++waiting)
      commands.push_back(std::get<Command>(std::move(waiting->request)));
    // Also the sign of life for the watchdog.
    const auto may_begin = [this, until = begun + kBatchTime] { return (busy_since_ = clock_.steady()) < until; };
    std::vector<Result<Done>> outcomes = transaction_.apply(commands, may_begin);
    for (size_t i = commands.size(); i < batch.size() && i == outcomes.size(); ++i) {
      if (!may_begin() && i > 0) break;
      const auto* dry = std::get_if<DryRun>(&batch[i].request);
      outcomes.push_back(dry ? transaction_.dry_run(dry->command)
                             : transaction_.find_created(std::get<IdempotencyKey>(batch[i].request)));
    }
    for (size_t i = outcomes.size(); i < commands.size(); ++i) batch[i].request = std::move(commands[i]);
    put_back(batch, outcomes.size());
    const std::shared_ptr<const NodeState> state = publish();
    for (size_t i = 0; i < batch.size(); ++i) {
      if (outcomes[i]) outcomes[i]->state = state;
      batch[i].done(std::move(outcomes[i]));
    }
  }

  void put_back(std::vector<Waiting>& batch, size_t served) {
    const std::lock_guard hold(lock_);
    for (Waiting& waiting : std::span(batch).subspan(served)) {
      const Client client = waiting.done.client();
      waiting_.push(client, std::move(waiting));
    }
    batch.erase(batch.begin() + static_cast<ptrdiff_t>(served), batch.end());
  }

  std::shared_ptr<const NodeState> publish() {
    NodeState next = transaction_.state();
    next.capacity_revision = capacity_revision_.of(capacity_of(next));
    auto state = std::make_shared<const NodeState>(std::move(next));
    published_.set(state);
    if (options_.published) options_.published();
    return state;
  }

  Hardware& hardware_;
  const Clock& clock_;
  std::chrono::milliseconds drift_interval_;  // this and the next are of the engine thread
  std::chrono::milliseconds tasks_interval_;
  const EngineOptions options_;
  Transaction transaction_;
  CapacityRevision capacity_revision_;  // of the engine thread
  Sampler sampler_;
  HotplugRefresh hotplug_;  // this and the next four are of the engine thread
  Steady next_look_{};
  Steady next_ending_{};
  Steady next_check_{};  // of the partition
  Steady next_retry_{};
  Published<NodeState> published_;

  std::mutex lock_;
  std::condition_variable wake_;
  std::condition_variable started_;
  FairQueue<Waiting> waiting_{kQueue};        // guarded by lock_
  std::deque<Job> jobs_;                      // guarded by lock_
  bool is_rung_ = false;                      // guarded by lock_
  bool stopping_ = false;                     // guarded by lock_
  std::atomic<Steady> busy_since_{Steady{}};  // zero: idle, and an idle thread is well
  std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<Engine>> Engine::start(Hardware& hardware, store::Store& store, const Clock& clock,
                                              EngineConfig config, EngineOptions options) {
  auto engine = std::make_unique<ThreadedEngine>(hardware, store, clock, config, std::move(options));
  TRY(engine->start());
  return engine;
}

}  // namespace nrd
