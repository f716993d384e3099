// nrdctl: a client of the API.
#include <curl/curl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "cli/certificates.h"
#include "cli/commands.h"
#include "cli/export.h"
#include "cli/import_rmd/genconf.h"
#include "cli/import_rmd/import_rmd.h"
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
  std::string profiles;  // with commas between them
  OnloadStart start;
  Launch launch;
  bool once = false;  // of top
};

std::string environment(const char* name, const std::string& otherwise = {}) {
  const char* value = std::getenv(name);
  return value == nullptr || *value == '\0' ? otherwise : value;
}

// What the environment says is there before the flags, so that a flag wins.
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
  CLI::Option* socket = app.add_option("--socket", to.socket, "the Unix socket nrd serves on (env NRD_SOCKET)");
  CLI::Option* url = app.add_option("--url", to.url, "where nrd serves instead, https://HOST:8443 (env NRD_URL)");
  socket->capture_default_str();
  url->excludes(socket);
  app.add_option("--cert", to.certificate, "with https: our certificate (env NRD_CERT)");
  app.add_option("--key", to.key, "with https: its private key (env NRD_KEY)");
  app.add_option("--cacert", to.ca, "with https: the CA of nrd's certificate, and no other (env NRD_CACERT)");
  CLI::Option* user =
      app.add_option("--user", to.user, "with https: a user whom nrd's host knows; asks for the password");
  CLI::Option* file = app.add_option("--password-file", password.file, "instead of asking: its first line, mode 0600");
  app.add_option("--password-fd", password.fd, "instead of asking: the first line of this descriptor")
      ->check(CLI::NonNegativeNumber)
      ->excludes(file)
      ->needs(user);
  file->needs(user);
}

// A word about TLS that would be ignored is not what was meant.
void check_endpoint(const CLI::App& app, Endpoint& to) {
  if (app.count("--socket") > 0) to.url.clear();
  if (!to.url.empty() && !to.url.starts_with("http://") && !to.url.starts_with("https://")) {
    throw CLI::ValidationError("--url", to.url + " does not begin with http:// or https://");
  }
  const bool is_about_tls = app.count("--cert") + app.count("--key") + app.count("--cacert") > 0;
  if (is_about_tls && !to.url.starts_with("https://")) {
    throw CLI::ValidationError("--cert, --key and --cacert", "are for --url https://HOST:PORT");
  }
  if (app.count("--user") > 0 && !to.url.starts_with("https://")) {
    throw CLI::ValidationError("--user", "is for --url https://HOST:PORT: nobody else shall read the password");
  }
  if (app.count("--user") > 0 && !to.certificate.empty()) {
    throw CLI::ValidationError("--user", "and a certificate: nrd would go by the certificate alone");
  }
  if (app.count("--key") > 0 && to.certificate.empty()) {
    throw CLI::ValidationError("--key", "needs the --cert it belongs to");
  }
}

// What a workload gets, and on which CPUs.
void declare_wanted(CLI::App& app, Arguments& a) {
  app.add_option("--cpus", a.wanted.cpus, "CPU list, such as 4-7,12");
  CLI::Option* ways = app.add_option("--ways", a.ways, "exactly that many ways for itself (a guarantee)");
  app.add_option("--max", a.wanted.max, "at most that many ways")->excludes(ways);
  app.add_option("--min", a.wanted.min, "at least that many ways; max 0 and min 0 share one class")->excludes(ways);
  app.add_option("--code-ways", a.wanted.code, "so many of them for code alone, the others for data (CDP)");
  CLI::Option* l2_ways = app.add_option("--l2-ways", a.wanted.l2_ways,
                                        "exactly that many ways of each L2 cache, where these are allocated beside L3");
  app.add_option("--l2-code-ways", a.wanted.l2_code, "so many of these for code alone (CDP)")->needs(l2_ways);
  CLI::Option* percentage = app.add_option("--mba-percentage", a.wanted.mba_percentage, "memory bandwidth in percent");
  app.add_option("--mba-mbps", a.wanted.mba_mbps, "the same in MB/s; GET /v1/mba says which of both")
      ->excludes(percentage);
  CLI::Option* min_ratio =
      app.add_option("--min-ratio", a.wanted.min_ratio, "lowest frequency, in multiples of 100 MHz");
  CLI::Option* max_ratio = app.add_option("--max-ratio", a.wanted.max_ratio, "highest; one of the two alone pins both");
  app.add_option("--min-mhz", a.wanted.min_mhz, "the same in MHz")->excludes(min_ratio)->excludes(max_ratio);
  app.add_option("--max-mhz", a.wanted.max_mhz)->excludes(min_ratio)->excludes(max_ratio);
  app.add_option("--governor", a.wanted.governor, "cpufreq governor");
  app.add_option("--epp", a.wanted.epp, "energy performance preference");
  app.add_flag("--no-turbo", a.wanted.no_turbo, "nothing above the base frequency");
  app.add_option("--adaptive", a.wanted.adaptive,
                 "fast while branch misses are above that percentage of hits, otherwise slow")
      ->check(CLI::PositiveNumber);
  app.add_flag("--allow-shared-domain", a.wanted.allow_shared_domain, "even if CPUs of others change along");
  app.add_option("--uuid", a.wanted.uuid, "your own name for it; unique");
}

