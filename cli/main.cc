// nrdctl: command-line client of nrd's REST API.
#include <curl/curl.h>
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <tuple>
#include <utility>

#include "base/version.h"
#include "cli/acceleration.h"
#include "cli/apply.h"
#include "cli/arguments.h"
#include "cli/certificates.h"
#include "cli/commands.h"
#include "cli/completion.h"
#include "cli/declare_export.h"
#include "cli/declare_workload.h"
#include "cli/documents.h"
#include "cli/endpoint_options.h"
#include "cli/import_cpu_pooler.h"
#include "cli/import_rmd/genconf.h"
#include "cli/import_rmd/import_rmd.h"
#include "cli/overview.h"
#include "cli/reset.h"
#include "cli/support_bundle.h"
#include "cli/tls_init.h"
#include "cli/top.h"

namespace {

using namespace nrd::cli;

void declare_documents(CLI::App& app, Arguments& a) {
  const auto wanted = std::make_shared<Apply>();
  const auto execute = [wanted](const Client& client, Output output) {
    return apply(client.naming(nullptr), output, *wanted);
  };
  CLI::App* applied = declare(app, a, "apply", "create and change workloads as documents declare them", execute);
  CLI::App* diff = declare(app, a, "diff", "show what apply would change; exit code 1 if anything",
                           [wanted](const Client& client, Output output) {
                             return show_differences(client.naming(nullptr), output, *wanted);
                           });
  for (CLI::App* command : {applied, diff}) {
    command->add_option("-f,--file", wanted->path, "file or directory of documents; - is standard input")->required();
    command->add_option("--set", wanted->set, "label the workloads as members of this set");
    command->add_flag("--prune", wanted->prune, "delete workloads of the set that no document names");
  }
  applied->add_flag("--dry-run", wanted->is_dry, "show what would happen without applying it");
  declare(app, a, "backup", "save all workloads in a new file",
          [&a](const Client& client, Output output) { return back_up(client, output, a.file); })
      ->add_option("FILE", a.file, "name ending in .yaml; must not exist")
      ->required();
  declare(app, a, "restore", "create the workloads of a backup again", execute)
      ->add_option("FILE", wanted->path, "file of nrdctl backup")
      ->required();
}

OrStop<> run_command(const CLI::App& run, const Client& client, Arguments& a) {
  expand_ways(a.wanted);
  const Client named = naming_options(client, a.wanted);
  if (!a.processes.file.empty()) {
    if (!a.launch.command.empty()) return stop(kUsage, "--processes names what to run; leave out COMMAND");
    if (asks_for_pooled_cpus(a.wanted)) return stop(kUsage, "--processes names the pools; leave out --pool");
    a.processes.workload = a.wanted;
    return run_processes(named, a.processes);
  }
  if (a.launch.command.empty()) return stop(kUsage, "COMMAND is required");
  a.launch.workload = a.wanted;
  a.launch.accelerate = acceleration_of(run, a);
  return launch(named, a.launch);
}

void declare_run(CLI::App& app, Arguments& a) {
  CLI::App* run = declare(app, a, "run", help_of_run(), {});
  run->callback(
      [&a, run] { a.execute = [&a, run](const Client& client, Output) { return run_command(*run, client, a); }; });
  declare_resources(*run, a.wanted);
  // Of dry runs, of the cgroups of container runtimes, and of what runs already.
  for (const char* other : {"--among", "--enforce", "--migrate"}) run->remove_option(run->get_option(other));
  CLI::Option* acceleration = declare_acceleration_of_run(*run, a);
  declare_environment(*run, a);
  declare_acceleration_details(*run, a, acceleration);
  run->add_flag("--offline", a.launch.offline, "run even if nrd is unreachable");
  CLI::Option* processes = run->add_option("--processes", a.processes.file,
                                           "run the processes of this file (CPU Pooler's JSON), each on its own CPUs");
  if (acceleration != nullptr) processes->excludes(acceleration);
  run->add_option("--container", a.processes.container, "of the file (default: CONTAINER_NAME, or the only one)")
      ->needs(processes);
  run->add_flag("--exec-last", a.processes.exec_last, "the last process takes the place of nrdctl")->needs(processes);
  run->add_option("COMMAND", a.launch.command, "command and arguments, after --");
  run->positionals_at_end();
}

void declare_tls(CLI::App& app, Arguments& a) {
  const auto wanted = std::make_shared<TlsInit>();
  constexpr int kLongest = 36500;
  CLI::App* tls = app.add_subcommand("tls", "manage TLS certificates of nrd and its clients")->require_subcommand(1);
  CLI::App* init = declare(*tls, a, "init", "create a CA and certificates for nrd, an admin and a user",
                           [wanted](const Client&, Output) { return init_tls(*wanted); });
  init->add_option("--dir", wanted->directory, "output directory; created if absent, existing files are kept")
      ->capture_default_str();
  init->add_option("--host", wanted->hosts, "host name or IP address of nrd for its certificate; repeatable")
      ->check([](const std::string& host) {
        return is_host(host) ? std::string() : host + " is not a valid host name or IP address";
      });
  init->add_option("--days", wanted->days, "validity in days")->check(CLI::Range(1, kLongest))->capture_default_str();
}

void declare_genconf(CLI::App& app, Arguments& a) {
  const auto wanted = std::make_shared<Genconf>();
  CLI::App* genconf = declare(app, a, "genconf", "print a configuration for this node",
                              [wanted](const Client&, Output) { return generate_configuration(*wanted); });
  genconf->add_option("--output", wanted->output, "output file (default: standard output)");
  genconf->add_flag("--force", wanted->force, "overwrite an existing file");
}

void declare_import(CLI::App& app, Arguments& a) {
  const auto wanted = std::make_shared<ImportRmd>();
  CLI::App* import =
      declare(app, a, "import-rmd", "import configuration and workloads of Intel RMD",
              [wanted](const Client& client, Output) { return import_rmd(client.naming(nullptr), *wanted); });
  import->add_option("DIR", wanted->directory, "RMD's configuration directory, /etc/rmd or a copy");
  import->add_option("--output", wanted->output, "output directory; existing files are kept")->capture_default_str();
  import->add_option("--workloads", wanted->workloads,
                     "saved response of RMD's GET /v1/workloads; creates each workload in nrd");
  import->add_flag("--force", wanted->force, "replace existing files");
}

void declare_import_of_pools(CLI::App& app, Arguments& a) {
  const auto wanted = std::make_shared<ImportCpuPooler>();
  CLI::App* import = declare(app, a, "import-cpu-pooler", "convert pools of CPU Pooler's configuration",
                             [wanted](const Client&, Output) { return import_cpu_pooler(*wanted); });
  import->add_option("FILE", wanted->files, "poolconfig*.yaml")->required();
  import->add_option("--output", wanted->output, "output directory (default: standard output)");
  import->add_flag("--force", wanted->force, "replace existing files");
}

OrStop<> read_own_password(Arguments& a) {
  if (a.to.user.empty()) return {};
  nrd::Secret password = TRY(or_stop(read_password(a.password, a.to.user), kUsage));
  a.to.password = std::make_shared<const nrd::Secret>(std::move(password));
  return {};
}

void declare_cpus(CLI::App& app, Arguments& a) {
  CLI::App* cpus = app.add_subcommand("cpus", "show which workload has which CPUs, and the CPU pools, or one of these");
  declare_default(*cpus, a, [&a](const Client& client, Output output) {
    return a.id.empty() ? show_cpus(client, output) : show_cpu_pool(client, output, a.id);
  });
  cpus->add_option("POOL", a.id, "name of a CPU pool")->check(given());
  declare(*cpus, a, "check", "show what may delay tasks on the CPUs of pools, with remedies",
          [&a](const Client& client, Output output) { return check_cpu_pools(client, output, a.id); })
      ->add_option("POOL", a.id, "name of a CPU pool (default: all)")
      ->check(given());
  declare(*cpus, a, "unconfine", "while nrd is stopped: let the rest of the host use all CPUs again (cpu.confine)",
          unconfine);
}

void declare_node(CLI::App& app, Arguments& a) {
  declare(app, a, "status", "show health, pools, workloads and warnings", show_status);
  declare(app, a, "capacity", "show what a new workload could get", show_capacity);
  declare(app, a, "node", "show topology, capabilities and free ways", show_node);
  declare_cpus(app, a);
  declare(app, a, "ways", "show which workload owns which cache ways", show_ways);
  declare(app, a, "top", "show live cache occupancy and memory bandwidth per workload; q quits",
          [&a](const Client& client, Output output) {
            return show_top(client, output, a.once ? Frames::One : Frames::Live);
          })
      ->add_flag("--once", a.once, "print one snapshot and exit");
  declare(app, a, "pstate", "show the frequencies of all CPUs", show_frequencies);
  CLI::App* policy = app.add_subcommand("policy", "list and show policies")->require_subcommand(1);
  declare(*policy, a, "list", "list the policies for this kind of CPU", list_policies);
  declare(*policy, a, "show", "show one policy",
          [&a](const Client& client, Output output) { return show_policy(client, output, a.id); })
      ->add_option("NAME", a.id)
      ->required();
}

void declare_service(CLI::App& app, Arguments& a) {
  CLI::App* config = app.add_subcommand("config", "show the configuration of nrd")->require_subcommand(1);
  declare(*config, a, "show", "show the settings in force, with file and line", show_configuration);
  declare(app, a, "reload", "read the configuration of nrd again, all of it or nothing",
          [&a](const Client& client, Output output) { return reload(client, output, a.is_dry); })
      ->add_flag("--dry-run", a.is_dry, "check it without applying it");
  declare(app, a, "version", "show the versions of nrdctl and nrd",
          [](const Client& client, Output output) { return show_version(client, output, nrd::kVersion); });
  declare(app, a, "support-bundle", "save the state of nrd and this node in a tar archive for support",
          [&a](const Client& client, Output) { return write_support_bundle(client, a.file); })
      ->add_option("FILE", a.file, "output file; must not exist")
      ->required();
  const auto wanted = std::make_shared<Reset>();
  CLI::App* reset =
      declare(app, a, "reset", "delete all workloads and release all resources",
              [wanted](const Client& client, Output output) { return nrd::cli::reset(client, output, *wanted); });
  reset->add_flag("--yes", wanted->is_confirmed, "do not ask for confirmation");
  reset->add_option("--foreign", wanted->foreign,
                    "remove foreign resctrl groups whose names match this pattern, such as 'COS*'");
}

void declare_help(CLI::App& app, Arguments& a) {
  CLI::App* help = declare(app, a, "help", "show the help of a command", [&app, &a](const Client&, Output) -> OrStop<> {
    const CLI::App* level = &app;
    std::string name = app.get_name();
    for (const std::string& word : a.ids) {
      const auto found = level->get_subcommands([&word](const CLI::App* each) { return each->get_name() == word; });
      if (found.empty()) return stop(kUsage, "there is no command " + word);
      level = found.front();
      name += " " + word;
    }
    // Not App::help(), which shows the help of the command that was given: this one.
    print(level->get_formatter()->make_help(level, name, CLI::AppFormatMode::Normal));
    return {};
  });
  help->add_option("COMMAND", a.ids);
}

// For the shell; not in the help.
void declare_completion(CLI::App& app, Arguments& a) {
  CLI::App* complete = declare(app, a, "__complete", "", [&app, &a](const Client&, Output) {
    const Client typed(endpoint_in(a.ids, a.to));
    for (const std::string& candidate : completions(app, typed, a.ids)) print(candidate + "\n");
    return OrStop<>();
  });
  complete->group("");
  complete->add_option("WORD", a.ids);
}

void declare_commands(CLI::App& app, Arguments& a) {
  declare_workload(app, a);
  declare_documents(app, a);
  declare_export(app, a);
  declare_node(app, a);
  declare_run(app, a);
  declare_acceleration(app, a);
  declare_service(app, a);
  declare_tls(app, a);
  declare_genconf(app, a);
  declare_import(app, a);
  declare_import_of_pools(app, a);
  declare_help(app, a);
  declare_completion(app, a);
}

// CLI11 says "Could not convert: --max = 2.5" of numbers, the only options with a type.
// And "A subcommand is required" where one was given that does not exist.
std::string usage_text(const CLI::App& app, const CLI::Error& error) {
  constexpr std::string_view kBegin = "Could not convert: ";
  const std::string text = error.what();
  const std::vector<std::string> unknown = app.remaining(true);
  if (text == "A subcommand is required" && !unknown.empty())
    return "The following argument was not expected: " + unknown.front();
  const size_t equals = text.find(" = ");
  if (!text.starts_with(kBegin) || equals == std::string::npos) return text;
  return fmt::format("{}: expected a whole number, 0 or above, found \"{}\"",
                     text.substr(kBegin.size(), equals - kBegin.size()), text.substr(equals + 3));
}

int report_usage(const CLI::App& app, const CLI::ParseError& error, int argc, char** argv) {
  const bool is_error = error.get_exit_code() != 0;
  if (is_error && asks_for_json(argc, argv)) {
    const std::string hint = advice(app, argc, argv);
    const std::string text = usage_text(app, error);
    return report(stop(kUsage, hint.empty() ? text : fmt::format("{}; {}", text, hint)), {.json = true});
  }
  app.exit(error);
  if (!is_error) return kDone;
  if (const std::string hint = advice(app, argc, argv); !hint.empty()) print_error(hint);
  return kUsage;
}

}  // namespace

