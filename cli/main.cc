// nrdctl: command-line client of nrd's REST API.
#include <curl/curl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>

#include "base/joined.h"
#include "base/json/writer.h"
#include "base/version.h"
#include "cli/certificates.h"
#include "cli/commands.h"
#include "cli/export.h"
#include "cli/import_rmd/genconf.h"
#include "cli/import_rmd/import_rmd.h"
#include "cli/new_workload.h"
#include "cli/onload/follow.h"
#include "cli/onload/interfaces.h"
#include "cli/onload/launch.h"
#include "cli/onload/onload.h"
#include "cli/password.h"
#include "cli/printer.h"
#include "cli/reset.h"
#include "cli/support_bundle.h"
#include "cli/tls_init.h"
#include "cli/top.h"

namespace {

using namespace nrd::cli;

struct Arguments {
  Reset reset;
  Endpoint to;
  PasswordSource password;
  bool json = false;
  NewWorkload wanted;
  bool is_dry = false;
  uint32_t ways = 0;
  std::string id;
  std::vector<std::string> ids;
  TlsInit tls;
  Genconf genconf;
  ImportRmd import;
  std::string bundle;
  OnloadRequest onload;
  InterfaceArgs interfaces;
  std::string source;
  std::string module;
  std::vector<std::string> settings;
  bool reload = false;
  std::string reason;
  std::optional<uint64_t> generation;
  std::string profiles;  // comma-separated
  OnloadStart start;
  Launch launch;
  bool once = false;  // for top
};

std::string environment(const char* name, const std::string& otherwise = {}) {
  const char* value = std::getenv(name);
  return value == nullptr || *value == '\0' ? otherwise : value;
}

// Read the environment before the flags are parsed: flags override it.
Endpoint endpoint_of_environment() {
  Endpoint to;
  to.socket = environment("NRD_SOCKET", to.socket);
  to.url = environment("NRD_URL");
  to.certificate = environment("NRD_CERT");
  to.key = environment("NRD_KEY");
  to.ca = environment("NRD_CACERT");
  return to;
}

void declare_endpoint(CLI::App& app, Endpoint& to, PasswordSource& password) {
  CLI::Option* socket = app.add_option("--socket", to.socket, "Unix socket of nrd (env NRD_SOCKET)");
  CLI::Option* url =
      app.add_option("--url", to.url, "URL of nrd instead of the socket, https://HOST:8443 (env NRD_URL)");
  socket->capture_default_str();
  url->excludes(socket);
  app.add_option("--cert", to.certificate, "client certificate, PEM (https only; env NRD_CERT)");
  app.add_option("--key", to.key, "private key of --cert, PEM (https only; env NRD_KEY)");
  app.add_option("--cacert", to.ca, "CA that signed nrd's certificate, PEM (https only; env NRD_CACERT)");
  CLI::Option* user =
      app.add_option("--user", to.user, "log in as this user of nrd's host; prompts for the password (https only)");
  CLI::Option* file = app.add_option("--password-file", password.file,
                                     "read the password from the first line of this file (mode 0600)");
  app.add_option("--password-fd", password.fd, "read the password from the first line of this file descriptor")
      ->check(CLI::NonNegativeNumber)
      ->excludes(file)
      ->needs(user);
  file->needs(user);
}

// Reject TLS options that would have no effect with the chosen endpoint.
void check_endpoint(const CLI::App& app, Endpoint& to) {
  if (app.count("--socket") > 0) to.url.clear();
  if (!to.url.empty() && !to.url.starts_with("http://") && !to.url.starts_with("https://")) {
    throw CLI::ValidationError("--url", to.url + " must begin with http:// or https://");
  }
  const bool is_about_tls = app.count("--cert") + app.count("--key") + app.count("--cacert") > 0;
  if (is_about_tls && !to.url.starts_with("https://")) {
    throw CLI::ValidationError("--cert, --key and --cacert", "require --url https://HOST:PORT");
  }
  if (app.count("--user") > 0 && !to.url.starts_with("https://")) {
    throw CLI::ValidationError("--user", "requires --url https://HOST:PORT so that the password is encrypted");
  }
  if (app.count("--user") > 0 && !to.certificate.empty()) {
    throw CLI::ValidationError("--user", "cannot be combined with --cert: nrd would ignore the user");
  }
  if (app.count("--key") > 0 && to.certificate.empty()) {
    throw CLI::ValidationError("--key", "requires --cert");
  }
}

CLI::Option* declare_resource(CLI::App& app, const ResourceOption& each, NewWorkload& wanted) {
  const auto set = [&wanted, &each](const std::string& value) { wanted.resources[each.part][each.member] = value; };
  const char* flag = each.option.flag;
  const char* help = each.option.help;
  switch (each.argument) {
    case ResourceOption::Argument::None:
      return app.add_flag_callback(
          flag, [set, value = each.option.value] { set(value); }, help);
    case ResourceOption::Argument::Number:
      return app.add_option_function<uint32_t>(
          flag, [set](uint32_t number) { set(std::to_string(number)); }, help);
    case ResourceOption::Argument::Text: break;
  }
  return app.add_option_function<std::string>(
      flag, [set](const std::string& text) { set(nrd::json::quoted(text)); }, help);
}

// Options for the resources of a workload and the CPUs it uses.
void declare_resources(CLI::App& app, Arguments& a) {
  app.add_option("--cpus", a.wanted.cpus, "CPU list, such as 4-7,12");
  CLI::Option* ways = app.add_option("--ways", a.ways, "exact number of exclusive L3 cache ways (guarantee)");
  std::map<std::string_view, CLI::Option*> options;
  for (const ResourceOption& each : resource_options()) {
    options[each.option.flag] = declare_resource(app, each, a.wanted);
  }
  for (const char* bound : {"--min", "--max"}) options.at(bound)->excludes(ways);
  options.at("--l2-code-ways")->needs(options.at("--l2-ways"));
  options.at("--mba-mbps")->excludes(options.at("--mba-percentage"));
  for (const char* bound : {"--min-mhz", "--max-mhz"}) {
    options.at(bound)->excludes(options.at("--min-ratio"))->excludes(options.at("--max-ratio"));
  }
  options.at("--adaptive")->check(CLI::PositiveNumber);
  app.add_option("--uuid", a.wanted.uuid, "unique name of your choice for the workload");
}

void declare_workload(CLI::App& app, Arguments& a) {
  CLI::App* workload = app.add_subcommand("workload", "create, list, show and delete workloads")->require_subcommand(1);
  CLI::App* create =
      workload->add_subcommand("create", "assign cache ways, bandwidth and frequencies to CPUs or tasks");
  declare_resources(*create, a);
  create->add_option("--task-ids", a.wanted.tasks, "PIDs (all threads of the process) and TIDs, such as 4711,4712")
      ->delimiter(',');
  create->add_flag("--dry-run", a.is_dry, "show what would be granted and changed without applying it");
  workload->add_subcommand("list", "list all workloads");
  workload->add_subcommand("show", "show one workload")->add_option("ID", a.id)->required();
  workload->add_subcommand("delete", "delete workloads and release their resources")
      ->add_option("ID", a.ids)
      ->required();
}

void declare_launch_options(CLI::App& app, Arguments& a) {
  app.add_option("-e,--env", a.launch.variables, "set an environment variable of the command, NAME=VALUE; repeatable")
      ->allow_extra_args(false);
  app.add_flag("--force-profiles", a.start.force, "profiles override the environment");
  app.add_flag("!--no-preload", a.start.preload, "do not set LD_PRELOAD");
}

void declare_run(CLI::App& app, Arguments& a) {
  CLI::App* run =
      app.add_subcommand("run", "run a command with its own CPUs, cache ways and Onload; released when it exits");
  declare_resources(*run, a);
  CLI::Option* onload =
      run->add_option("--onload", a.profiles, "use Onload, optionally with profiles: --onload or --onload=latency,mine")
          ->expected(0, 1)
          ->default_str("");
  declare_launch_options(*run, a);
  CLI::Option* require = run->add_flag("--require-accel", a.launch.require_accel,
                                       "fail unless an interface is accelerated; never fall back to the kernel")
                             ->needs(onload);
  run->add_flag("--allow-unaccelerated", a.launch.allow_unaccelerated, "run without Onload if it is not loaded")
      ->excludes(require);
  run->add_flag("--offline", a.launch.offline, "run even if nrd is unreachable");
  run->add_option("COMMAND", a.launch.command, "command and arguments, after --")->required();
  run->positionals_at_end();
}

void declare_emit(CLI::App& emit, Arguments& a) {
  emit.require_subcommand(1);
  for (const auto& [name, text] : {std::pair{"systemd", "drop-in for a systemd unit"},
                                   std::pair{"docker", "arguments for docker run or podman run"},
                                   std::pair{"cdi", "CDI specification for /etc/cdi"}}) {
    CLI::App* kind = emit.add_subcommand(name, text);
    kind->add_option("-p,--profiles", a.profiles, "profiles, comma-separated");
    declare_launch_options(*kind, a);
  }
}

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
    words = nrd::joined(set.remaining(), " ");
  });
}

