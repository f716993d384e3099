#include "cli/onload/command_line.h"

#include "base/joined.h"

namespace nrd::cli {
namespace {

void declare_policies(CLI::App& command, OnloadRequest& request) {
  command.add_option("--users", request.users_policy,
                     "how to treat processes that use Onload: fail, wait, term or kill");
  command.add_option("--drain", request.drain_seconds, "seconds to wait for processes to stop using Onload");
  command.add_option("--on-failure", request.on_failure, "what to do if the change fails: rollback or stop");
  command.add_flag("--sfc", request.manages_sfc, "load and unload the sfc network driver together with Onload");
}

void declare_load(CLI::App& command, OnloadRequest& request) {
  command.add_option("--param", request.parameters, "module parameter MODULE.NAME=VALUE; repeatable");
  command.add_option("--control-plane", request.control_plane, "arguments of the control plane server (-K)");
  declare_policies(command, request);
}

// These arguments belong to the control plane server, so declare no options here, not even -h.
void declare_control_plane_args(CLI::App& set, std::string& words) {
  set.set_help_flag("--help", "Print this help message and exit");
  set.allow_extras();
  set.callback([&set, &words] {
    if (set.remaining().empty()) throw CLI::RequiredError("ARGS");
    words = joined(set.remaining(), " ");
  });
}

void declare_onload_verbs(CLI::App& onload, OnloadArguments& a) {
  CLI::App* preflight = onload.add_subcommand("preflight", "check a change and show its steps without applying it");
  preflight->add_option("VERSION", a.request.version, "version to load (default: repeat the last requested change)");
  declare_load(*preflight, a.request);
  CLI::App* drain = onload.add_subcommand("drain", "block new Onload users and stop existing ones");
  drain->add_option("--users", a.request.users_policy,
                    "how to treat processes that use Onload: fail, wait (default), term or kill");
  drain->add_option("--drain", a.request.drain_seconds, "seconds to wait for processes to stop using Onload");
  onload.add_subcommand("undrain", "allow Onload users again");
  onload.add_subcommand("cancel", "cancel a running operation and roll it back")->add_option("ID", a.id)->required();
  CLI::App* set = onload.add_subcommand("set", "change module parameters");
  set->add_option("MODULE", a.module)->required();
  set->add_option("PARAM=VALUE", a.settings)->required();
  set->add_flag("--reload", a.reload, "reload modules if the parameter requires it");
  CLI::App* plane = onload.add_subcommand("controlplane", "show the control plane servers");
  plane->require_subcommand(0, 1);
  declare_control_plane_args(*plane->add_subcommand("set", "ARGS...: set the arguments of the control plane servers"),
                             a.request.control_plane);
  plane->add_subcommand("restart", "stop the control plane servers and let the module start a new one");
}

}  // namespace

void declare_onload(CLI::App& app, OnloadArguments& a) {
  CLI::App* onload = app.add_subcommand("onload", "Onload's kernel modules: versions, upgrades, rollback");
  onload->require_subcommand(0, 1);
  onload->add_subcommand("show", "show requested and actual state");
  onload->add_subcommand("versions", "list installed versions");
  CLI::App* import = onload->add_subcommand("import", "install a version from a directory or tar archive");
  import->add_option("NAME", a.request.version)->required();
  import->add_option("SOURCE", a.source, "path on the node below onload.imports (nrd.toml)")->required();
  CLI::App* load = onload->add_subcommand("load", "load a version or switch to it");
  load->add_option("VERSION", a.request.version)->required();
  declare_load(*load, a.request);
  declare_policies(*onload->add_subcommand("unload", "unload the kernel modules"), a.request);
  onload->add_subcommand("rollback", "return to the previous verified generation")
      ->add_option("--to", a.generation, "generation to return to");
  onload->add_subcommand("freeze", "block changes to Onload")
      ->add_option("--reason", a.reason, "reason shown in the status");
  onload->add_subcommand("thaw", "allow changes again");
  onload->add_subcommand("users", "list processes that use Onload");
  declare_onload_verbs(*onload, a);
  CLI::App* interfaces = onload->add_subcommand("interfaces", "show or configure network interfaces");
  interfaces->add_option("--accelerate", a.interfaces.accelerate, "IF on|off: enable or disable acceleration")
      ->expected(2);
  interfaces->add_option("--afxdp", a.interfaces.afxdp, "IF on|off: register the interface through AF_XDP")
      ->expected(2);
}

Outcome<> execute_onload(const CLI::App& onload, const Client& client, Output output, const OnloadArguments& a) {
  if (onload.got_subcommand("versions")) return show_onload_versions(client, output);
  if (onload.got_subcommand("import")) return import_onload(client, output, a.request.version, a.source);
  if (onload.got_subcommand("load")) return load_onload(client, output, a.request);
  if (onload.got_subcommand("unload")) return unload_onload(client, output, a.request);
  if (onload.got_subcommand("rollback")) return roll_back_onload(client, output, a.generation);
  if (onload.got_subcommand("freeze")) return freeze_onload(client, true, a.reason);
  if (onload.got_subcommand("thaw")) return freeze_onload(client, false, {});
  if (onload.got_subcommand("users")) return show_onload_users(client, output);
  if (onload.got_subcommand("interfaces")) return onload_interfaces(client, output, a.interfaces);
  if (onload.got_subcommand("preflight")) return preflight_onload(client, output, a.request);
  if (onload.got_subcommand("drain")) return drain_onload(client, output, a.request);
  if (onload.got_subcommand("undrain")) return undrain_onload(client, output);
  if (onload.got_subcommand("cancel")) return cancel_onload(client, output, a.id);
  if (onload.got_subcommand("set")) return set_onload_parameters(client, output, a.module, a.settings, a.reload);
  if (!onload.got_subcommand("controlplane")) return show_onload(client, output);
  const CLI::App& plane = *onload.get_subcommand("controlplane");
  if (plane.got_subcommand("set")) return set_control_plane(client, output, a.request.control_plane);
  return plane.got_subcommand("restart") ? restart_control_plane(client, output) : show_control_plane(client, output);
}

}  // namespace nrd::cli
