#include "cli/onload/launch.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/json/object.h"
#include "cli/environment.h"
#include "cli/onload/launch_profiles.h"
#include "cli/onload/preloaded.h"
#include "cli/printer.h"
#include "hw/onload/profiles/preload.h"

namespace nrd::cli {
namespace {

// nrd's default paths, used when nrd is not asked.
constexpr const char* kConfiguredProfiles = "/etc/nrd/onload/profiles";
constexpr const char* kCurrent = "/opt/nrd/onload/current";

// The part of one launch that is Onload's.
class OnloadLaunch {
 public:
  OnloadLaunch(const Launching& launch, const OnloadStart& wanted) : launch_(launch), wanted_(wanted) {}

  OrStop<std::string> run() {
    TRY(prepare());
    return preload_;
  }

 private:
  OrStop<> prepare() {
    if (launch_.is_privileged && wanted_.preload) {
      print_error(launch_.program + " is setuid or setgid: the dynamic loader does not preload Onload for it");
    }
    // Check that nrd is reachable before allocating anything.
    const Result<Answer> alive = launch_.client.get("/v1/onload/allocations");
    if (!alive) {
      TRY(pass_unreachable(launch_.wanted, alive.error(), "without an allocation"));
      return take_onload_offline();
    }
    TRY(allocate());
    if (!is_allocated_) return {};
    TRY(check_acceleration());
    return set_profiles({.client = &launch_.client, .folders = {}});
  }

  // Requests the library and the allocation; variables from profiles are evaluated locally.
  OrStop<> allocate() {
    const auto owner = [this](json::Writer& w) { w.raw(launch_.owner); };
    const std::string request = json::document({{"owner", owner}, {"preload", wanted_.preload}});
    const Answer answer = TRY(or_stop(launch_.client.post("/v1/onload/allocations", request), kUnreachable));
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
    preload_ = profiles::merge_preload(value_in(launch_.environment, kPreload), library);
  }

  OrStop<> check_acceleration() {
    if (!wanted_.require_accel) return {};
    const json::Value interfaces = TRY(value_of(launch_.client.get("/v1/onload/interfaces")));
    const bool has_one = std::ranges::any_of(interfaces.items(), [](const json::Value& interface) {
      return is_true(interface, "accelerated") || is_true(interface, "af_xdp");
    });
    if (!has_one) return stop(kRefused, "no accelerated interface on this node; see nrdctl onload interfaces");
    // Makes the application's socket(2) fail instead of falling back to the kernel when no stack can be created.
    if (value_in(launch_.environment, "EF_NO_FAIL").empty()) launch_.environment["EF_NO_FAIL"] = "0";
    return {};
  }

  OrStop<> set_profiles(const ProfileSource& source) {
    if (wanted_.profiles.empty()) return {};
    const auto result = TRY(or_stop(evaluate_profiles(source, {.names = wanted_.profiles,
                                                               .folders = {},
                                                               .caller = launch_.environment,
                                                               .force = wanted_.force ? Force::Yes : Force::No,
                                                               .application = launch_.wanted.command})));
    for (const std::string& warning : result.warnings) print_error(warning);
    for (const auto& [name, value] : result.environment) launch_.environment[name] = value;
    return {};
  }

  OrStop<> take_onload_offline() {
    if (::access("/sys/module/onload", F_OK) != 0) {
      if (!wanted_.allow_unaccelerated) return stop(kRefused, "Onload is not loaded (/sys/module/onload)");
      print_error("Onload is not loaded; starting the command without it");
      return {};
    }
    if (wanted_.require_accel) return stop(kRefused, "--require-accel needs nrd, which is unreachable");
    if (wanted_.preload) {
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

  const Launching& launch_;
  const OnloadStart& wanted_;
  std::string preload_;
  bool is_allocated_ = false;
};

}  // namespace

OrStop<json::Value> allocation_in(const Answer& answer) {
  if (answer.status != kCreated) return tl::unexpected(refusal_of(answer));
  return parsed(answer.body);
}

OrStop<std::string> launch_onload(const Launching& launch, const OnloadStart& wanted) {
  return OnloadLaunch(launch, wanted).run();
}

}  // namespace nrd::cli