void declare_onload_verbs(CLI::App& onload, Arguments& a) {
  CLI::App* preflight = onload.add_subcommand("preflight", "check a change and show its steps without applying it");
  preflight->add_option("VERSION", a.onload.version, "version to load (default: repeat the last requested change)");
  declare_load(*preflight, a.onload);
  CLI::App* drain = onload.add_subcommand("drain", "block new Onload users and stop existing ones");
  drain->add_option("--users", a.onload.users_policy,
                    "how to treat processes that use Onload: fail, wait (default), term or kill");
  drain->add_option("--drain", a.onload.drain_seconds, "seconds to wait for processes to stop using Onload");
  onload.add_subcommand("undrain", "allow Onload users again");
  onload.add_subcommand("cancel", "cancel a running operation and roll it back")->add_option("ID", a.id)->required();
  CLI::App* set = onload.add_subcommand("set", "change module parameters");
  set->add_option("MODULE", a.module)->required();
  set->add_option("PARAM=VALUE", a.settings)->required();
  set->add_flag("--reload", a.reload, "reload modules if the parameter requires it");
  CLI::App* plane = onload.add_subcommand("controlplane", "show the control plane servers");
  plane->require_subcommand(0, 1);
  declare_control_plane_args(*plane->add_subcommand("set", "ARGS...: set the arguments of the control plane servers"),
                             a.onload.control_plane);
  plane->add_subcommand("restart", "stop the control plane servers and let the module start a new one");
}

