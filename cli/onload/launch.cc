#include "cli/onload/launch.h"

#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>

#include "base/cpu_set.h"
#include "base/errno_text.h"
#include "base/json/reader.h"
#include "base/json/writer.h"
#include "cli/environment.h"
#include "cli/onload/launch_profiles.h"
#include "cli/onload/preloaded.h"
#include "cli/owner.h"
#include "cli/printer.h"
#include "hw/onload/profiles/preload.h"
#include "hw/onload/profiles/variable.h"

namespace nrd::cli {
namespace {

constexpr long kCreated = 201;
constexpr long kOk = 200;
constexpr long kConflict = 409;
constexpr long kUnavailable = 503;
constexpr const char* kPreload = "LD_PRELOAD";
// nrd's default paths, used when nrd is not asked.
constexpr const char* kConfiguredProfiles = "/etc/nrd/onload/profiles";
constexpr const char* kCurrent = "/opt/nrd/onload/current";

int give_up(int exit, const std::string& text) {
  print_error(text);
  return exit;
}

std::string value_in(const Environment& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() ? "" : found->second;
}

// One launch: turns the caller's environment into that of the command.
class Launcher {
 public:
  Launcher(const Client& client, const Launch& wanted)
      : client_(client), wanted_(wanted), environment_(own_environment()) {}

  // Each step returns an exit code, or nothing on success.
  int run() {
    using Step = std::optional<int> (Launcher::*)();
    for (const Step step :
         {&Launcher::check_nrd, &Launcher::set_variables, &Launcher::find_command, &Launcher::find_owner,
          &Launcher::create_workload, &Launcher::take_onload, &Launcher::pin}) {
      if (const std::optional<int> exit = (this->*step)()) return *exit;
    }
    return execute();
  }

 private:
  std::optional<int> check_nrd() {
    const Result<void> may = check_server(client_);
    return may ? std::nullopt : std::optional<int>(give_up(kUsage, may.error().message));
  }

  std::optional<int> set_variables() {
    for (const std::string& line : wanted_.variables) {
      const size_t equals = line.find('=');
      const std::string name = line.substr(0, equals);
      if (equals == std::string::npos || !profiles::is_name(name)) {
        return give_up(kUsage, "-e " + line + ": expected NAME=VALUE");
      }
      environment_[name] = line.substr(equals + 1);
    }
    return std::nullopt;
  }

