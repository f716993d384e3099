#include "cli/acceleration.h"

#include <tuple>

#include "base/joined.h"
#include "cli/arguments.h"
#include "cli/declare_export.h"
#include "cli/onload/export.h"
#include "cli/onload/launch.h"
#include "cli/onload/onload.h"

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

// Its subcommands.
class OnloadCommands {
 public:
  OnloadCommands(CLI::App& onload, Arguments& a) : onload_(onload), all_(a), a_(a.acceleration->onload) {}

  void declare() {
    declare_default(onload_, all_, execution_of(show_onload));
    add("show", "show requested and actual state", show_onload);
    add("versions", "list installed versions", show_onload_versions);
    CLI::App* import = add("import", "install a version from a directory or tar archive", import_onload);
    import->add_option("NAME", a_.version)->required();
    import->add_option("SOURCE", a_.source, "path on the node below onload.imports (nrd.toml)")->required();
    CLI::App* load = add("load", "load a version or switch to it", load_onload);
    load->add_option("VERSION", a_.version)->required();
    declare_load(*load);
    declare_policies(*add("unload", "unload the kernel modules", unload_onload));
    add("rollback", "return to the previous verified generation", roll_back_onload)
        ->add_option("--to", a_.generation, "generation to return to");
    add("freeze", "block changes to Onload", freeze_onload)
        ->add_option("--reason", a_.reason, "reason shown in the status");
    add("thaw", "allow changes again", thaw_onload);
    add("users", "list processes that use Onload", show_onload_users);
    CLI::App* preflight = add("preflight", "check a change and show its steps without applying it", preflight_onload);
    preflight->add_option("VERSION", a_.version, "version to load (default: repeat the last requested change)")
        ->check(given());
    declare_load(*preflight);
    declare_drain();
    add("cancel", "cancel a running operation and roll it back", cancel_onload)
        ->add_option("ID", a_.operation)
        ->required();
    CLI::App* set = add("set", "change module parameters", set_onload_parameters);
    set->add_option("MODULE", a_.module)->required();
    set->add_option("SETTING", a_.settings, "NAME=VALUE")->required();
    set->add_flag("--reload", a_.reload, "reload modules if the parameter requires it");
    declare_control_plane();
    declare_interfaces();
  }

 private:
  Arguments::Execute execution_of(OnloadCommand command) {
    return [&a = a_, command](const Client& client, Output output) {
      return command(client.naming(onload_option_of), output, a);
    };
  }

  CLI::App* add(const char* name, const char* help, OnloadCommand command) {
    return cli::declare(onload_, all_, name, help, execution_of(command));
  }

  void declare_policies(CLI::App& command) {
    command.add_option("--users", a_.users_policy, "how to treat processes that use Onload: fail, wait, term or kill");
    command.add_option("--drain", a_.drain_seconds, "seconds to wait for processes to stop using Onload");
    command.add_option("--on-failure", a_.on_failure, "what to do if the change fails: rollback or stop");
    command.add_flag("--sfc", a_.manages_sfc, "load and unload the sfc network driver together with Onload");
  }

  void declare_load(CLI::App& command) {
    command.add_option("--param", a_.parameters, "module parameter MODULE.NAME=VALUE; repeatable");
    command.add_option("--control-plane", a_.control_plane, "arguments of the control plane server (-K)");
    declare_policies(command);
  }

  void declare_drain() {
    CLI::App* drain = add("drain", "block new Onload users and stop existing ones", drain_onload);
    drain->add_option("--users", a_.users_policy,
                      "how to treat processes that use Onload: fail, wait (default), term or kill");
    drain->add_option("--drain", a_.drain_seconds, "seconds to wait for processes to stop using Onload");
    add("undrain", "allow Onload users again", undrain_onload);
  }

  void declare_control_plane() {
    CLI::App* plane = onload_.add_subcommand("controlplane", "show the control plane servers");
    declare_default(*plane, all_, execution_of(show_control_plane));
    CLI::App* set = plane->add_subcommand("set", "ARGS...: set the arguments of the control plane servers");
    // These arguments belong to the control plane server, so declare no options here, not even -h.
    set->set_help_flag("--help", "Print this help message and exit");
    set->allow_extras()->fallthrough(false);
    set->callback([&all = all_, &a = a_, set, execute = execution_of(set_control_plane)] {
      if (set->remaining().empty()) throw CLI::RequiredError("ARGS");
      a.control_plane = joined(set->remaining(), " ");
      all.execute = execute;
    });
    cli::declare(*plane, all_, "restart", "stop the control plane servers and let the module start a new one",
                 execution_of(restart_control_plane));
  }

  void declare_interfaces() {
    CLI::App* interfaces = add("interfaces", "show or configure network interfaces", onload_interfaces);
    interfaces->add_option("--accelerate", a_.accelerate, "IF on|off: enable or disable acceleration")->expected(2);
    interfaces->add_option("--afxdp", a_.afxdp, "IF on|off: register the interface through AF_XDP")->expected(2);
  }

  CLI::App& onload_;
  Arguments& all_;
  OnloadArguments& a_;
};

}  // namespace

std::shared_ptr<AccelerationArguments> acceleration_arguments() { return std::make_shared<AccelerationArguments>(); }

void declare_acceleration(CLI::App& app, Arguments& a) {
  CLI::App* onload = app.add_subcommand("onload", "Onload's kernel modules: versions, upgrades, rollback");
  OnloadCommands(*onload, a).declare();
}

void declare_acceleration_exports(CLI::App& exported, Arguments& a) {
  for (const auto& [name, text, kind] :
       {std::tuple{"systemd", "drop-in that starts a systemd unit with Onload", Kind::Systemd},
        std::tuple{"docker", "arguments for docker run or podman run with Onload", Kind::Docker},
        std::tuple{"cdi", "CDI specification of Onload for /etc/cdi", Kind::Cdi}}) {
    CLI::App* program = declare(exported, a, name, text, [&a, as = kind](const Client& client, Output) {
      return print_export(client, as, start_of(a));
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