int main(int argc, char** argv) {
  if (is_process_starter(argv[0])) return report(run_annotated({argv + 1, argv + argc}));
  CLI::App app{"nrdctl: command-line client of nrd, the node resource daemon"};
  app.require_subcommand(1);
  app.fallthrough();  // options of nrdctl are accepted after a command, too
  app.set_version_flag("--version", std::string("nrdctl ") + nrd::kVersion);
  app.footer(
      "Exit codes: 0 success, 1 refused, 2 usage error, 3 daemon unreachable or client not trusted, 4 not found,\n"
      "75 try later, 77 not permitted.\n"
      "Example: nrdctl workload create --cpus 4-7 --ways 2 && nrdctl ways");
  app.failure_message([&app](const CLI::App*, const CLI::Error& error) {
    return usage_text(app, error) + "\nRun with --help for more information.\n";
  });
  Arguments arguments{.to = endpoint_of_environment()};
  declare_endpoint(app, arguments.to, arguments.password);
  declare_output(app, arguments);
  declare_commands(app, arguments);
  refuse_empty_options(app);
  try {
    app.parse(argc, argv);
    check_endpoint(app, arguments.to);
  } catch (const CLI::ParseError& error) {
    return report_usage(app, error, argc, argv);
  }
  ::curl_global_init(CURL_GLOBAL_DEFAULT);
  const Output output = output_of(arguments);
  const int exit = report(read_own_password(arguments).and_then(
                              [&] { return arguments.execute(Client(arguments.to).naming(option_of), output); }),
                          output);
  ::curl_global_cleanup();
  if (flush()) return exit;
  print_error("cannot write standard output: the result is incomplete");
  return exit == kDone ? kRefused : exit;
}
