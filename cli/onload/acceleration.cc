#include "cli/acceleration.h"

#include <tuple>

#include "cli/arguments.h"
#include "cli/declare_export.h"
#include "cli/onload/command_line.h"
#include "cli/onload/export.h"
#include "cli/onload/follow.h"
#include "cli/onload/launch.h"

namespace nrd::cli {

struct AccelerationArguments {
  OnloadArguments onload;
  std::string profiles;  // comma-separated
  OnloadStart start;
};

namespace {

OnloadStart start_of(const Arguments& a) {
  OnloadStart start = a.acceleration->start;
  start.profiles = words_of(a.acceleration->profiles, ',');
  start.variables = a.launch.variables;
  return start;
}

void declare_profile_options(CLI::App& app, Arguments& a) {
  app.add_flag("--force-profiles", a.acceleration->start.force, "profiles override the environment");
  app.add_flag("!--no-preload", a.acceleration->start.preload, "do not set LD_PRELOAD");
}

}  // namespace

std::shared_ptr<AccelerationArguments> acceleration_arguments() { return std::make_shared<AccelerationArguments>(); }

void declare_acceleration(CLI::App& app, Arguments& a) {
  declare_onload(app, a.acceleration->onload);
  CLI::App* onload = app.get_subcommand("onload");
  onload->callback([&a, onload] {
    a.execute = [&a, onload](const Client& client, Output output) {
      return execute_onload(*onload, client, output, a.acceleration->onload);
    };
  });
}

void declare_acceleration_exports(CLI::App& exported, Arguments& a) {
  for (const auto& [name, text, kind] :
       {std::tuple{"systemd", "drop-in that starts a systemd unit with Onload", Kind::Systemd},
        std::tuple{"docker", "arguments for docker run or podman run with Onload", Kind::Docker},
        std::tuple{"cdi", "CDI specification of Onload for /etc/cdi", Kind::Cdi}}) {
    CLI::App* program = declare(exported, a, name, text, [&a, as = kind](const Client& client, Output) {
      return emit(client, as, start_of(a));
    });
    program->add_option("-p,--profiles", a.acceleration->profiles, "profiles, comma-separated");
    declare_environment(*program, a);
    declare_profile_options(*program, a);
  }
}

CLI::Option* declare_acceleration_of_run(CLI::App& run, Arguments& a) {
  return run
      .add_option("--onload", a.acceleration->profiles,
                  "use Onload, optionally with profiles: --onload or --onload=latency,mine")
      ->expected(0, 1)
      ->default_str("");
}

void declare_acceleration_details(CLI::App& run, Arguments& a, CLI::Option* acceleration) {
  declare_profile_options(run, a);
  CLI::Option* require = run.add_flag("--require-accel", a.acceleration->start.require_accel,
                                      "fail unless an interface is accelerated; never fall back to the kernel")
                             ->needs(acceleration);
  run.add_flag("--allow-unaccelerated", a.acceleration->start.allow_unaccelerated,
               "run without Onload if it is not loaded")
      ->excludes(require);
}

Accelerate acceleration_of(const CLI::App& run, const Arguments& a) {
  if (run.count("--onload") == 0) return {};
  return [start = start_of(a)](const Launching& launch) { return launch_onload(launch, start); };
}

const char* help_of_run() { return "run a command with its own CPUs, cache ways and Onload; released when it exits"; }

std::vector<CompletionSource> acceleration_sources() {
  return {{"onload load", "/v1/onload/versions", {"name"}}, {"onload preflight", "/v1/onload/versions", {"name"}}};
}

std::vector<SupportPage> acceleration_pages() {
  return {{"onload/onload.json", "/v1/onload"},
          {"onload/versions.json", "/v1/onload/versions"},
          {"onload/modules.json", "/v1/onload/modules"},
          {"onload/controlplane.json", "/v1/onload/controlplane"},
          {"onload/generations.json", "/v1/onload/generations"},
          {"onload/operations.json", "/v1/onload/operations"},
          {"onload/users.json", "/v1/onload/users"},
          {"onload/stacks.json", "/v1/onload/stacks"},
          {"onload/interfaces.json", "/v1/onload/interfaces"},
          {"onload/allocations.json", "/v1/onload/allocations"},
          {"onload/profiles.json", "/v1/onload/profiles"}};
}

}  // namespace nrd::cli
