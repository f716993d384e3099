#include "engine/onload/controller.h"

#include <fmt/core.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>

#include "base/log.h"
#include "base/long_poll.h"
#include "base/published.h"
#include "base/work_queue.h"
#include "engine/onload/dry_run.h"
#include "engine/onload/enum_names.h"
#include "engine/onload/next_step.h"
#include "engine/onload/operation_runner.h"
#include "engine/onload/preconditions.h"
#include "engine/onload/rollback_plan.h"

namespace nrd::onload {
namespace {

class ControllerThread final : public Controller {
 public:
  ControllerThread(Host& node, CommitFn commit, const Stored& stored, const Clock& clock, ControllerOptions options)
      : node_(node),
        clock_(clock),
        refresh_interval_(options.refresh_interval),
        planner_(node, std::move(commit), clock, options, published_, [this] { watchers_.notify(); }) {
    planner_.load(stored);
    thread_ = std::thread([this] { run(); });
  }

  ~ControllerThread() override {
    tasks_.stop();
    if (thread_.joinable()) thread_.join();
  }

  std::shared_ptr<const Status> status() const override { return published_.get(); }

  void watch(uint64_t since, std::chrono::seconds wait, Callback<std::shared_ptr<const Status>> done) override {
    const Client client = done.client();
    watchers_.wait(
        client, wait, [this, since] { return status()->revision != since; },
        [this, done = std::move(done)] { done(status()); });
  }
  void end_watches() override { watchers_.stop(); }

  void apply(Spec spec, std::optional<uint64_t> if_match, Callback<Accepted> done) override {
    change_if_idle(std::move(done),
                   [this, spec = std::move(spec), if_match] { return planner_.begin(spec, if_match); });
  }

  void roll_back(std::optional<uint64_t> to, Callback<Accepted> done) override {
    change_if_idle(std::move(done), [this, to] { return planner_.roll_back(to); });
  }

  void patch(SpecPatch patch, std::optional<uint64_t> if_match, Callback<Accepted> done) override {
    change_if_idle(std::move(done),
                   [this, patch = std::move(patch), if_match] { return planner_.patch(patch, if_match); });
  }

  void dry_run(std::optional<Spec> spec, std::optional<uint64_t> if_match, Callback<DryRun> done) override {
    const Question question{std::move(spec), if_match};
    tasks_.read(dry_runs_, question, std::move(done),
                [this, question] { return planner_.dry_run(question.first, question.second); });
  }

  void drain(Drain how, Callback<Accepted> done) override {
    change_if_idle(std::move(done), [this, how] { return planner_.drain(how); });
  }

  void undrain(Callback<Accepted> done) override {
    change_if_idle(std::move(done), [this] { return planner_.undrain(); });
  }

  void cancel(uint64_t operation, Callback<Accepted> done) override {
    tasks_.change(std::move(done), [this, operation] { return planner_.cancel(operation); });
  }

  void restart_control_plane(Callback<Accepted> done) override {
    change_if_idle(std::move(done), [this] { return planner_.restart_control_plane(); });
  }

  void set_freeze(Freeze freeze, Callback<void> done) override {
    tasks_.change(std::move(done), [this, freeze = std::move(freeze)] { return planner_.set_freeze(freeze); });
  }

  void find_users(Callback<InUse> done) override {
    tasks_.read(users_, {}, std::move(done), [this] { return node_.find_users(); });
  }

  void refresh(Callback<void> done) override {
    tasks_.change(std::move(done), [this]() -> Result<void> {
      planner_.refresh();
      return planner_.status().problem.empty() ? Result<void>() : fail(ErrorCode::Hardware, planner_.status().problem);
    });
  }

  void verify(Callback<Verification> done) override {
    tasks_.change(std::move(done), [this] { return planner_.verify(); });
  }

  void set_limits(std::chrono::milliseconds refresh_interval, UsersPolicy most_forceful) override {
    refresh_interval_ = refresh_interval;
    planner_.set_most_forceful(most_forceful);
    // Ends the present pause; if the queue is full, that one ends as planned.
    tasks_.change(Callback<void>([](const Result<void>&) {}), [this]() -> Result<void> {
      is_rescheduled_ = true;
      return {};
    });
  }

  void list_versions(Callback<std::vector<Version>> done) override {
    tasks_.read(versions_, {}, std::move(done), [this] { return node_.versions(); });
  }

  void import(std::string name, std::string source, Callback<Version> done) override {
    tasks_.change(std::move(done), [this, name = std::move(name), source = std::move(source)]() -> Result<Version> {
      if (const Operation* operation = running(planner_.status())) return busy(*operation);
      return node_.import(name, source);
    });
  }

  void remove_version(std::string name, Callback<void> done) override {
    tasks_.change(std::move(done), [this, name = std::move(name)]() -> Result<void> {
      if (const Operation* operation = running(planner_.status())) return busy(*operation);
      planner_.refresh();
      if (const std::optional<std::string> need = need_of(planner_.status(), name))
        return fail(ErrorCode::Conflict, *need);
      return node_.remove_version(name);
    });
  }