  // Searches PATH like a shell.
  std::optional<int> find_command() {
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
          return std::nullopt;
        }
      }
      if (is_path) break;
      at = end + 1;
    }
    return is_there ? give_up(kNotExecutable, name + ": cannot be executed")
                    : give_up(kNoSuchCommand, name + ": command not found");
  }

  std::optional<int> find_owner() {
    Result<std::string> owner = this_process(client_);
    if (!owner) return give_up(kRefused, owner.error().message);
    owner_ = *std::move(owner);
    return std::nullopt;
  }

  std::optional<int> create_workload() {
    if (!asks_something(wanted_.workload)) return std::nullopt;
    if (wanted_.workload.cpus.empty()) return give_up(kUsage, "cache ways and frequencies require --cpus");
    const Result<Answer> answer = client_.post("/v1/workloads", workload_request(wanted_.workload, owner_));
    if (!answer) return unreachable(answer.error(), "without cache ways and frequencies of its own");
    if (answer->status == kCreated) return std::nullopt;
    const bool may_pass = answer->status == kConflict || answer->status == kUnavailable;
    return give_up(may_pass ? int{kTryAgain} : int{kRefused}, answer->body);
  }

  std::optional<int> unreachable(const Error& error, const std::string& consequence) {
    print_error(error.message);
    if (!wanted_.offline) return kUnreachable;
    print_error("starting the command " + consequence);
    return std::nullopt;
  }

  std::optional<int> take_onload() {
    if (!wanted_.onload) return std::nullopt;
    if (is_privileged_ && wanted_.onload->preload) {
      print_error(program_ + " is setuid or setgid: the dynamic loader does not preload Onload for it");
    }
    // Check that nrd is reachable before allocating anything.
    const Result<Answer> alive = client_.get("/v1/onload/allocations");
    if (!alive) {
      const std::optional<int> exit = unreachable(alive.error(), "without an allocation");
      return exit ? exit : take_onload_offline();
    }
    if (const std::optional<int> exit = allocate(); exit || !is_allocated_) return exit;
    if (const std::optional<int> exit = check_acceleration()) return exit;
    return set_profiles({.client = &client_, .folders = {}});
  }

  // Requests the library and the allocation; variables from profiles are evaluated locally.
  std::optional<int> allocate() {
    json::Writer w;
    w.begin_object();
    w.key("owner").raw(owner_);
    w.key("preload").boolean(wanted_.onload->preload);
    w.end_object();
    const Result<Answer> answer = client_.post("/v1/onload/allocations", w.take());
    if (!answer) return give_up(kUnreachable, answer.error().message);
    if (answer->status == kConflict && wanted_.allow_unaccelerated) {
      print_error(answer->body);
      print_error("starting the command without Onload");
      return std::nullopt;
    }
    if (answer->status != kCreated) {
      return give_up(answer->status == kUnavailable ? int{kTryAgain} : int{kRefused}, answer->body);
    }
    const Result<json::Value> body = json::parse(answer->body);
    const json::Value* variables = body ? body->find("env") : nullptr;
    if (variables == nullptr) return give_up(kRefused, "the response is not JSON; check that the endpoint is nrd");
    const json::Value* library = variables->find(kPreload);
    is_allocated_ = true;
    if (library == nullptr || library->as_string() == nullptr) return std::nullopt;
    if (const Result<void> may = check_library(*library->as_string()); !may) {
      return give_up(kRefused, may.error().message);
    }
    set_preload(*library->as_string());
    return std::nullopt;
  }

  // Merge LD_PRELOAD here: the caller's value may hold any bytes and is not sent to nrd.
  void set_preload(const std::string& library) {
    preload_ = profiles::merge_preload(value_in(environment_, kPreload), library);
  }

  std::optional<int> check_acceleration() {
    if (!wanted_.require_accel) return std::nullopt;
    const Result<Answer> answer = client_.get("/v1/onload/interfaces");
    if (!answer) return give_up(kUnreachable, answer.error().message);
    if (answer->status != kOk) return give_up(kRefused, answer->body);
    const Result<json::Value> interfaces = json::parse(answer->body);
    if (!interfaces) return give_up(kRefused, "the response is not JSON; check that the endpoint is nrd");
    const auto is_true = [](const json::Value* value) { return value != nullptr && value->as_bool() == true; };
    const bool has_one = std::ranges::any_of(interfaces->items(), [&](const json::Value& interface) {
      return is_true(interface.find("accelerated")) || is_true(interface.find("af_xdp"));
    });
    if (!has_one) return give_up(kRefused, "no accelerated interface on this node; see nrdctl onload interfaces");
    // Makes the application's socket(2) fail instead of falling back to the kernel when no stack can be created.
    if (value_in(environment_, "EF_NO_FAIL").empty()) environment_["EF_NO_FAIL"] = "0";
    return std::nullopt;
  }

  std::optional<int> set_profiles(const ProfileSource& source) {
    if (wanted_.onload->profiles.empty()) return std::nullopt;
    const Result<ProfileResult> result =
        evaluate_profiles(source, {.names = wanted_.onload->profiles,
                                   .caller = environment_,
                                   .force = wanted_.onload->force ? Force::Yes : Force::No,
                                   .application = wanted_.command});
    if (!result) return give_up(kRefused, result.error().message);
    for (const std::string& warning : result->warnings) print_error(warning);
    for (const auto& [name, value] : result->environment) environment_[name] = value;
    return std::nullopt;
  }

  std::optional<int> take_onload_offline() {
    if (::access("/sys/module/onload", F_OK) != 0) {
      if (!wanted_.allow_unaccelerated) return give_up(kRefused, "Onload is not loaded (/sys/module/onload)");
      print_error("Onload is not loaded; starting the command without it");
      return std::nullopt;
    }
    if (wanted_.require_accel) return give_up(kRefused, "--require-accel needs nrd, which is unreachable");
    if (wanted_.onload->preload) {
      const std::string library = library_offline();
      if (library.empty()) return give_up(kRefused, std::string(kCurrent) + " has no libonload.so");
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

  std::optional<int> pin() {
    if (wanted_.workload.cpus.empty()) return std::nullopt;
    const Result<CpuSet> cpus = CpuSet::parse(wanted_.workload.cpus);
    if (!cpus) return give_up(kUsage, "--cpus: " + cpus.error().message);
    const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> mask(CPU_ALLOC(CpuSet::kMaxCpus),
                                                                [](cpu_set_t* set) { CPU_FREE(set); });
    const size_t size = CPU_ALLOC_SIZE(CpuSet::kMaxCpus);
    CPU_ZERO_S(size, mask.get());
    for (const CpuId cpu : cpus->members()) CPU_SET_S(cpu.value, size, mask.get());
    if (::sched_setaffinity(0, size, mask.get()) == 0) return std::nullopt;
    return give_up(kRefused, "the command cannot run on CPU " + wanted_.workload.cpus + ": " + errno_text());
  }

  int execute() {
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
    return give_up(kNotExecutable, program_ + ": " + errno_text());
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

int launch(const Client& client, const Launch& wanted) { return Launcher(client, wanted).run(); }

std::vector<std::string> split_names(const std::string& list) {
  std::vector<std::string> names;
  for (size_t at = 0; at < list.size();) {
    const size_t end = std::min(list.find(',', at), list.size());
    if (end > at) names.push_back(list.substr(at, end - at));
    at = end + 1;
  }
  return names;
}

}  // namespace nrd::cli
