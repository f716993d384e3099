#include "cli/declare_export.h"

#include <tuple>

#include "cli/export.h"
#include "cli/spared_cpus.h"

namespace nrd::cli {

void declare_launch_options(CLI::App& app, Arguments& a) {
  app.add_option("-e,--env", a.launch.variables, "set an environment variable of the command, NAME=VALUE; repeatable")
      ->allow_extra_args(false);
  app.add_flag("--force-profiles", a.start.force, "profiles override the environment");
  app.add_flag("!--no-preload", a.start.preload, "do not set LD_PRELOAD");
}

void declare_export(CLI::App& app, Arguments& a) {
  CLI::App* exported = app.add_subcommand(
      "export", "print all workloads as a document; with a subcommand, configuration for other programs");
  exported->callback([&a] {  // after that of a subcommand
    if (!a.execute) a.execute = export_workloads;
  });
  exported->require_subcommand(0, 1);
  for (const auto& [name, text, kind] :
       {std::tuple{"systemd", "drop-in that starts a systemd unit with Onload", Kind::Systemd},
        std::tuple{"docker", "arguments for docker run or podman run with Onload", Kind::Docker},
        std::tuple{"cdi", "CDI specification of Onload for /etc/cdi", Kind::Cdi}}) {
    CLI::App* program = declare(*exported, a, name, text, [&a, kind = kind](const Client& client, Output) {
      return emit(client, kind, a.start);
    });
    program->add_option("-p,--profiles", a.profiles, "profiles, comma-separated");
    declare_launch_options(*program, a);
  }
  declare(*exported, a, "unit", "drop-in that starts a service in nrd.slice, where it can have CPUs of pools",
          [&a](const Client&, Output) { return export_unit(a.id); })
      ->add_option("NAME", a.id, "name of the service, such as feed.service")
      ->required();
  declare(*exported, a, "tuned", "tuned profile that keeps other processes off the CPUs of workloads", export_tuned);
  declare(*exported, a, "irqbalance", "line for /etc/default/irqbalance that keeps interrupts off these CPUs",
          export_irqbalance);
}

}  // namespace nrd::cli
