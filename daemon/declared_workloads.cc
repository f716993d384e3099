#include "daemon/declared_workloads.h"

#include <fmt/core.h>
#include <pthread.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <iterator>
#include <latch>
#include <span>
#include <utility>

#include "api/auth/root_owned_file.h"
#include "api/rmd/wire_shape.h"
#include "api/v1/parse_workload.h"
#include "base/find_in.h"
#include "base/log.h"
#include "engine/model/node_state.h"
#include "engine/workload_service.h"

namespace nrd::daemon {
namespace {

constexpr size_t kMostWorkloadFiles = 4096;
constexpr size_t kFileLimit = size_t{1} << 20;
constexpr size_t kAtOnce = 64;  // requests that the engine may commit together
constexpr std::chrono::seconds kRetry{30};
constexpr std::chrono::seconds kPause{2};  // between passes that other changes cause
// systemctl waits 90 s for a reload; a pass takes milliseconds, unless each document waits for systemd.
constexpr std::chrono::seconds kLongestWait{30};

std::string line_of(const Error& error) {
  return (error.field.empty() ? "" : error.field + ": ") + error.message +
         (error.allowed.empty() ? "" : "; allowed: " + error.allowed);
}

// Clients see problems, but not where files are.
std::string why_unread(std::string message, const std::string& directory) {
  if (message.starts_with(directory + "/")) message.erase(0, directory.size() + 1);
  if (message.starts_with(directory + ":")) message.replace(0, directory.size(), "the directory of declared workloads");
  return message + "; until it can be read, no declared workload is deleted";
}

void add_file(const std::string& directory, const std::string& name, const Result<std::string>& text,
              DeclaredFiles& found) {
  const auto documents =
      text.and_then([&name](const std::string& content) { return tree::read_documents(content, name); });
  if (!documents) {
    found.problems.push_back(why_unread(documents.error().message, directory));
    found.is_complete = false;
    return;
  }
  for (const tree::Document& document : *documents) {
    const auto [known, is_new] = found.documents.emplace(document.id, document);
    if (is_new) continue;
    found.problems.push_back(
        fmt::format("{}: {} is already declared in {}", document.place, document.id, known->second.place));
  }
}

Result<WorkloadReplacement> replacement_of(const tree::Document& document, const NodeState& state) {
  const json::Value body = TRY(rmd::with_canonical_keys(document.body));
  for (const char* process : {"owner", "task_ids"}) {
    if (body.find(process)) {
      return fail_at(ErrorCode::BadRequest, std::string("/") + process,
                     "a declared workload cannot depend on processes, which do not survive a boot", "core_ids");
    }
  }
  NewWorkload workload = TRY(v1::parse_replacement(body, state, document.id));
  return WorkloadReplacement{.workload = std::move(workload)};
}

Requester nrd_requester() {
  Requester who{.client = nrd_itself(), .origin = kOriginFile};
  who.later = [](const std::function<void()>& function) { function(); };
  return who;
}

// What a pass does. Answers come from the engine's thread.
class Pass {
 public:
  void count(size_t v1::DeclaredReport::*what) {
    const std::lock_guard hold(lock_);
    ++(report_.*what);
  }
  // Why a document was refused, or its workload not deleted.
  void add(const tree::Document& document, const Error& error) {
    add(document.id, fmt::format("{}: workload {}: {}", document.place, document.id, line_of(error)));
  }
  void add(const std::string& id, std::string reason) {
    const std::lock_guard hold(lock_);
    refused_[id] = std::move(reason);
  }
  std::map<std::string, std::string> take_refused() {
    const std::lock_guard hold(lock_);
    return std::move(refused_);
  }
  v1::DeclaredReport report() {
    const std::lock_guard hold(lock_);
    return report_;
  }