  void read_stacks(Callback<std::vector<Stack>> done) override {
    tasks_.read(stacks_, {}, std::move(done), [this] { return node_.stacks(); });
  }

  void read_interfaces(Callback<std::vector<Interface>> done) override {
    tasks_.read(interfaces_, {}, std::move(done), [this] { return node_.interfaces(); });
  }

  void set_interface(std::string name, InterfaceSwitch what, SwitchState to, Callback<Interface> done) override {
    change_if_idle(std::move(done),
                   [this, name = std::move(name), what, to] { return planner_.set_interface(name, what, to); });
  }

 private:
  // Refused at once while an operation runs.
  template <typename T, typename Work>
  void change_if_idle(Callback<T> done, Work work) {
    if (const Operation* operation = running(*status())) return done(busy(*operation));
    tasks_.change(std::move(done), std::move(work));
  }

  void run() noexcept {
    ::pthread_setname_np(::pthread_self(), "nrd-onload");
    planner_.observe();
    planner_.configure_after_start();
    planner_.admit_after_start();
    bool is_restored = false;
    do {
      // First what was interrupted, since it may decide what is in force.
      if (run_operation() == Run::Failed) is_restored = true;
      if (!is_restored && running(planner_.status()) == nullptr) {
        planner_.observe();
        is_restored = begin_after_start();
        run_operation();
      }
      planner_.refresh();
    } while (!pause(refresh_interval_));
    tasks_.refuse_all();
  }

  // Runs queued tasks in batches while waiting, so that the operation gets its turn however many requests arrive. True:
  // stopping. An accepted spec ends the wait.
  bool pause(std::chrono::milliseconds time) {
    const WorkQueue::Steady until = clock_.steady() + time;
    do {
      const bool was_running = running(planner_.status()) != nullptr;
      for (const WorkQueue::Task& task : tasks_.take(until)) {
        task(tasks_.stopping() ? WorkQueue::Turn::Refuse : WorkQueue::Turn::Work);
      }
      if (!was_running && running(planner_.status()) != nullptr) break;
      if (!was_running && std::exchange(is_rescheduled_, false)) break;
    } while (!tasks_.stopping() && clock_.steady() < until);
    return tasks_.stopping();
  }

  // False: try again after the next refresh.
  bool begin_after_start() {
    const Result<void> begun = planner_.begin_after_start();
    if (!begun) log_stuck(begun.error());
    return begun.has_value();
  }

  enum class Run { Failed, Other };

  // Runs the current operation, if any, to its end.
  Run run_operation() {
    const Operation* open = running(planner_.status());
    if (open == nullptr) return Run::Other;
    Operation operation = *open;
    const Result<RollbackPlan> plan = plan_of(node_, planner_.status(), operation);
    Result<RunResult> result = plan ? runner().run(operation, *plan) : Failure(plan.error());
    if (!plan) {
      operation.outcome = Outcome::Failed;
      operation.finished = now(clock_);
      operation.cause = "version";
      operation.message = plan.error().message;
      result = planner_.record(operation).map([] { return RunResult::Finished; });
    }
    if (!result) {
      // If storing or observing failed, retry after the next refresh.
      log_stuck(result.error());
      return Run::Other;
    }
    if (*result == RunResult::Interrupted) return Run::Other;
    log::notice("ONLOAD_OPERATION", fmt::format("operation {} {}", operation.id, json::name_of(operation.outcome)),
                {{"CAUSE", operation.cause}, {"REASON", operation.message}});
    return operation.outcome == Outcome::Failed ? Run::Failed : Run::Other;
  }

  static void log_stuck(const Error& error) {
    log::error("ONLOAD_STUCK", "Onload operation is stuck and will be retried: " + error.message,
               {{"DETAIL", error.detail}});
  }

  OperationRunner runner() {
    return OperationRunner(
        node_, clock_, [this](const Operation& operation) { return planner_.record(operation); },
        [this](std::chrono::milliseconds time) { return pause(time); },
        Cancellation{.frozen = [this] { return planner_.status().freeze.frozen; },
                     .cancelled = [this] { return is_cancelled(planner_.status()); }});
  }

  Host& node_;
  const Clock& clock_;
  std::atomic<std::chrono::milliseconds> refresh_interval_;
  bool is_rescheduled_ = false;  // controller thread only
  Published<Status> published_;
  LongPoll watchers_{"nrd-watch", clock_};
  OperationPlanner planner_;  // controller thread only
  using Question = std::pair<std::optional<Spec>, std::optional<uint64_t>>;
  WorkQueue::Shared<InUse> users_;
  WorkQueue::Shared<std::vector<Version>> versions_;
  WorkQueue::Shared<std::vector<Stack>> stacks_;
  WorkQueue::Shared<std::vector<Interface>> interfaces_;
  WorkQueue::Shared<DryRun, Question> dry_runs_;
  WorkQueue tasks_{"Onload requests"};
  std::thread thread_;
};

}  // namespace

std::unique_ptr<Controller> Controller::start(Host& node, CommitFn commit, const Stored& stored, const Clock& clock,
                                              ControllerOptions options) {
  return std::make_unique<ControllerThread>(node, std::move(commit), stored, clock, options);
}

}  // namespace nrd::onload
