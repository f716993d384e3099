#include "daemon/declared_workloads.h"

#include <pthread.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <utility>

#include "api/auth/root_owned_file.h"
#include "api/rmd/case_insensitive_keys.h"
#include "api/v1/parse_workload.h"
#include "base/log.h"
#include "engine/workload_service.h"

namespace nrd::daemon {
namespace {

constexpr const char* kOrigin = "FILE";
constexpr size_t kMostFiles = 4096;
constexpr size_t kFileLimit = size_t{1} << 20;
constexpr size_t kAtOnce = 64;  // requests that the engine may commit together
constexpr std::chrono::seconds kRetry{30};

std::string line_of(const Error& error) {
  return (error.field.empty() ? "" : error.field + ": ") + error.message +
         (error.allowed.empty() ? "" : "; allowed: " + error.allowed);
}

// Clients see problems, but not where files are.
std::string without_folder(std::string message, const std::string& directory) {
  if (message.starts_with(directory + "/")) message.erase(0, directory.size() + 1);
  return message;
}

void add_file(const std::string& directory, const std::string& name, const Result<std::string>& text,
              DeclaredFiles& found) {
  const auto documents =
      text.and_then([&name](const std::string& content) { return tree::read_documents(content, name); });
  if (!documents) {
    found.problems.push_back(without_folder(documents.error().message, directory));
    found.is_complete = false;
    return;
  }
  for (const tree::Document& document : *documents) {
    const auto [known, is_new] = found.documents.emplace(document.id, document);
    if (is_new) continue;
    found.problems.push_back(document.place + ": " + document.id + " is already declared in " + known->second.place);
  }
}

// Waits until a number of answers have arrived.
class Answers {
 public:
  explicit Answers(size_t expected) : missing_(expected) {}
  void arrived() {
    const std::lock_guard hold(lock_);
    if (--missing_ == 0) done_.notify_all();
  }
  void wait() {
    std::unique_lock hold(lock_);
    done_.wait(hold, [this] { return missing_ == 0; });
  }

 private:
  std::mutex lock_;
  std::condition_variable done_;
  size_t missing_;
};

Result<WorkloadReplacement> replacement_of(const tree::Document& document, const NodeState& state) {
  const json::Value body = TRY(rmd::with_canonical_keys(document.body));
  for (const char* process : {"owner", "task_ids"}) {
    if (body.find(process)) {
      return fail_at(ErrorCode::BadRequest, std::string("/") + process,
                     "a declared workload cannot depend on processes, which do not survive a boot", "core_ids");
    }
  }
  WorkloadReplacement replacement{.workload = {}, .origin = kOrigin};
  replacement.workload = TRY(v1::parse_replacement(body, state, document.id));
  return replacement;
}

Requester nrd_requester() {
  Requester who{.client = nrd_itself()};
  who.later = [](const std::function<void()>& function) { function(); };
  return who;
}

// Deletes the workloads that no file declares any more.
void remove_undeclared(Engine& engine, const DeclaredFiles& files) {
  std::vector<WorkloadId> undeclared;
  const auto state = engine.state();
  for (const auto& [id, workload] : state->workloads) {
    if (workload.origin == kOrigin && !files.documents.contains(id_text(workload))) undeclared.push_back(id);
  }
  const auto answers = std::make_shared<Answers>(undeclared.size());
  if (undeclared.empty()) return;
  for (const WorkloadId id : undeclared) {
    engine.submit(DeleteWorkload{id}, [answers, id](const Outcome& outcome) {
      if (outcome) {
        log::notice("DECLARED_DELETED", "deleted a workload that no file declares any more",
                    {{"WORKLOAD", id_text(outcome->workload)}});
      } else if (outcome.error().code != ErrorCode::NotFound) {
        log::warning("DECLARED_NOT_DELETED",
                     "cannot delete a workload that no file declares; will retry at the next reload",
                     {{"WORKLOAD", std::to_string(id.value)}, {"DETAIL", line_of(outcome.error())}});
      }
      answers->arrived();
    });
  }
  answers->wait();
}

// By id: why a document was refused.
class Refusals {
 public:
  void add(const tree::Document& document, const Error& error) {
    const std::lock_guard hold(lock_);
    refused_[document.id] = document.place + ": workload " + document.id + ": " + line_of(error);
  }
  std::map<std::string, std::string> take() {
    const std::lock_guard hold(lock_);
    return std::move(refused_);
  }

