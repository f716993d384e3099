#include "cli/declare_workload.h"

#include <fmt/core.h>

#include <charconv>
#include <cstdint>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/json/writer.h"
#include "base/number.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/unit_process.h"

namespace nrd::cli {
namespace {

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
    case ResourceOption::Argument::Texts:
      return app
          .add_option_function<std::vector<std::string>>(
              flag,
              [set](const std::vector<std::string>& texts) {
                json::Writer list;
                json::write(list, texts);
                set(list.take());
              },
              help)
          ->allow_extra_args(false);
    case ResourceOption::Argument::Text: break;
  }
  return app.add_option_function<std::string>(
      flag, [set](const std::string& text) { set(json::quoted(text)); }, help);
}

// CLI::PositiveNumber would name the largest double as the limit, in 309 digits.
CLI::Validator above_0() {
  return CLI::Validator(
      [](const std::string& text) {
        double number = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        const bool is_good = error == std::errc() && end == text.data() + text.size() && number > 0;
        return is_good ? "" : fmt::format("\"{}\" is not a number above 0", text);
      },
      "");
}

void declare_create(CLI::App& workload, Arguments& a) {
  CLI::App* create = declare(workload, a, "create", "assign cache ways, bandwidth and frequencies to CPUs or tasks",
                             [&a](const Client& client, Output output) {
                               expand_ways(a.wanted);
                               return (a.is_dry ? dry_run_workload : create_workload)(naming_options(client, a.wanted),
                                                                                      output, a.wanted);
                             });
  declare_resources(*create, a.wanted);
  create->add_option("--task-ids", a.wanted.tasks, "PIDs (all threads of the process) and TIDs, such as 4711,4712")
      ->delimiter(',');
  create->add_option("--unit", a.wanted.unit, "service or scope of systemd instead of tasks, such as feed.service");
  create->add_option("--cgroup", a.wanted.cgroup, "cgroup instead of tasks, such as /x/y below /sys/fs/cgroup");
  create
      ->add_option("--owner", a.wanted.owner,
                   "process ID or service (feed.service); the workload is deleted when the process, or the service's "
                   "main process, ends. cgroup: when the unit or cgroup has no process any more")
      ->check([](const std::string& owner) {
        const bool is_pid = nrd::parse_number<uint32_t>(owner).value_or(0) > 0;
        const bool is_known = is_pid || is_service(owner) || owner == kCgroupOwner;
        return is_known ? "" : owner + ": expected a process ID, a service such as feed.service, or cgroup";
      });
  create
      ->add_option("--within-seconds", a.wanted.within_seconds,
                   "with --owner cgroup: delete the workload if no process comes within this time (300)")
      ->check(CLI::Range(1, 86400));
  create->add_option("--id", a.wanted.id, "unique id of your choice, instead of a number");
  CLI::Option* file = create->add_option("-f,--file", a.wanted.file,
                                         "document of the whole request, TOML, YAML or JSON; - is standard input");
  for (CLI::Option* other : create->get_options()) {
    if (other != file && other != create->get_help_ptr()) file->excludes(other);
  }
  create->add_flag("--dry-run", a.is_dry, "show what would be granted and changed without applying it");
}

void declare_update(CLI::App& workload, Arguments& a) {
  CLI::App* update = declare(workload, a, "update", "change parts of a workload, keep the others",
                             [&a](const Client& client, Output output) {
                               if (a.wanted.ways > 0) expand_ways(a.wanted);
                               return update_workload(naming_options(client, a.wanted), output, a.id, a.wanted);
                             });
  update->add_option("ID", a.id, "id, uuid or name")->required();
  declare_resources(*update, a.wanted);
  update->add_option("--task-ids", a.wanted.tasks, "PIDs and TIDs, such as 4711,4712")->delimiter(',');
  update->add_option("--no-label", a.wanted.removed_labels, "key of a label to remove; repeatable")
      ->allow_extra_args(false);
  for (const auto& [flag, part, help] :
       {std::tuple{"--no-cpu", "cpu", "give the CPUs of a pool back"},
        std::tuple{"--no-cache", "cache", "give the L3 cache ways back"},
        std::tuple{"--no-l2", "l2", "give the L2 cache ways back"},
        std::tuple{"--no-mba", "mba", "remove the memory bandwidth limit"},
        std::tuple{"--no-frequency", "pstate", "restore the frequencies of its CPUs"},
        std::tuple{"--no-onload", "onload", "remove the use of Onload"},
        std::tuple{"--no-tasks", "task_ids", "remove all tasks"}, std::tuple{"--no-name", "name", "remove the name"}}) {
    update->add_flag_callback(
        flag, [&a, name = part] { a.wanted.removed.emplace_back(name); }, help);
  }
  for (const auto& [removing, setting] :
       {std::pair{"--no-cpu", "--count"}, std::pair{"--no-cpu", "--cores"}, std::pair{"--no-cpu", "--pool-cpus"},
        std::pair{"--no-mba", "--mba-percentage"}, std::pair{"--no-mba", "--mba-mbps"},
        std::pair{"--no-tasks", "--task-ids"}, std::pair{"--no-name", "--name"}}) {
    update->get_option(removing)->excludes(update->get_option(setting));
  }
}

}  // namespace

