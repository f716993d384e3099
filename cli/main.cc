// nrdctl: a client of the API.
#include <curl/curl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>

#include "cli/commands.h"

namespace {

using namespace nrd::cli;

struct Arguments {
  std::string url = "http://127.0.0.1:8081";
  bool json = false;
  NewWorkload wanted;
  uint32_t ways = 0;
  std::string id;
  std::vector<std::string> ids;
};

void declare_workload(CLI::App& app, Arguments& a) {
  CLI::App* workload = app.add_subcommand("workload", "create, list, show and delete workloads")->require_subcommand(1);
  CLI::App* create = workload->add_subcommand("create", "give CPUs ways of their L3 cache");
  create->add_option("--cpus", a.wanted.cpus, "CPU list, such as 4-7,12")->required();
  CLI::Option* ways = create->add_option("--ways", a.ways, "exactly that many ways for itself (a guarantee)");
  create->add_option("--max", a.wanted.max, "at most that many ways")->excludes(ways);
  create->add_option("--min", a.wanted.min, "at least that many ways; max 0 and min 0 share one class")->excludes(ways);
  create->add_option("--uuid", a.wanted.uuid, "your own name for it; unique");
  workload->add_subcommand("list", "all workloads");
  workload->add_subcommand("show", "one workload")->add_option("ID", a.id)->required();
  workload->add_subcommand("delete", "give everything back")->add_option("ID", a.ids)->required();
}

int execute(const CLI::App& app, Arguments& a) {
  const Client client(a.url);
  const bool colour = ::isatty(STDOUT_FILENO) == 1 && std::getenv("NO_COLOR") == nullptr;
  const Output output{.json = a.json, .colour = colour};
  if (app.got_subcommand("node")) return show_node(client, output);
  if (app.got_subcommand("ways")) return show_ways(client, output);
  const CLI::App* workload = app.get_subcommand("workload");
  if (workload->got_subcommand("list")) return list_workloads(client, output);
  if (workload->got_subcommand("show")) return show_workload(client, output, a.id);
  if (workload->got_subcommand("delete")) return delete_workloads(client, a.ids);
  if (a.ways > 0) a.wanted.max = a.wanted.min = a.ways;
  return create_workload(client, output, a.wanted);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"nrdctl: ask nrd, the node resource daemon"};
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 done, 1 refused by the daemon, 2 wrong usage, 3 the daemon cannot be reached.\n"
      "Example: nrdctl workload create --cpus 4-7 --ways 2 && nrdctl ways");
  Arguments arguments;
  app.add_option("--url", arguments.url, "where nrd serves")->envname("NRD_URL")->capture_default_str();
  app.add_flag("--json", arguments.json, "print the daemon's answer as it is");
  declare_workload(app, arguments);
  app.add_subcommand("node", "topology, capabilities and free ways");
  app.add_subcommand("ways", "draw who owns which cache ways");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kDone : kUsage;
  }
  ::curl_global_init(CURL_GLOBAL_DEFAULT);
  const int exit = execute(app, arguments);
  ::curl_global_cleanup();
  return exit;
}
