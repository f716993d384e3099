#include "engine/onload/keeper.h"

#include <pthread.h>

#include <algorithm>
#include <thread>

#include "base/guarded.h"
#include "base/log.h"
#include "engine/onload/journey.h"
#include "engine/onload/permission.h"
#include "engine/onload/record.h"
#include "engine/onload/stage.h"
#include "engine/onload/tasks.h"
#include "engine/onload/way.h"
#include "engine/onload/words.h"

namespace nrd::onload {
namespace {

class ThreadedKeeper final : public Keeper {
 public:
  ThreadedKeeper(Node& node, Ledger ledger, const Clock& clock, KeeperOptions options)
      : node_(node),
        clock_(clock),
        options_(options),
        clerk_(node, std::move(ledger), clock, options, published_, [this] {
          if (watch_) watch_->changed();
        }) {}

  ~ThreadedKeeper() override {
    tasks_.stop();
    if (thread_.joinable()) thread_.join();
  }

  Result<void> start(const store::OnloadRecords& records) {
    if (const Result<void> loaded = clerk_.load(records); !loaded) return loaded;
    watch_.emplace(published_, clock_);
    thread_ = std::thread([this] { run(); });
    return {};
  }

  std::shared_ptr<const View> view() const override { return published_.get(); }

  void watch(uint64_t since, std::chrono::seconds wait, Watch::Done done) override {
    watch_->add(since, wait, std::move(done));
  }
  void end_watches() override { watch_->end(); }

  void want(Desired desired, std::optional<uint64_t> if_match, Callback<Accepted> done) override {
    if (const Operation* operation = running(*view())) return done(busy(*operation));
    tasks_.change(std::move(done),
                  [this, desired = std::move(desired), if_match] { return clerk_.begin(desired, if_match); });
  }

  void roll_back(std::optional<uint64_t> to, Callback<Accepted> done) override {
    if (const Operation* operation = running(*view())) return done(busy(*operation));
    tasks_.change(std::move(done), [this, to] { return clerk_.roll_back(to); });
  }

  void amend(Amendment amendment, std::optional<uint64_t> if_match, Callback<Accepted> done) override {
    if (const Operation* operation = running(*view())) return done(busy(*operation));
    tasks_.change(std::move(done),
                  [this, amendment = std::move(amendment), if_match] { return clerk_.amend(amendment, if_match); });
  }

  void foresee(std::optional<Desired> desired, std::optional<uint64_t> if_match, Callback<Foresight> done) override {
    const Question question{std::move(desired), if_match};
    tasks_.read(foresights_, question, std::move(done),
                [this, question] { return clerk_.foresee(question.first, question.second); });
  }

  void drain(Drain how, Callback<Accepted> done) override {
    if (const Operation* operation = running(*view())) return done(busy(*operation));
    tasks_.change(std::move(done), [this, how] { return clerk_.drain(how); });
  }

  void undrain(Callback<Accepted> done) override {
    if (const Operation* operation = running(*view())) return done(busy(*operation));
    tasks_.change(std::move(done), [this] { return clerk_.undrain(); });
  }

  void cancel(uint64_t operation, Callback<Accepted> done) override {
    tasks_.change(std::move(done), [this, operation] { return clerk_.cancel(operation); });
  }

  void restart_control_plane(Callback<Accepted> done) override {
    if (const Operation* operation = running(*view())) return done(busy(*operation));
    tasks_.change(std::move(done), [this] { return clerk_.restart_control_plane(); });
  }

  void set_freeze(Freeze freeze, Callback<void> done) override {
    tasks_.change(std::move(done), [this, freeze = std::move(freeze)] { return clerk_.set_freeze(freeze); });
  }

  void find_users(Callback<InUse> done) override {
    tasks_.read(users_, {}, std::move(done), [this] { return node_.find_users(); });
  }

  void look(Callback<void> done) override {
    tasks_.change(std::move(done), [this]() -> Result<void> {
      clerk_.look();
      return clerk_.view().problem.empty() ? Result<void>() : fail(ErrorCode::Hardware, clerk_.view().problem);
    });
  }

  void verify(Callback<Verification> done) override {
    tasks_.change(std::move(done), [this] { return clerk_.verify(); });
  }