void declare_onload(CLI::App& app, Arguments& a) {
  CLI::App* onload = app.add_subcommand("onload", "Onload's kernel modules: versions, upgrades, rollback");
  onload->require_subcommand(0, 1);
  onload->add_subcommand("show", "show requested and actual state");
  onload->add_subcommand("versions", "list installed versions");
  CLI::App* import = onload->add_subcommand("import", "install a version from a directory or tar archive");
  import->add_option("NAME", a.onload.version)->required();
  import->add_option("SOURCE", a.source, "path on the node below onload.imports (nrd.toml)")->required();
  CLI::App* load = onload->add_subcommand("load", "load a version or switch to it");
  load->add_option("VERSION", a.onload.version)->required();
  declare_load(*load, a.onload);
  declare_policies(*onload->add_subcommand("unload", "unload the kernel modules"), a.onload);
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
  declare_emit(*onload->add_subcommand("emit", "print configuration to start applications with Onload"), a);
}

Outcome<> emit_onload(const CLI::App& kinds, const Client& client, const Arguments& a) {
  const Kind kind = kinds.got_subcommand("systemd")  ? Kind::Systemd
                    : kinds.got_subcommand("docker") ? Kind::Docker
                                                     : Kind::Cdi;
  return emit(client, kind, a.start);
}