void declare_workload(CLI::App& app, Arguments& a) {
  CLI::App* workload = app.add_subcommand("workload", "create, list, show and delete workloads")->require_subcommand(1);
  CLI::App* create = workload->add_subcommand("create", "give CPUs ways of their L3 cache, and frequencies");
  declare_wanted(*create, a);
  create->add_option("--task-ids", a.wanted.tasks, "processes (with all their threads) and threads: 4711,4712")
      ->delimiter(',');
  create->add_flag("--dry-run", a.is_dry, "show what would be granted and changed, and do nothing");
  workload->add_subcommand("list", "all workloads");
  workload->add_subcommand("show", "one workload")->add_option("ID", a.id)->required();
  workload->add_subcommand("delete", "give everything back")->add_option("ID", a.ids)->required();
}

void declare_onload_wish(CLI::App& app, Arguments& a) {
  app.add_option("-e,--env", a.launch.variables, "a variable for the command, NAME=VALUE; may be repeated")
      ->allow_extra_args(false);
  app.add_flag("--force-profiles", a.start.force, "profiles win over the environment");
  app.add_flag("!--no-preload", a.start.preload, "leave LD_PRELOAD alone");
}

void declare_run(CLI::App& app, Arguments& a) {
  CLI::App* run = app.add_subcommand("run", "start a command with CPUs, ways and Onload of its own; all ends with it");
  declare_wanted(*run, a);
  CLI::Option* onload =
      run->add_option("--onload", a.profiles, "with Onload, and these profiles: --onload or --onload=latency,mine")
          ->expected(0, 1)
          ->default_str("");
  declare_onload_wish(*run, a);
  CLI::Option* require = run->add_flag("--require-accel", a.launch.require_accel,
                                       "not unless an interface is accelerated; never fall back")
                             ->needs(onload);
  run->add_flag("--allow-unaccelerated", a.launch.allow_unaccelerated, "start it without Onload if that is not loaded")
      ->excludes(require);
  run->add_flag("--offline", a.launch.offline, "start it even if nrd cannot be reached");
  run->add_option("COMMAND", a.launch.command, "the command and its arguments, after --")->required();
  run->positionals_at_end();
}

void declare_emit(CLI::App& emit, Arguments& a) {
  emit.require_subcommand(1);
  for (const auto& [name, text] :
       {std::pair{"systemd", "a drop-in for a unit"}, std::pair{"docker", "arguments for docker run and podman run"},
        std::pair{"cdi", "a file for /etc/cdi"}}) {
    CLI::App* kind = emit.add_subcommand(name, text);
    kind->add_option("-p,--profiles", a.profiles, "profiles, with commas between them");
    declare_onload_wish(*kind, a);
  }
}

void declare_policies(CLI::App& command, OnloadRequest& wish) {
  command.add_option("--users", wish.users_policy, "fail, wait, term or kill: how far to go with those who use it");
  command.add_option("--drain", wish.drain_seconds, "seconds that users may take to end by themselves");
  command.add_option("--on-failure", wish.on_failure, "rollback or stop");
  command.add_flag("--sfc", wish.manages_sfc, "the network driver comes and goes with Onload");
}

