#include "cli/onload/launch.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/cpu_set.h"
#include "base/errno_text.h"
#include "base/json/object.h"
#include "cli/environment.h"
#include "cli/granted_cpus.h"
#include "cli/onload/launch_profiles.h"
#include "cli/onload/preloaded.h"
#include "cli/owner.h"
#include "cli/printer.h"
#include "cli/problem.h"
#include "hw/onload/profiles/preload.h"
#include "hw/onload/profiles/variable.h"

namespace nrd::cli {
namespace {

constexpr long kCreated = 201;
constexpr long kConflict = 409;
constexpr long kUnavailable = 503;
constexpr const char* kPreload = "LD_PRELOAD";
// nrd's default paths, used when nrd is not asked.
constexpr const char* kConfiguredProfiles = "/etc/nrd/onload/profiles";
constexpr const char* kCurrent = "/opt/nrd/onload/current";

std::string value_in(const Environment& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() ? "" : found->second;
}

// One launch: turns the caller's environment into that of the command.
class Launcher {
 public:
  Launcher(const Client& client, const Launch& wanted)
      : client_(client), wanted_(wanted), environment_(own_environment()) {}

  Outcome<> run() {
    TRY(or_stop(check_server(client_), kUsage));
    TRY(set_variables());
    TRY(find_command());
    owner_ = TRY(or_stop(this_process(client_)));
    TRY(create_workload());
    TRY(take_onload());
    TRY(pin());
    return execute();
  }

 private:
  Outcome<> set_variables() {
    for (const std::string& line : wanted_.variables) {
      const size_t equals = line.find('=');
      const std::string name = line.substr(0, equals);
      if (equals == std::string::npos || !profiles::is_name(name)) {
        return stop(kUsage, "-e " + line + ": expected NAME=VALUE");
      }
      environment_[name] = line.substr(equals + 1);
    }
    return {};
  }

