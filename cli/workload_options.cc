#include "cli/workload_options.h"

#include <map>
#include <string>
#include <string_view>

#include "base/json/writer.h"

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

}  // namespace

void declare_resources(CLI::App& app, NewWorkload& wanted) {
  CLI::Option* cpus = app.add_option("--cpus", wanted.cpus, "CPU list, such as 4-7,12");
  CLI::Option* ways = app.add_option("--ways", wanted.ways, "exact number of exclusive L3 cache ways (guarantee)");
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
  for (const char* pooled : {"--pool", "--count", "--cores", "--pool-cpus", "--near"})
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
  options.at("--adaptive")->check(CLI::PositiveNumber);
  app.add_option("--uuid", wanted.uuid, "unique id of your choice for the workload");
  app.add_option("--policy", wanted.policy, "policy that supplies ways, bandwidth and frequencies");
  app.add_option("--name", wanted.name, "unique name, which every command takes in place of the id");
  app.add_option("--label", wanted.labels, "label KEY=VALUE; repeatable")->allow_extra_args(false);
}

void expand_ways(NewWorkload& wanted) {
  if (wanted.ways == 0 && !wanted.resources.contains("cache")) return;
  for (const char* bound : {"max", "min"}) wanted.resources["cache"].try_emplace(bound, std::to_string(wanted.ways));
}

}  // namespace nrd::cli
