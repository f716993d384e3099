#include "cli/declare_export.h"

#include "cli/acceleration.h"
#include "cli/apply.h"
#include "cli/arguments.h"
#include "cli/printer.h"
#include "cli/spared_cpus.h"
#include "hw/cpuset/types.h"

namespace nrd::cli {
namespace {

// The drop-in that starts a service in nrd.slice.
OrStop<> export_unit(const std::string& service) {
  if (!cpuset::is_unit_name(service) || !service.ends_with(".service"))
    return stop(kUsage, service + " is not the name of a service, such as feed.service");
  print("# /etc/systemd/system/" + service +
        ".d/nrd.conf\n"
        "# To apply it: systemctl daemon-reload, and systemctl restart " +
        service + "\n[Service]\nSlice=nrd.slice\n");
  return {};
}

}  // namespace

void declare_environment(CLI::App& app, Arguments& a) {
  app.add_option("-e,--env", a.launch.variables, "set an environment variable of the command, NAME=VALUE; repeatable")
      ->allow_extra_args(false);
}

void declare_export(CLI::App& app, Arguments& a) {
  CLI::App* exported = app.add_subcommand(
      "export", "print all workloads as a document; with a subcommand, configuration for other programs");
  declare_default(*exported, a, export_workloads);
  declare_acceleration_exports(*exported, a);
  declare(*exported, a, "unit", "drop-in that starts a service in nrd.slice, where it can have CPUs of pools",
          [&a](const Client&, Output) { return export_unit(a.id); })
      ->add_option("NAME", a.id, "name of the service, such as feed.service")
      ->required();
  declare(*exported, a, "tuned", "tuned profile that keeps other processes off the CPUs of workloads", export_tuned);
  declare(*exported, a, "irqbalance", "line for /etc/default/irqbalance that keeps interrupts off these CPUs",
          export_irqbalance);
}

}  // namespace nrd::cli