 private:
  std::mutex lock_;
  v1::DeclaredReport report_;
  std::map<std::string, std::string> refused_;  // by id
};

// Whether the document differed from what the workload had.
bool is_changed(const NodeState& before, const Workload& after) {
  const Workload* known = find_in(before.workloads, after.id);
  return known && known->revision != after.revision;
}

// Deletes the workloads that no file declares any more, kAtOnce of them.
void remove_some(Engine& engine, std::span<const WorkloadId> undeclared, const std::shared_ptr<Pass>& pass) {
  const auto answers = std::make_shared<std::latch>(std::ssize(undeclared));
  for (const WorkloadId id : undeclared) {
    engine.submit(DeleteWorkload{id}, [answers, pass, id](const Result<Done>& outcome) {
      if (outcome) {
        log::notice("DECLARED_DELETED", "deleted a workload that no file declares any more",
                    {{"WORKLOAD", id_text(outcome->workload)}});
        pass->count(&v1::DeclaredReport::deleted);
      } else if (outcome.error().code != ErrorCode::NotFound) {
        const std::string number = std::to_string(id.value);
        pass->add(number, fmt::format("workload {}, which no file declares any more, cannot be deleted: {}", number,
                                      line_of(outcome.error())));
      }
      answers->count_down();
    });
  }
  answers->wait();
}

std::vector<WorkloadId> undeclared_in(const NodeState& state, const DeclaredFiles& files) {
  std::vector<WorkloadId> undeclared;
  for (const auto& [id, workload] : state.workloads) {
    if (workload.origin == kOriginFile && !files.documents.contains(id_text(workload))) undeclared.push_back(id);
  }
  return undeclared;
}

using Documents = std::map<std::string, tree::Document>;

// The next kAtOnce documents.
void put_some(const NodeState& state, const WorkloadService& workloads, Documents::const_iterator& next,
              const Documents::const_iterator& end, const std::shared_ptr<Pass>& pass) {
  std::vector<std::pair<tree::Document, WorkloadReplacement>> batch;
  for (; next != end && batch.size() < kAtOnce; ++next) {
    Result<WorkloadReplacement> replacement = replacement_of(next->second, state);
    if (replacement) {
      batch.emplace_back(next->second, *std::move(replacement));
    } else {
      pass->add(next->second, replacement.error());
    }
  }
  if (batch.empty()) return;
  const auto answers = std::make_shared<std::latch>(std::ssize(batch));
  for (const auto& entry : batch) {
    const auto answer = [answers, pass, &state, document = entry.first](const Result<Changed>& made) {
      if (!made) {
        pass->add(document, made.error());
      } else if (made->done.is_new) {
        log::notice("DECLARED_CREATED", "created a declared workload",
                    {{"WORKLOAD", document.id}, {"FILE", document.place}});
        pass->count(&v1::DeclaredReport::created);
      } else if (is_changed(state, made->done.workload)) {
        log::notice("DECLARED_CHANGED", "changed a declared workload as its file does",
                    {{"WORKLOAD", document.id}, {"FILE", document.place}});
        pass->count(&v1::DeclaredReport::changed);
      }
      answers->count_down();
    };
    workloads.put(nrd_requester(), entry.second, answer);
  }
  answers->wait();
}

}  // namespace

DeclaredFiles read_declared(const std::string& directory) {
  DeclaredFiles found;
  struct stat status {};
  if (directory.empty() || (::lstat(directory.c_str(), &status) != 0 && errno == ENOENT)) return found;
  const auto folder = auth::RootOwnedDir::open(directory);
  const auto names = folder.and_then([](const auto& open) { return open.names(kMostWorkloadFiles); });
  if (!names) {
    found.problems.push_back(why_unread(names.error().message, directory));
    found.is_complete = false;
    return found;
  }
  for (const std::string& name : *names) {
    if (tree::is_document(name)) add_file(directory, name, folder->read(name, kFileLimit), found);
  }
  return found;
}

DeclaredWorkloads::DeclaredWorkloads(std::string directory, Engine& engine, const WorkloadService& workloads)
    : directory_(std::move(directory)), engine_(engine), workloads_(workloads) {
  problems_.set(std::make_shared<const std::vector<std::string>>());
  thread_ = std::thread([this] { run(); });
}

void DeclaredWorkloads::reload(Applied done) {
  const std::lock_guard hold(lock_);
  ++asked_;
  if (done) waiting_.push_back({asked_, std::chrono::steady_clock::now() + kLongestWait, std::move(done)});
  wake_.notify_all();
}

void DeclaredWorkloads::note_change() {
  const std::lock_guard hold(lock_);
  wake_.notify_all();
}

void DeclaredWorkloads::wait(std::chrono::seconds longest) {
  std::unique_lock hold(lock_);
  wake_.wait_for(hold, longest, [this, asked = asked_] { return stopping_ || applied_ >= asked; });
}

void DeclaredWorkloads::stop() {
  {
    const std::lock_guard hold(lock_);
    stopping_ = true;
    wake_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
  answer([](const Waiting&) { return true; }, std::nullopt);
}

void DeclaredWorkloads::answer(const std::function<bool(const Waiting&)>& is_due,
                               const std::optional<v1::DeclaredReport>& report) {
  std::vector<Waiting> due;
  {
    const std::lock_guard hold(lock_);
    const auto first =
        std::stable_partition(waiting_.begin(), waiting_.end(), [&](const Waiting& each) { return !is_due(each); });
    due.assign(std::move_iterator(first), std::move_iterator(waiting_.end()));
    waiting_.erase(first, waiting_.end());
  }
  for (const Waiting& each : due) each.done(report);
}

void DeclaredWorkloads::answer_late() {
  answer([now = std::chrono::steady_clock::now()](const Waiting& each) { return each.until < now; }, std::nullopt);
}

void DeclaredWorkloads::run() noexcept {
  ::pthread_setname_np(::pthread_self(), "nrd-declared");
  while (await_work()) apply();
}

// False: stop.
bool DeclaredWorkloads::await_work() {
  std::unique_lock hold(lock_);
  const bool has_open = !refused_.empty();
  const auto is_asked = [this] { return stopping_ || asked_ > applied_; };
  const auto is_due = [&] { return is_asked() || engine_.state()->workloads != seen_workloads_; };
  if (!has_open) {
    wake_.wait(hold, is_asked);
  } else if (!wake_.wait_for(hold, kPause, is_asked)) {
    wake_.wait_for(hold, kRetry, is_due);
  }
  return !stopping_;
}

bool DeclaredWorkloads::is_stopping() {
  const std::lock_guard hold(lock_);
  return stopping_;
}

void DeclaredWorkloads::apply() {
  uint64_t asked = 0;
  bool is_asked = false;
  {
    const std::lock_guard hold(lock_);
    asked = asked_;
    is_asked = asked_ > applied_;
  }
  DeclaredFiles files = read_declared(directory_);
  const auto pass = std::make_shared<Pass>();
  const std::vector<WorkloadId> undeclared =
      files.is_complete ? undeclared_in(*engine_.state(), files) : std::vector<WorkloadId>();
  for (std::span<const WorkloadId> left(undeclared); !left.empty() && !is_stopping();) {
    const size_t some = std::min(left.size(), kAtOnce);
    remove_some(engine_, left.first(some), pass);
    left = left.subspan(some);
    answer_late();
  }
  const Workloads before = engine_.state()->workloads;
  for (auto next = files.documents.cbegin(); next != files.documents.cend() && !is_stopping();) {
    put_some(*engine_.state(), workloads_, next, files.documents.cend(), pass);
    answer_late();
  }
  auto refused = pass->take_refused();
  if (is_asked || refused != refused_) {
    log::info("DECLARED_APPLIED",
              fmt::format("{} workloads declared in files, {} not granted", files.documents.size(), refused.size()));
  }
  report(std::move(refused), std::move(files.problems));
  {
    const std::lock_guard hold(lock_);
    // If this pass has changed anything, what was refused may fit now.
    seen_workloads_ = before;
    applied_ = asked;
    wake_.notify_all();
  }
  v1::DeclaredReport done = pass->report();
  done.problems = *problems();
  answer([asked](const Waiting& each) { return each.ticket <= asked; }, done);
}

// Each reason is logged once.
void DeclaredWorkloads::report(std::map<std::string, std::string> refused, std::vector<std::string> problems) {
  const auto before = problems_.get();
  for (const std::string& problem : problems) {
    if (std::ranges::find(*before, problem) == before->end()) log::error("DECLARED_FILE", problem);
  }
  for (const auto& [id, reason] : refused) {
    const auto known = refused_.find(id);
    if (known == refused_.end() || known->second != reason) {
      log::warning("DECLARED_REFUSED", reason + "; will retry", {{"WORKLOAD", id}});
    }
    problems.push_back(reason);
  }
  refused_ = std::move(refused);
  problems_.set(std::make_shared<const std::vector<std::string>>(std::move(problems)));
}

}  // namespace nrd::daemon