void declare_load(CLI::App& command, OnloadRequest& wish) {
  command.add_option("--param", wish.parameters, "MODULE.NAME=VALUE; may be repeated");
  command.add_option("--control-plane", wish.control_plane, "what its server is started with (-K)");
  declare_policies(command, wish);
}

// They are options of another program, so none is an option here, not even -h.
void declare_server_words(CLI::App& set, std::string& words) {
  set.set_help_flag("--help", "Print this help message and exit");
  set.allow_extras();
  set.callback([&set, &words] {
    if (set.remaining().empty()) throw CLI::RequiredError("WORDS");
    for (const std::string& word : set.remaining()) words += (words.empty() ? "" : " ") + word;
  });
}

void declare_onload_verbs(CLI::App& onload, Arguments& a) {
  CLI::App* preflight = onload.add_subcommand("preflight", "whether that could be done, and how it would go");
  preflight->add_option("VERSION", a.onload.version, "a version to load; without it, the last wish");
  declare_load(*preflight, a.onload);
  CLI::App* drain = onload.add_subcommand("drain", "shut the door for good, and end users");
  drain->add_option("--users", a.onload.users_policy, "fail, wait (the default), term or kill");
  drain->add_option("--drain", a.onload.drain_seconds, "seconds that users may take to end by themselves");
  onload.add_subcommand("undrain", "open the door again");
  onload.add_subcommand("cancel", "turn an operation back")->add_option("ID", a.id)->required();
  CLI::App* set = onload.add_subcommand("set", "change parameters of a module");
  set->add_option("MODULE", a.module)->required();
  set->add_option("PARAM=VALUE", a.settings)->required();
  set->add_flag("--reload", a.reload, "even if modules must be loaded anew for it");
  CLI::App* plane = onload.add_subcommand("controlplane", "its servers");
  plane->require_subcommand(0, 1);
  declare_server_words(*plane->add_subcommand("set", "WORDS...: what they are started with"), a.onload.control_plane);
  plane->add_subcommand("restart", "end them and have the module start one again");
}

void declare_onload(CLI::App& app, Arguments& a) {
  CLI::App* onload = app.add_subcommand("onload", "Onload's kernel modules: versions, upgrades, rollback");
  onload->require_subcommand(0, 1);
  onload->add_subcommand("show", "what it is to be, and what it is");
  onload->add_subcommand("versions", "releases whose files are installed");
  CLI::App* import = onload->add_subcommand("import", "install the files of a release from a folder or tar archive");
  import->add_option("NAME", a.onload.version)->required();
  import->add_option("SOURCE", a.source, "path on the node, below onload.imports of nrd.toml")->required();
  CLI::App* load = onload->add_subcommand("load", "load a version, or change to it");
  load->add_option("VERSION", a.onload.version)->required();
  declare_load(*load, a.onload);
  declare_policies(*onload->add_subcommand("unload", "remove its modules"), a.onload);
  onload->add_subcommand("rollback", "back to the generation that was verified before")
      ->add_option("--to", a.generation, "or to this one");
  onload->add_subcommand("freeze", "keep everything as it is")->add_option("--reason", a.reason, "shown to others");
  onload->add_subcommand("thaw", "no longer");
  onload->add_subcommand("users", "who uses it");
  declare_onload_verbs(*onload, a);
  CLI::App* interfaces = onload->add_subcommand("interfaces", "network interfaces as Onload sees them");
  interfaces->add_option("--accelerate", a.interfaces.accelerate, "IF on|off: whether Onload may")->expected(2);
  interfaces->add_option("--afxdp", a.interfaces.afxdp, "IF on|off: registered with Onload through AF_XDP")
      ->expected(2);
  declare_emit(*onload->add_subcommand("emit", "print what others need to start something with Onload"), a);
}

int emit_onload(const CLI::App& kinds, const Client& client, const Arguments& a) {
  const Kind kind = kinds.got_subcommand("systemd")  ? Kind::Systemd
                    : kinds.got_subcommand("docker") ? Kind::Docker
                                                     : Kind::Cdi;
  return emit(client, kind, a.start);
}