Outcome<> execute_onload(const CLI::App& onload, const Client& client, Output output, const Arguments& a) {
  if (onload.got_subcommand("versions")) return show_onload_versions(client, output);
  if (onload.got_subcommand("import")) return import_onload(client, output, a.onload.version, a.source);
  if (onload.got_subcommand("load")) return load_onload(client, output, a.onload);
  if (onload.got_subcommand("unload")) return unload_onload(client, output, a.onload);
  if (onload.got_subcommand("rollback")) return roll_back_onload(client, output, a.generation);
  if (onload.got_subcommand("freeze")) return freeze_onload(client, true, a.reason);
  if (onload.got_subcommand("thaw")) return freeze_onload(client, false, {});
  if (onload.got_subcommand("users")) return show_onload_users(client, output);
  if (onload.got_subcommand("interfaces")) return onload_interfaces(client, output, a.interfaces);
  if (onload.got_subcommand("emit")) return emit_onload(*onload.get_subcommand("emit"), client, a);
  if (onload.got_subcommand("preflight")) return preflight_onload(client, output, a.onload);
  if (onload.got_subcommand("drain")) return drain_onload(client, output, a.onload);
  if (onload.got_subcommand("undrain")) return undrain_onload(client, output);
  if (onload.got_subcommand("cancel")) return cancel_onload(client, output, a.id);
  if (onload.got_subcommand("set")) return set_onload_parameters(client, output, a.module, a.settings, a.reload);
  if (!onload.got_subcommand("controlplane")) return show_onload(client, output);
  const CLI::App& plane = *onload.get_subcommand("controlplane");
  if (plane.got_subcommand("set")) return set_control_plane(client, output, a.onload.control_plane);
  return plane.got_subcommand("restart") ? restart_control_plane(client, output) : show_control_plane(client, output);
}

void declare_tls(CLI::App& app, TlsInit& wanted) {
  constexpr int kLongest = 36500;
  CLI::App* tls = app.add_subcommand("tls", "manage TLS certificates of nrd and its clients")->require_subcommand(1);
  CLI::App* init = tls->add_subcommand("init", "create a CA and certificates for nrd, an admin and a user");
  init->add_option("--dir", wanted.directory, "output directory; created if absent, existing files are kept")
      ->capture_default_str();
  init->add_option("--host", wanted.hosts, "host name or IP address of nrd for its certificate; repeatable")
      ->check([](const std::string& host) {
        return is_host(host) ? std::string() : host + " is not a valid host name or IP address";
      });
  init->add_option("--days", wanted.days, "validity in days")->check(CLI::Range(1, kLongest))->capture_default_str();
}

void declare_genconf(CLI::App& app, Genconf& wanted) {
  CLI::App* genconf = app.add_subcommand("genconf", "print a configuration for this node");
  genconf->add_option("--output", wanted.output, "output file (default: standard output)");
  genconf->add_flag("--force", wanted.force, "overwrite an existing file");
}

void declare_import(CLI::App& app, ImportRmd& wanted) {
  CLI::App* import = app.add_subcommand("import-rmd", "import configuration and workloads of Intel RMD");
  import->add_option("DIR", wanted.directory, "RMD's configuration directory, /etc/rmd or a copy");
  import->add_option("--output", wanted.output, "output directory; existing files are kept")->capture_default_str();
  import->add_option("--workloads", wanted.workloads,
                     "saved response of RMD's GET /v1/workloads; creates each workload in nrd");
  import->add_flag("--force", wanted.force, "replace existing files");
}

Outcome<> run_command(const CLI::App& run, const Client& client, Arguments& a) {
  a.launch.workload = a.wanted;
  if (run.count("--onload") > 0) a.launch.onload = a.start;
  return launch(client, a.launch);
}

Outcome<> read_own_password(Arguments& a) {
  if (a.to.user.empty()) return {};
  nrd::Secret password = TRY(or_stop(read_password(a.password, a.to.user), kUsage));
  a.to.password = std::make_shared<const nrd::Secret>(std::move(password));
  return {};
}

