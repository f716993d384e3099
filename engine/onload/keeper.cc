#include "engine/onload/keeper.h"

#include <pthread.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "base/guarded.h"
#include "base/log.h"
#include "engine/onload/journey.h"
#include "engine/onload/record.h"
#include "engine/onload/stage.h"
#include "engine/onload/way.h"
#include "engine/onload/words.h"

namespace nrd::onload {
namespace {

constexpr size_t kMostTasks = 64;

Failure busy(const Operation& operation) {
  Error error{ErrorCode::Conflict, {}, "operation " + std::to_string(operation.id) + " is under way", {}, {}, {}};
  error.subject = std::to_string(operation.id);
  return Failure(std::move(error));
}

class ThreadedKeeper final : public Keeper {
 public:
  ThreadedKeeper(Node& node, Ledger ledger, const Clock& clock, KeeperOptions options)
      : node_(node), ledger_(std::move(ledger)), clock_(clock), options_(options) {}

  ~ThreadedKeeper() override {
    {
      const std::lock_guard hold(lock_);
      stopping_ = true;
    }
    wake_.notify_one();
    if (thread_.joinable()) thread_.join();
  }

  Result<void> start(const store::OnloadRecords& records) {
    view_.freeze = {records.frozen, records.reason};
    for (const auto& row : records.generations) {
      Result<Generation> generation = from_record(row);
      if (!generation) return Failure(generation.error());
      view_.generations.push_back(*std::move(generation));
    }
    for (const auto& row : records.operations) {
      Result<Operation> operation = from_record(row);
      if (!operation) return Failure(operation.error());
      view_.operations.push_back(*std::move(operation));
    }
    publish();
    thread_ = std::thread([this] { run(); });
    return {};
  }

  std::shared_ptr<const View> view() const override { return published_.get(); }

  void want(Desired desired, std::optional<uint64_t> if_match, std::function<void(Result<Accepted>)> done) override {
    if (const Operation* operation = running(*view())) return done(busy(*operation));
    submit<Accepted>(std::move(done),
                     [this, desired = std::move(desired), if_match] { return begin(desired, if_match); });
  }

  void roll_back(std::optional<uint64_t> to, std::function<void(Result<Accepted>)> done) override {
    if (const Operation* operation = running(*view())) return done(busy(*operation));
    submit<Accepted>(std::move(done), [this, to] {
      return desired_before(view_, to).and_then([&](const Desired& desired) { return begin(desired, std::nullopt); });
    });
  }

  void set_freeze(Freeze freeze, std::function<void(Result<void>)> done) override {
    submit<void>(std::move(done), [this, freeze = std::move(freeze)] {
      Result<void> stored = ledger_({.freeze = std::pair(freeze.frozen, freeze.reason)});
      if (stored) view_.freeze = freeze;
      publish();
      return stored;
    });
  }

  void find_users(std::function<void(Result<InUse>)> done) override {
    submit<InUse>(std::move(done), [this] { return node_.find_users(); });
  }

  void look(std::function<void(Result<void>)> done) override {
    submit<void>(std::move(done), [this]() -> Result<void> {
      look_now();
      return view_.problem.empty() ? Result<void>() : fail(ErrorCode::Hardware, view_.problem);
    });
  }

  void verify(std::function<void(Result<Verification>)> done) override {
    submit<Verification>(std::move(done), [this] { return verify_now(); });
  }

  void list_versions(std::function<void(Result<std::vector<InstalledVersion>>)> done) override {
    submit<std::vector<InstalledVersion>>(std::move(done), [this] { return node_.versions(); });
  }

  void import(std::string name, std::string source, std::function<void(Result<InstalledVersion>)> done) override {
    submit<InstalledVersion>(std::move(done),
                             [this, name = std::move(name), source = std::move(source)]() -> Result<InstalledVersion> {
                               if (const Operation* operation = running(view_)) return busy(*operation);
                               return node_.import(name, source);
                             });
  }

  void remove_version(std::string name, std::function<void(Result<void>)> done) override {
    submit<void>(std::move(done), [this, name = std::move(name)]() -> Result<void> {
      if (const Operation* operation = running(view_)) return busy(*operation);
      look_now();
      if (const std::optional<std::string> need = need_of(view_, name)) return fail(ErrorCode::Conflict, *need);
      return node_.remove_version(name);
    });
  }

  void read_stacks(std::function<void(Result<std::vector<Stack>>)> done) override {
    submit<std::vector<Stack>>(std::move(done), [this] { return node_.stacks(); });
  }

  void read_interfaces(std::function<void(Result<std::vector<Interface>>)> done) override {
    submit<std::vector<Interface>>(std::move(done), [this] { return node_.interfaces(); });
  }

 private:
  using Steady = std::chrono::steady_clock::time_point;
  enum class Turn { Work, Refuse };
  using Task = std::function<void(Turn)>;