  void list_versions(Callback<std::vector<InstalledVersion>> done) override {
    tasks_.read(versions_, {}, std::move(done), [this] { return node_.versions(); });
  }

  void import(std::string name, std::string source, Callback<InstalledVersion> done) override {
    tasks_.change(std::move(done),
                  [this, name = std::move(name), source = std::move(source)]() -> Result<InstalledVersion> {
                    if (const Operation* operation = running(clerk_.view())) return busy(*operation);
                    return node_.import(name, source);
                  });
  }

  void remove_version(std::string name, Callback<void> done) override {
    tasks_.change(std::move(done), [this, name = std::move(name)]() -> Result<void> {
      if (const Operation* operation = running(clerk_.view())) return busy(*operation);
      clerk_.look();
      if (const std::optional<std::string> need = need_of(clerk_.view(), name)) return fail(ErrorCode::Conflict, *need);
      return node_.remove_version(name);
    });
  }

  void read_stacks(Callback<std::vector<Stack>> done) override {
    tasks_.read(stacks_, {}, std::move(done), [this] { return node_.stacks(); });
  }

  void read_interfaces(Callback<std::vector<Interface>> done) override {
    tasks_.read(interfaces_, {}, std::move(done), [this] { return node_.interfaces(); });
  }

  void set_interface(std::string name, InterfaceSwitch what, Turned to, Callback<Interface> done) override {
    if (const Operation* operation = running(*view())) return done(busy(*operation));
    tasks_.change(std::move(done),
                  [this, name = std::move(name), what, to] { return clerk_.set_interface(name, what, to); });
  }

 private:
  void run() noexcept {
    ::pthread_setname_np(::pthread_self(), "nrd-onload");
    clerk_.see();
    clerk_.configure_after_start();
    clerk_.begin_after_start();
    clerk_.publish();
    for (;;) {
      travel();
      clerk_.look();
      if (pause(options_.look_interval)) break;
    }
    tasks_.refuse_all();
  }

  // Serves tasks meanwhile, in turns: what an operation waits for is looked at after each, although its readers ask
  // without end. True: stopping. A wish that is accepted ends the wait.
  bool pause(std::chrono::milliseconds time) {
    const Tasks::Steady until = clock_.steady() + time;
    do {
      const bool was_running = running(clerk_.view()) != nullptr;
      for (const Tasks::Task& task : tasks_.take(until)) {
        task(tasks_.stopping() ? Tasks::Turn::Refuse : Tasks::Turn::Work);
      }
      if (!was_running && running(clerk_.view()) != nullptr) break;
    } while (!tasks_.stopping() && clock_.steady() < until);
    return tasks_.stopping();
  }

  // Brings the operation that is under way to its end, if there is one.
  void travel() {
    const Operation* open = running(clerk_.view());
    if (open == nullptr) return;
    Operation operation = *open;
    const Result<Way> way = way_of(node_, clerk_.view(), operation);
    Result<Arrival> arrival = way ? journey().run(operation, *way) : Failure(way.error());
    if (!way) {
      operation.outcome = Outcome::Failed;
      operation.finished = clerk_.now();
      operation.cause = "version";
      operation.message = way.error().message;
      arrival = clerk_.record(operation).map([] { return Arrival::Arrived; });
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

  Journey journey() {
    return Journey(
        node_, clock_, [this](const Operation& operation) { return clerk_.record(operation); },
        [this](std::chrono::milliseconds time) { return pause(time); },
        Brakes{.frozen = [this] { return clerk_.view().freeze.frozen; },
               .cancelled = [this] { return is_cancelled(clerk_.view()); }});
  }

  Node& node_;
  const Clock& clock_;
  const KeeperOptions options_;
  Published<View> published_;
  std::optional<Watch> watch_;  // since start()
  Clerk clerk_;                 // of the keeper's thread
  using Question = std::pair<std::optional<Desired>, std::optional<uint64_t>>;
  Tasks::Shared<InUse> users_;
  Tasks::Shared<std::vector<InstalledVersion>> versions_;
  Tasks::Shared<std::vector<Stack>> stacks_;
  Tasks::Shared<std::vector<Interface>> interfaces_;
  Tasks::Shared<Foresight, Question> foresights_;
  Tasks tasks_;
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
