// Workloads that files declare (api/tree/documents.h), with origin FILE: created at start, changed and deleted when the
// files are read again. Applying the same files changes nothing.
//
// A document that is refused blocks no other; it is tried again when other workloads have changed, at most every
// two seconds, and each half minute. While a file cannot be read, no workload is deleted, because the file may declare
// it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "api/tree/documents.h"
#include "api/v1/config.h"
#include "base/published.h"
#include "base/result.h"
#include "engine/model/workloads.h"

namespace nrd {
class Engine;
class WorkloadService;
}  // namespace nrd

namespace nrd::daemon {

struct DeclaredFiles {
  std::map<std::string, tree::Document> documents;  // by id
  std::vector<std::string> problems;                // of files, and of ids declared twice
  bool is_complete = true;                          // every file was read
};

// A directory that does not exist declares nothing. It and its files must be owned and writable by root only.
DeclaredFiles read_declared(const std::string& directory);

class DeclaredWorkloads {
 public:
  // Both must outlive this.
  DeclaredWorkloads(std::string directory, Engine& engine, const WorkloadService& workloads);
  ~DeclaredWorkloads() { stop(); }
  DeclaredWorkloads(const DeclaredWorkloads&) = delete;

  // nullopt: not yet, and `problems` will have what is refused.
  using Applied = std::function<void(const std::optional<v1::DeclaredReport>&)>;
  // Reads the files again, in the background; `done`, if any, is called there, or by stop(). Any thread.
  void reload(Applied done = {});
  // Waits until what was requested has been applied once.
  void wait(std::chrono::seconds longest);
  // Other workloads may have changed. Any thread, never blocks.
  void note_change();
  void stop();

  // What is declared and not granted, one sentence each. Any thread.
  std::shared_ptr<const std::vector<std::string>> problems() const { return problems_.get(); }

 private:
  struct Waiting {
    uint64_t ticket;  // of asked_
    std::chrono::steady_clock::time_point until;
    Applied done;
  };

  void run() noexcept;
  bool await_work();
  bool is_stopping();
  void apply();
  void answer(const std::function<bool(const Waiting&)>& is_due, const std::optional<v1::DeclaredReport>& report);
  void answer_late();
  void report(std::map<std::string, std::string> refused, std::vector<std::string> problems);

  const std::string directory_;
  Engine& engine_;
  const WorkloadService& workloads_;
  Published<std::vector<std::string>> problems_;
  std::map<std::string, std::string> refused_;  // by id: the reason that is in the journal

  std::mutex lock_;
  std::condition_variable wake_;
  uint64_t asked_ = 1;        // guarded by lock_, as all of the following
  uint64_t applied_ = 0;      // the value of asked_ when the last pass began
  Workloads seen_workloads_;  // when the last pass began
  std::vector<Waiting> waiting_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace nrd::daemon