int execute_onload(const CLI::App& onload, const Client& client, Output output, const Arguments& a) {
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
  CLI::App* tls = app.add_subcommand("tls", "certificates for nrd and its clients")->require_subcommand(1);
  CLI::App* init = tls->add_subcommand("init", "make a CA, nrd's certificate, and one each for an admin and a user");
  init->add_option("--dir", wanted.directory, "where to; made if absent, nothing is overwritten")
      ->capture_default_str();
  init->add_option("--host", wanted.hosts, "a name or address by which clients reach nrd; may be repeated")
      ->check([](const std::string& host) {
        return is_host(host) ? std::string() : host + " is neither a host's name nor an IP address";
      });
  init->add_option("--days", wanted.days, "how long they are valid")
      ->check(CLI::Range(1, kLongest))
      ->capture_default_str();
}

void declare_genconf(CLI::App& app, Genconf& wanted) {
  CLI::App* genconf = app.add_subcommand("genconf", "print a configuration for this node");
  genconf->add_option("--output", wanted.output, "a file instead of standard output");
  genconf->add_flag("--force", wanted.force, "even if that file exists");
}

void declare_import(CLI::App& app, ImportRmd& wanted) {
  CLI::App* import = app.add_subcommand("import-rmd", "carry Intel RMD's configuration and workloads over");
  import->add_option("DIR", wanted.directory, "RMD's configuration, /etc/rmd or a copy of it");
  import->add_option("--output", wanted.output, "where nrd's goes; nothing there is overwritten")
      ->capture_default_str();
  import->add_option("--workloads", wanted.workloads, "what RMD's GET /v1/workloads answered: each is asked of nrd");
  import->add_flag("--force", wanted.force, "files that exist are replaced");
}

int run_command(const CLI::App& run, const Client& client, Arguments& a) {
  a.launch.workload = a.wanted;
  if (run.count("--onload") > 0) a.launch.onload = a.start;
  return launch(client, a.launch);
}

int execute(const CLI::App& app, Arguments& a) {
  if (app.got_subcommand("tls")) return init_tls(a.tls);
  if (app.got_subcommand("genconf")) return generate_configuration(a.genconf);
  if (a.ways > 0) a.wanted.max = a.wanted.min = a.ways;
  a.start.profiles = split_names(a.profiles);
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
  CLI::App app{"nrdctl: ask nrd, the node resource daemon"};
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 done, 1 refused, 2 wrong usage, 3 the daemon cannot be reached or does not trust us.\n"
      "Example: nrdctl workload create --cpus 4-7 --ways 2 && nrdctl ways");
  Arguments arguments{.to = endpoint_of_environment()};
  declare_endpoint(app, arguments.to, arguments.password);
  app.add_flag("--json", arguments.json, "print the daemon's answer as it is");
  declare_workload(app, arguments);
  declare_onload(app, arguments);
  declare_tls(app, arguments.tls);
  declare_genconf(app, arguments.genconf);
  declare_import(app, arguments.import);
  declare_run(app, arguments);
  app.add_subcommand("support-bundle", "what nrd knows about this node, as a tar archive for whoever is to help")
      ->add_option("FILE", arguments.bundle, "where to; must not exist")
      ->required();
  CLI::App* reset = app.add_subcommand("reset", "delete all workloads and give everything back");
  reset->add_flag("--yes", arguments.reset.is_confirmed, "ask nothing");
  reset->add_option("--foreign", arguments.reset.foreign,
                    "remove resctrl groups of others whose names match this pattern, such as 'COS*'");
  app.add_subcommand("node", "topology, capabilities and free ways");
  app.add_subcommand("ways", "draw who owns which cache ways");
  app.add_subcommand("top", "what workloads have in the cache and move to and from memory, until q")
      ->add_flag("--once", arguments.once, "one picture");
  try {
    app.parse(argc, argv);
    check_endpoint(app, arguments.to);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kDone : kUsage;
  }
  if (!arguments.to.user.empty()) {
    nrd::Result<nrd::Secret> password = read_password(arguments.password, arguments.to.user);
    if (!password) {
      print_error(password.error().message);
      return kUsage;
    }
    arguments.to.password = std::make_shared<const nrd::Secret>(*std::move(password));
  }
  ::curl_global_init(CURL_GLOBAL_DEFAULT);
  const int exit = execute(app, arguments);
  ::curl_global_cleanup();
  return exit;
}