void declare_resources(CLI::App& app, NewWorkload& wanted) {
  CLI::Option* cpus = app.add_option("--cpus", wanted.cpus, "CPU list, such as 4-7,12");
  CLI::Option* ways =
      app.add_option("--ways", wanted.ways, "exact number of exclusive L3 cache ways (guarantee)")->check(above_0());
  std::map<std::string_view, CLI::Option*> options;
  constexpr std::string_view kPool = "--pool";  // not of one part: there may be several
  for (const ResourceOption& each : resource_options()) {
    if (each.option.flag == kPool) continue;
    options[each.option.flag] = declare_resource(app, each, wanted);
  }
  options[kPool] =
      app.add_option("--pool", wanted.pools,
                     "CPU pool to take CPUs from, such as fast, fast=2, common=500m (thousandths of a CPU); "
                     "may be left out if there is one; repeatable")
          ->allow_extra_args(false)
          ->check(CLI::Validator(
              [](const std::string& text) {
                return is_pool_request(text) ? "" : text + ": expected POOL, POOL=CPUS or POOL=MILLIm";
              },
              ""));
  for (const char* bound : {"--min", "--max"}) options.at(bound)->excludes(ways);
  for (const char* pooled : {"--pool", "--count", "--cores", "--pool-cpus", "--request-milli", "--limit-milli",
                             "--near", "--apart", "--among", "--enforce", "--memory", "--migrate"})
    options.at(pooled)->excludes(cpus);
  options.at("--count")->excludes(options.at("--cores"))->excludes(options.at("--pool-cpus"));
  options.at("--cores")->excludes(options.at("--pool-cpus"));
  options.at("--strict")->needs(options.at("--near"));
  options.at("--apart-level")->needs(options.at("--apart"));
  options.at("--l2-code-ways")->needs(options.at("--l2-ways"));
  options.at("--mba-mbps")->excludes(options.at("--mba-percentage"));
  for (const char* bound : {"--min-mhz", "--max-mhz"}) {
    options.at(bound)->excludes(options.at("--min-ratio"))->excludes(options.at("--max-ratio"));
  }
  options.at("--adaptive")->check(above_0());
  app.add_option("--uuid", wanted.uuid, "unique id of your choice for the workload");
  app.add_option("--policy", wanted.policy, "policy that supplies ways, bandwidth and frequencies");
  app.add_option("--name", wanted.name, "unique name, which every command takes in place of the id");
  app.add_option("--label", wanted.labels, "label KEY=VALUE; repeatable")->allow_extra_args(false);
}

void expand_ways(NewWorkload& wanted) {
  if (wanted.ways == 0 && !wanted.resources.contains("cache")) return;
  for (const char* bound : {"max", "min"}) wanted.resources["cache"].try_emplace(bound, std::to_string(wanted.ways));
}

Client naming_options(const Client& client, const NewWorkload& wanted) {
  if (!wanted.file.empty()) return client.naming(nullptr);
  if (wanted.ways == 0) return client;
  return client.naming([](const std::string& pointer) {
    const std::string option = option_of(pointer);
    return option == "--max" || option == "--min" ? "--ways" : option;
  });
}

void declare_workload(CLI::App& app, Arguments& a) {
  CLI::App* workload =
      app.add_subcommand("workload", "create, list, change and delete workloads")->require_subcommand(1);
  declare_create(*workload, a);
  declare_update(*workload, a);
  CLI::App* list = declare(*workload, a, "list", "list workloads", [&a](const Client& client, Output output) {
    return list_workloads(client, output, a.filter);
  });
  list->add_option("--name", a.filter.name, "only the workload with this name");
  list->add_option("--label", a.filter.labels, "only workloads with this label, KEY=VALUE or KEY; repeatable")
      ->allow_extra_args(false);
  list->add_flag("--watch", a.filter.watch, "print the list again after each change, until Ctrl-C");
  declare(*workload, a, "show", "show one workload",
          [&a](const Client& client, Output output) { return show_workload(client, output, a.id); })
      ->add_option("ID", a.id, "id, uuid or name")
      ->required();
  declare(*workload, a, "describe", "show everything about one workload",
          [&a](const Client& client, Output output) { return describe_workload(client, output, a.id); })
      ->add_option("ID", a.id, "id, uuid or name")
      ->required();
  CLI::App* remove = declare(
      *workload, a, "delete", "delete workloads and release their resources",
      [&a](const Client& client, Output output) { return delete_workloads(client, output, a.ids, a.is_forced); });
  remove->add_option("ID", a.ids, "id, uuid or name")->required();
  remove->add_flag("--force", a.is_forced, "also workloads of another origin, over the Unix socket");
  CLI::App* wait =
      declare(*workload, a, "wait", "wait until a workload is applied or deleted", [&a](const Client& client, Output) {
        const Awaited awaited = a.awaited == "deleted" ? Awaited::Deleted : Awaited::Successful;
        return wait_for_workload(client, a.id, awaited, a.timeout);
      });
  wait->add_option("ID", a.id, "id, uuid or name")->required();
  wait->add_option("--for", a.awaited, "what to wait for: successful or deleted")
      ->check(CLI::IsMember({"successful", "deleted"}))
      ->capture_default_str();
  wait->add_option("--timeout", a.timeout, "seconds")->capture_default_str();
}

}  // namespace nrd::cli
