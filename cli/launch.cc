#include "cli/launch.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/cpu_set.h"
#include "base/errno_text.h"
#include "base/task.h"
#include "cli/environment.h"
#include "cli/granted_cpus.h"
#include "cli/owner.h"
#include "cli/printer.h"

namespace nrd::cli {
namespace {

// One launch: turns the caller's environment into that of the command.
class Launcher {
 public:
  Launcher(const Client& client, const Launch& wanted)
      : client_(client), wanted_(wanted), environment_(own_environment()) {}

  OrStop<> run() {
    TRY(or_stop(client_.check_trusted(), kUsage));
    TRY(or_stop(add_variables(environment_, wanted_.variables), kUsage));
    TRY(find_command());
    owner_ = TRY(or_stop(this_process(client_)));
    TRY(create_workload());
    TRY(accelerate());
    TRY(pin());
    return execute();
  }

 private:
  // Searches PATH like a shell.
  OrStop<> find_command() {
    const std::string& name = wanted_.command.front();
    std::string path = value_in(environment_, "PATH");
    if (path.empty()) path = "/usr/local/bin:/usr/bin:/bin";
    bool is_there = false;
    for (size_t at = 0; at <= path.size();) {
      const size_t end = std::min(path.find(':', at), path.size());
      const std::string folder = path.substr(at, end - at);
      const bool is_path = name.find('/') != std::string::npos;
      const std::string file = is_path ? name : (folder.empty() ? "." : folder) + "/" + name;
      struct stat what = {};
      if (::stat(file.c_str(), &what) == 0 && S_ISREG(what.st_mode)) {
        is_there = true;
        if (::access(file.c_str(), X_OK) == 0) {
          program_ = file;
          is_privileged_ = (what.st_mode & (S_ISUID | S_ISGID)) != 0;
          return {};
        }
      }
      if (is_path) break;
      at = end + 1;
    }
    return is_there ? stop(kNotExecutable, name + ": cannot be executed")
                    : stop(kNoSuchCommand, name + ": command not found");
  }

  OrStop<> create_workload() {
    if (!asks_something(wanted_.workload)) return {};
    const bool is_pooled = asks_for_pooled_cpus(wanted_.workload);
    if (wanted_.workload.cpus.empty() && !is_pooled) {
      return stop(kUsage, "cache ways and frequencies require --cpus, or --pool and --count");
    }
    NewWorkload workload = wanted_.workload;
    // On a Unix socket nrd knows this process.
    if (is_pooled && !client_.is_local()) workload.tasks = {TRY(or_stop(this_pid()))};
    const Result<Answer> answer = client_.post("/v1/workloads", workload_request(workload, owner_));
    if (!answer)
      return pass_unreachable(wanted_, answer.error(), "without CPUs, cache ways and frequencies of its own");
    if (answer->status == kCreated) return is_pooled ? set_cpu_variables(*answer) : OrStop<>();
    return tl::unexpected(refusal_of_new(*answer));
  }

  OrStop<> set_cpu_variables(const Answer& answer) {
    const GrantedCpus granted = TRY(granted_cpus(answer));
    set_variables(environment_, granted);
    if (granted.has_scope) run_anywhere_within();
    return {};
  }

  OrStop<> accelerate() {
    if (!wanted_.accelerate) return {};
    preload_ = TRY(wanted_.accelerate({.client = client_,
                                       .wanted = wanted_,
                                       .owner = owner_,
                                       .program = program_,
                                       .is_privileged = is_privileged_,
                                       .environment = environment_}));
    return {};
  }

  OrStop<> pin() {
    if (wanted_.workload.cpus.empty()) return {};
    const Result<CpuSet> cpus = CpuSet::parse(wanted_.workload.cpus);
    if (!cpus) return stop(kUsage, "--cpus: " + cpus.error().message);
    if (set_affinity(*cpus) != 0 && errno != EINVAL)
      return stop(kRefused, errno_text("--cpus: cannot set the CPU affinity"));
    // The kernel leaves out CPUs without an error as long as one is left, and changes nothing otherwise (EINVAL).
    const CpuSet missing = *cpus - affinity_of(0).value_or(*cpus);
    if (missing.empty()) return {};
    run_anywhere_within();
    return stop(
        kRefused,
        fmt::format(
            "--cpus: CPU {} does not exist, is offline, or is outside the cpuset of this process; allowed: CPUs of {}",
            missing.to_string(), affinity_of(0).value_or(CpuSet()).to_string()));
  }

  OrStop<> execute() {
    if (!preload_.empty()) environment_[kPreload] = preload_;
    std::vector<std::string> words = wanted_.command;
    std::vector<std::string> lines = lines_of(environment_);
    ::execvpe(program_.c_str(), pointers_to(words).data(), pointers_to(lines).data());
    return stop(kNotExecutable, errno_text(program_));
  }

  const Client& client_;
  const Launch& wanted_;
  Environment environment_;
  std::string owner_;  // this process as JSON
  std::string program_;
  std::string preload_;  // for the command only: what prepares it runs without
  bool is_privileged_ = false;
};

}  // namespace

OrStop<> pass_unreachable(const Launch& wanted, const Error& error, const std::string& consequence) {
  if (!wanted.offline) return stop(kUnreachable, error.message);
  print_error(error.message);
  print_error("starting the command " + consequence);
  return {};
}

OrStop<> launch(const Client& client, const Launch& wanted) { return Launcher(client, wanted).run(); }

}  // namespace nrd::cli