Outcome<> execute(const CLI::App& app, Arguments& a) {
  if (app.got_subcommand("tls")) return init_tls(a.tls);
  if (app.got_subcommand("genconf")) return generate_configuration(a.genconf);
  if (a.ways > 0 || a.wanted.resources.contains("cache")) {
    for (const char* bound : {"max", "min"}) a.wanted.resources["cache"].try_emplace(bound, std::to_string(a.ways));
  }
  a.start.profiles = words_of(a.profiles, ',');
  a.start.variables = a.launch.variables;
  const Client client(a.to);
  if (app.got_subcommand("import-rmd")) return import_rmd(client, a.import);
  if (app.got_subcommand("run")) return run_command(*app.get_subcommand("run"), client, a);
  const bool terminal = ::isatty(STDOUT_FILENO) == 1;
  const bool colour = terminal && std::getenv("NO_COLOR") == nullptr;
  const Output output{.json = a.json, .colour = colour, .terminal = terminal};
  if (app.got_subcommand("onload")) return execute_onload(*app.get_subcommand("onload"), client, output, a);
  if (app.got_subcommand("support-bundle")) return write_support_bundle(client, a.bundle);
  if (app.got_subcommand("reset")) return reset(client, a.reset);
  if (app.got_subcommand("node")) return show_node(client, output);
  if (app.got_subcommand("ways")) return show_ways(client, output);
  if (app.got_subcommand("top")) return show_top(client, output, a.once ? Frames::One : Frames::Live);
  const CLI::App* workload = app.get_subcommand("workload");
  if (workload->got_subcommand("list")) return list_workloads(client, output);
  if (workload->got_subcommand("show")) return show_workload(client, output, a.id);
  if (workload->got_subcommand("delete")) return delete_workloads(client, a.ids);
  return a.is_dry ? dry_run_workload(client, output, a.wanted) : create_workload(client, output, a.wanted);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"nrdctl: command-line client of nrd, the node resource daemon"};
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string("nrdctl ") + nrd::kVersion);
  app.footer(
      "Exit codes: 0 success, 1 refused, 2 usage error, 3 daemon unreachable or client not trusted.\n"
      "Example: nrdctl workload create --cpus 4-7 --ways 2 && nrdctl ways");
  Arguments arguments{.to = endpoint_of_environment()};
  declare_endpoint(app, arguments.to, arguments.password);
  app.add_flag("--json", arguments.json, "print the daemon's JSON response unchanged");
  declare_workload(app, arguments);
  declare_onload(app, arguments);
  declare_tls(app, arguments.tls);
  declare_genconf(app, arguments.genconf);
  declare_import(app, arguments.import);
  declare_run(app, arguments);
  app.add_subcommand("support-bundle", "save the state of nrd and this node in a tar archive for support")
      ->add_option("FILE", arguments.bundle, "output file; must not exist")
      ->required();
  CLI::App* reset = app.add_subcommand("reset", "delete all workloads and release all resources");
  reset->add_flag("--yes", arguments.reset.is_confirmed, "do not ask for confirmation");
  reset->add_option("--foreign", arguments.reset.foreign,
                    "remove foreign resctrl groups whose names match this pattern, such as 'COS*'");
  app.add_subcommand("node", "show topology, capabilities and free ways");
  app.add_subcommand("ways", "show which workload owns which cache ways");
  app.add_subcommand("top", "show live cache occupancy and memory bandwidth per workload; q quits")
      ->add_flag("--once", arguments.once, "print one snapshot and exit");
  try {
    app.parse(argc, argv);
    check_endpoint(app, arguments.to);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kDone : kUsage;
  }
  ::curl_global_init(CURL_GLOBAL_DEFAULT);
  const int exit = report(read_own_password(arguments).and_then([&] { return execute(app, arguments); }));
  ::curl_global_cleanup();
  return exit;
}