 private:
  std::mutex lock_;
  std::map<std::string, std::string> refused_;
};

using Documents = std::map<std::string, tree::Document>;

// The next kAtOnce documents.
void put_some(const NodeState& state, const WorkloadService& workloads, Documents::const_iterator& next,
              const Documents::const_iterator& end, const std::shared_ptr<Refusals>& refusals) {
  std::vector<std::pair<tree::Document, WorkloadReplacement>> batch;
  for (; next != end && batch.size() < kAtOnce; ++next) {
    Result<WorkloadReplacement> replacement = replacement_of(next->second, state);
    if (replacement) {
      batch.emplace_back(next->second, *std::move(replacement));
    } else {
      refusals->add(next->second, replacement.error());
    }
  }
  if (batch.empty()) return;
  const auto answers = std::make_shared<Answers>(batch.size());
  for (const auto& entry : batch) {
    const auto answer = [answers, refusals, document = entry.first](const Result<Changed>& made) {
      if (!made) refusals->add(document, made.error());
      if (made && made->done.is_new) {
        log::notice("DECLARED_CREATED", "created a declared workload",
                    {{"WORKLOAD", document.id}, {"FILE", document.place}});
      }
      answers->arrived();
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
  const auto names = folder.and_then([](const auto& open) { return open.names(kMostFiles); });
  if (!names) {
    found.problems.push_back(names.error().message);
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

void DeclaredWorkloads::reload() {
  const std::lock_guard hold(lock_);
  ++asked_;
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
}

void DeclaredWorkloads::run() noexcept {
  ::pthread_setname_np(::pthread_self(), "nrd-declared");
  while (await_work()) apply();
}

// False: stop.
bool DeclaredWorkloads::await_work() {
  std::unique_lock hold(lock_);
  const bool has_open = !refused_.empty();
  const auto is_due = [&] {
    return stopping_ || asked_ > applied_ || (has_open && engine_.state()->revision != seen_revision_);
  };
  if (has_open) {
    wake_.wait_for(hold, kRetry, is_due);
  } else {
    wake_.wait(hold, is_due);
  }
  return !stopping_;
}

void DeclaredWorkloads::apply() {
  uint64_t asked = 0;
  {
    const std::lock_guard hold(lock_);
    asked = asked_;
  }
  DeclaredFiles files = read_declared(directory_);
  if (files.is_complete) remove_undeclared(engine_, files);
  const auto refusals = std::make_shared<Refusals>();
  const auto revision = engine_.state()->revision;
  for (auto next = files.documents.cbegin(); next != files.documents.cend();) {
    put_some(*engine_.state(), workloads_, next, files.documents.cend(), refusals);
  }
  report(files.documents.size(), refusals->take(), std::move(files.problems));
  const std::lock_guard hold(lock_);
  // If this pass has changed anything, what was refused may fit now.
  seen_revision_ = revision;
  applied_ = asked;
  wake_.notify_all();
}

// Each reason is logged once.
void DeclaredWorkloads::report(size_t declared, std::map<std::string, std::string> refused,
                               std::vector<std::string> problems) {
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
  log::info("DECLARED_APPLIED", std::to_string(declared) + " workloads declared in files, " +
                                    std::to_string(refused.size()) + " not granted");
  refused_ = std::move(refused);
  problems_.set(std::make_shared<const std::vector<std::string>>(std::move(problems)));
}

}  // namespace nrd::daemon