  template <typename T, typename Work>
  void submit(std::function<void(Result<T>)> done, Work work) {
    {
      const std::lock_guard hold(lock_);
      if (!stopping_ && tasks_.size() < kMostTasks) {
        tasks_.push_back([done = std::move(done), work = std::move(work)](Turn turn) {
          done(turn == Turn::Work ? work() : Result<T>(fail(ErrorCode::Busy, "nrd stops")));
        });
        wake_.notify_one();
        return;
      }
    }
    done(fail(ErrorCode::Busy, "too much is asked about Onload at once; try again"));
  }

  void run() noexcept {
    ::pthread_setname_np(::pthread_self(), "nrd-onload");
    see();
    begin_after_start();
    publish();
    for (;;) {
      travel();
      look_now();
      if (pause(options_.look_interval)) break;
    }
    std::deque<Task> left;
    {
      const std::lock_guard hold(lock_);
      left.swap(tasks_);
    }
    for (const Task& task : left) task(Turn::Refuse);
  }

  // Serves tasks meanwhile. True: stopping. A wish that is accepted ends the wait.
  bool pause(std::chrono::milliseconds time) {
    const Steady until = clock_.steady() + time;
    std::unique_lock hold(lock_);
    for (;;) {
      if (stopping_) return true;
      if (!tasks_.empty()) {
        const Task task = std::move(tasks_.front());
        tasks_.pop_front();
        hold.unlock();
        const bool was_running = running(view_) != nullptr;
        task(Turn::Work);
        if (!was_running && running(view_) != nullptr) return false;
        hold.lock();
        continue;
      }
      if (clock_.steady() >= until) return false;
      wake_.wait_until(hold, until);
    }
  }

  void publish() {
    ++view_.revision;
    const Generation* kept = effective(view_);
    view_.door_open = kept != nullptr && kept->desired.state == State::Loaded && running(view_) == nullptr &&
                      view_.drift.empty() && view_.problem.empty() && !last_failed(view_);
    published_.set(std::make_shared<const View>(view_));
  }

  Time now() const { return std::chrono::floor<std::chrono::milliseconds>(clock_.now()); }

  void see() {
    Result<Seen> seen = node_.observe();
    view_.problem = seen ? "" : seen.error().message;
    if (seen) view_.seen = *std::move(seen);
  }

  void look_now() {
    see();
    const std::string before = std::move(view_.drift);
    view_.drift = view_.problem.empty() && running(view_) == nullptr ? drift_of(node_, view_) : "";
    if (!view_.drift.empty() && view_.drift != before) {
      log::warning("ONLOAD_DRIFTED", "Onload is not as its last verified generation wants it", {{"WHAT", view_.drift}});
    }
    publish();
  }

  // After a boot nothing of Onload is there: bring it back. What somebody else has loaded meanwhile is left alone.
  void begin_after_start() {
    const Generation* kept = effective(view_);
    const bool may = options_.at_start == AtStart::Apply && !view_.freeze.frozen && view_.problem.empty();
    if (!may || running(view_) != nullptr || kept == nullptr || kept->desired.state != State::Loaded) return;
    const auto is_ours = [](const auto& entry) { return entry.first != "sfc"; };
    if (std::ranges::any_of(view_.seen.modules, is_ours)) return;
    const Operation operation{.id = next_operation(view_), .generation = kept->number, .started = now()};
    store::OnloadChange change{.operations = {to_record(operation)}};
    forget_oldest(view_, options_.kept, change);
    change.removed_generations.clear();
    if (const Result<void> stored = ledger_(change); !stored) return log_stuck(stored.error());
    drop(view_, change);
    view_.operations.push_back(operation);
  }

  Result<void> check(const Desired& desired, std::optional<uint64_t> if_match) const {
    if (const Operation* operation = running(view_)) return busy(*operation);
    if (view_.freeze.frozen) {
      return fail(ErrorCode::Locked,
                  "Onload is frozen" + (view_.freeze.reason.empty() ? "" : ": " + view_.freeze.reason));
    }
    if (if_match && *if_match != last_generation(view_)) {
      return fail(ErrorCode::Stale, "the last generation is " + std::to_string(last_generation(view_)));
    }
    if (desired.users <= options_.most_forceful) return {};
    return fail_at(ErrorCode::BadRequest, "/users_policy", "this node does not allow it",
                   "up to " + std::string(word_of(options_.most_forceful)) + " (onload.users_policy in nrd.toml)");
  }

  Result<Accepted> begin(const Desired& desired, std::optional<uint64_t> if_match) {
    if (const Result<void> allowed = check(desired, if_match); !allowed) return Failure(allowed.error());
    const Result<Target> target = node_.target_of(desired);
    if (!target) return Failure(target.error());
    look_now();
    if (!view_.problem.empty()) return fail(ErrorCode::Hardware, view_.problem);
    const bool needs_nothing = !next_stage(*target, view_.seen, {.verified = true});
    const Generation* kept = effective(view_);
    const bool is_last = kept != nullptr && kept->number == last_generation(view_);
    if (needs_nothing && is_last && kept->desired == desired && !last_failed(view_)) {
      return Accepted{kept->number, std::nullopt};
    }
    if (!removals(*target, view_.seen).empty() && desired.users == UsersPolicy::Fail) {
      if (const InUse use = node_.find_users(); use.in_use()) {
        return fail(ErrorCode::Conflict, "Onload is in use by " + describe(use) + "; end them, or say users_policy");
      }
    }
    return accept(desired);
  }