  // Searches PATH like a shell.
  Outcome<> find_command() {
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

  Outcome<> create_workload() {
    if (!asks_something(wanted_.workload)) return {};
    const bool is_pooled = asks_for_pooled_cpus(wanted_.workload);
    if (wanted_.workload.cpus.empty() && !is_pooled) {
      return stop(kUsage, "cache ways and frequencies require --cpus, or --pool and --count");
    }
    NewWorkload workload = wanted_.workload;
    // On a Unix socket nrd knows this process.
    if (is_pooled && !client_.is_local()) workload.tasks = {TRY(or_stop(this_pid()))};
    const Result<Answer> answer = client_.post("/v1/workloads", workload_request(workload, owner_));
    if (!answer) return unreachable(answer.error(), "without CPUs, cache ways and frequencies of its own");
    if (answer->status == kCreated) return is_pooled ? set_cpu_variables(*answer) : Outcome<>();
    const bool may_pass = answer->status == kConflict || answer->status == kUnavailable;
    Stop refusal = refusal_of(*answer);
    if (may_pass) refusal.exit = kTryLater;
    return tl::unexpected(std::move(refusal));
  }

  Outcome<> set_cpu_variables(const Answer& answer) {
    const GrantedCpus granted = TRY(granted_cpus(answer));
    cli::set_variables(environment_, granted);
    if (granted.has_scope) run_anywhere_within();
    return {};
  }

  Outcome<> unreachable(const Error& error, const std::string& consequence) {
    if (!wanted_.offline) return stop(kUnreachable, error.message);
    print_error(error.message);
    print_error("starting the command " + consequence);
    return {};
  }

  Outcome<> take_onload() {
    if (!wanted_.onload) return {};
    if (is_privileged_ && wanted_.onload->preload) {
      print_error(program_ + " is setuid or setgid: the dynamic loader does not preload Onload for it");
    }
    // Check that nrd is reachable before allocating anything.
    const Result<Answer> alive = client_.get("/v1/onload/allocations");
    if (!alive) {
      TRY(unreachable(alive.error(), "without an allocation"));
      return take_onload_offline();
    }
    TRY(allocate());
    if (!is_allocated_) return {};
    TRY(check_acceleration());
    return set_profiles({.client = &client_, .folders = {}});
  }

  // Requests the library and the allocation; variables from profiles are evaluated locally.
  Outcome<> allocate() {
    const auto owner = [this](json::Writer& w) { w.raw(owner_); };
    const std::string request = json::text_of({{"owner", owner}, {"preload", wanted_.onload->preload}});
    const Answer answer = TRY(or_stop(client_.post("/v1/onload/allocations", request), kUnreachable));
    if (answer.status == kConflict && wanted_.allow_unaccelerated) {
      print_error(refusal_of(answer).error);
      print_error("starting the command without Onload");
      return {};
    }
    const json::Value allocation = TRY(allocation_in(answer));
    is_allocated_ = true;
    const std::string* library = part(part(allocation, "env"), kPreload).as_string();
    if (library == nullptr) return {};
    TRY(or_stop(check_library(*library)));
    set_preload(*library);
    return {};
  }

  // Merge LD_PRELOAD here: the caller's value may hold any bytes and is not sent to nrd.
  void set_preload(const std::string& library) {
    preload_ = profiles::merge_preload(value_in(environment_, kPreload), library);
  }

  Outcome<> check_acceleration() {
    if (!wanted_.require_accel) return {};
    const json::Value interfaces = TRY(value_of(client_.get("/v1/onload/interfaces")));
    const bool has_one = std::ranges::any_of(interfaces.items(), [](const json::Value& interface) {
      return is_true(interface, "accelerated") || is_true(interface, "af_xdp");
    });
    if (!has_one) return stop(kRefused, "no accelerated interface on this node; see nrdctl onload interfaces");
    // Makes the application's socket(2) fail instead of falling back to the kernel when no stack can be created.
    if (value_in(environment_, "EF_NO_FAIL").empty()) environment_["EF_NO_FAIL"] = "0";
    return {};
  }

  Outcome<> set_profiles(const ProfileSource& source) {
    if (wanted_.onload->profiles.empty()) return {};
    const ProfileResult result =
        TRY(or_stop(evaluate_profiles(source, {.names = wanted_.onload->profiles,
                                               .caller = environment_,
                                               .force = wanted_.onload->force ? Force::Yes : Force::No,
                                               .application = wanted_.command})));
    for (const std::string& warning : result.warnings) print_error(warning);
    for (const auto& [name, value] : result.environment) environment_[name] = value;
    return {};
  }

  Outcome<> take_onload_offline() {
    if (::access("/sys/module/onload", F_OK) != 0) {
      if (!wanted_.allow_unaccelerated) return stop(kRefused, "Onload is not loaded (/sys/module/onload)");
      print_error("Onload is not loaded; starting the command without it");
      return {};
    }
    if (wanted_.require_accel) return stop(kRefused, "--require-accel needs nrd, which is unreachable");
    if (wanted_.onload->preload) {
      const std::string library = library_offline();
      if (library.empty()) return stop(kRefused, std::string(kCurrent) + " has no libonload.so");
      set_preload(library);
    }
    return set_profiles(
        {.client = nullptr, .folders = {kConfiguredProfiles, std::string(kCurrent) + "/usr/libexec/onload/profiles"}});
  }

  static std::string library_offline() {
    for (const char* folder : {"/usr/lib/x86_64-linux-gnu", "/usr/lib64"}) {
      const std::string library = std::string(kCurrent) + folder + "/libonload.so";
      if (::access(library.c_str(), R_OK) == 0) return library;
    }
    return {};
  }

  Outcome<> pin() {
    if (wanted_.workload.cpus.empty()) return {};
    const Result<CpuSet> cpus = CpuSet::parse(wanted_.workload.cpus);
    if (!cpus) return stop(kUsage, "--cpus: " + cpus.error().message);
    if (set_affinity(*cpus) == 0) return {};
    return stop(kRefused, "the command cannot run on CPU " + wanted_.workload.cpus + ": " + errno_text());
  }

  Outcome<> execute() {
    if (!preload_.empty()) environment_[kPreload] = preload_;
    std::vector<std::string> words = wanted_.command;
    std::vector<std::string> lines = lines_of(environment_);
    const auto pointers = [](std::vector<std::string>& texts) {
      std::vector<char*> all;
      for (std::string& text : texts) all.push_back(text.data());
      all.push_back(nullptr);
      return all;
    };
    ::execvpe(program_.c_str(), pointers(words).data(), pointers(lines).data());
    return stop(kNotExecutable, program_ + ": " + errno_text());
  }

  const Client& client_;
  const Launch& wanted_;
  Environment environment_;
  std::string owner_;  // this process as JSON
  std::string program_;
  std::string preload_;  // for the command only: the shell that evaluates profiles runs without Onload
  bool is_privileged_ = false;
  bool is_allocated_ = false;
};

}  // namespace

Outcome<json::Value> allocation_in(const Answer& answer) {
  if (answer.status != kCreated) return tl::unexpected(refusal_of(answer));
  return parsed(answer.body);
}

Outcome<> launch(const Client& client, const Launch& wanted) { return Launcher(client, wanted).run(); }

}  // namespace nrd::cli