  Result<Accepted> accept(const Desired& desired) {
    Generation generation{.number = last_generation(view_) + 1, .desired = desired, .created = now()};
    store::OnloadChange change;
    std::optional<Operation> operation;
    if (desired.state == State::Unmanaged) {
      generation.verdict = Verdict::Verified;
      generation.verified = now();
    } else {
      operation = Operation{.id = next_operation(view_), .generation = generation.number, .started = now()};
      change.operations = {to_record(*operation)};
    }
    change.generations = {to_record(generation)};
    forget_oldest(view_, options_.kept, change);
    if (const Result<void> stored = ledger_(change); !stored) return Failure(stored.error());
    drop(view_, change);
    view_.generations.push_back(generation);
    if (operation) view_.operations.push_back(*operation);
    publish();
    if (!operation) return Accepted{generation.number, std::nullopt};
    return Accepted{generation.number, operation->id};
  }

  // Brings the operation that is under way to its end, if there is one.
  void travel() {
    const Operation* open = running(view_);
    if (open == nullptr) return;
    Operation operation = *open;
    const Result<Way> way = way_of(node_, view_, operation);
    Result<Arrival> arrival = way ? journey().run(operation, *way) : Failure(way.error());
    if (!way) {
      operation.outcome = Outcome::Failed;
      operation.finished = now();
      operation.cause = "version";
      operation.message = way.error().message;
      arrival = record(operation).map([] { return Arrival::Arrived; });
    }
    if (!arrival) {
      // What could not be stored or looked at now is tried again after the next look.
      return log_stuck(arrival.error());
    }
    if (*arrival == Arrival::Interrupted) return;
    log::notice("ONLOAD_OPERATION",
                "operation " + std::to_string(operation.id) + " " + std::string(word_of(operation.outcome)),
                {{"CAUSE", operation.cause}, {"WHY", operation.message}});
  }

  static void log_stuck(const Error& error) {
    log::error("ONLOAD_STUCK", "Onload's operation waits for the next look: " + error.message,
               {{"DETAIL", error.detail}});
  }

  Result<Verification> verify_now() {
    if (const Operation* operation = running(view_)) return busy(*operation);
    const Generation* kept = effective(view_);
    if (kept == nullptr || kept->desired.state != State::Loaded) {
      return fail(ErrorCode::Conflict, "no generation that loads Onload is in force");
    }
    const Result<Target> target = node_.target_of(kept->desired);
    if (!target) return Failure(target.error());
    look_now();
    Verification found{.generation = kept->number, .trouble = std::nullopt};
    if (!view_.drift.empty()) {
      found.trouble = Trouble{"drifted", view_.drift, {}, {}};
    } else if (const Acted verified = node_.verify(*target); !verified) {
      found.trouble = verified.error();
    }
    return found;
  }

  Journey journey() {
    return Journey(
        node_, clock_, [this](const Operation& operation) { return record(operation); },
        [this](std::chrono::milliseconds time) { return pause(time); }, [this] { return view_.freeze.frozen; });
  }

  // The end of an operation and the verdict on its generation are one commit.
  Result<void> record(const Operation& operation) {
    store::OnloadChange change{.operations = {to_record(operation)}};
    const auto found = std::ranges::find(view_.generations, operation.generation, &Generation::number);
    std::optional<Generation> judged;
    if (operation.outcome != Outcome::Running && found != view_.generations.end()) {
      judged = *found;
      if (operation.outcome == Outcome::Succeeded) {
        judged->verdict = Verdict::Verified;
        judged->verified = now();
      } else if (judged->verdict == Verdict::Pending) {
        // One that was verified once stays the one to go back to, even if it did not come up after a boot.
        judged->verdict = Verdict::Failed;
      }
      change.generations = {to_record(*judged)};
    }
    if (Result<void> stored = ledger_(change); !stored) return stored;
    if (judged) *found = *judged;
    view_.operations.back() = operation;
    publish();
    return {};
  }

  Node& node_;
  const Ledger ledger_;
  const Clock& clock_;
  const KeeperOptions options_;
  View view_;  // of the keeper's thread
  Published<View> published_;

  std::mutex lock_;
  std::condition_variable wake_;
  std::deque<Task> tasks_;  // guarded by lock_
  bool stopping_ = false;   // guarded by lock_
  std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<Keeper>> Keeper::start(Node& node, Ledger ledger, const store::OnloadRecords& records,
                                              const Clock& clock, KeeperOptions options) {
  auto keeper = std::make_unique<ThreadedKeeper>(node, std::move(ledger), clock, options);
  if (const Result<void> started = keeper->start(records); !started) return Failure(started.error());
  return keeper;
}

}  // namespace nrd::onload
