#include "cli/overview.h"

#include <fmt/core.h>

#include "base/json/fields.h"
#include "cli/documents.h"
#include "cli/draw.h"
#include "cli/human_units.h"
#include "cli/table.h"

namespace nrd::cli {
namespace {

std::string count_text(uint64_t ways) { return std::to_string(ways) + (ways == 1 ? " way" : " ways"); }

// ", 4.5 MiB"; empty: the size is unknown.
std::string size_text(uint64_t ways, const json::Value& cache) {
  const auto bytes = part(cache, "way_bytes").as_unsigned();
  return bytes ? ", " + mib(ways * *bytes) : "";
}

// "3 ways, 4.5 MiB"; without a size "3 ways".
std::string ways_text(uint64_t ways, const json::Value& cache) { return count_text(ways) + size_text(ways, cache); }

uint64_t number_in(const json::Value& object, std::string_view key) {
  return part(object, key).as_unsigned().value_or(0);
}

void print_pools(const json::Value& cache) {
  print("cache {} (CPUs {})\n", text_at(cache, "id"), text_at(cache, "cpus"));
  for (const json::Member& pool : part(cache, "pools").members()) {
    const uint64_t ways = number_in(pool.value, "ways");
    const std::string size = size_text(number_in(pool.value, "free"), cache);
    print("  {:<11} {} of {}{} free\n", pool.key, text_at(pool.value, "free"), count_text(ways), size);
  }
}

void print_workload_line(const json::Value& workload) {
  const std::string name = text_or_nothing(workload, "name");
  print("  {}{}: {}, {}, {}\n", text_at(workload, "id"), name.empty() ? "" : fmt::format(" ({})", name),
        text_at(workload, "pool"), whom(workload), text_at(workload, "status"));
}

void print_changes(const json::Value& report, const char* key, const char* title) {
  const json::Value& changes = part(report, key);
  if (changes.items().empty()) return;
  print("{}\n", title);
  for (const json::Value& change : changes.items()) {
    print("  {}: {} -> {}\n", text_at(change, "key"), json::to_json(part(change, "from")),
          json::to_json(part(change, "to")));
  }
}

// Of the workloads that files declare.
void print_declared(const json::Value& report) {
  const json::Value& workloads = part(report, "workloads");
  if (!workloads.is_object()) {
    print("declared workloads are still being applied; nrdctl status shows those that are not granted\n");
    return;
  }
  std::string text;
  for (const char* what : {"created", "changed", "deleted"}) {
    if (const uint64_t count = number_in(workloads, what); count > 0)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, what);
  }
  if (!text.empty()) print("declared workloads: {}\n", text);
  for (const json::Value& problem : part(workloads, "problems").items())
    print("warning: declared workload not granted: {}\n", text_in(problem));
}

}  // namespace

OrStop<> show_status(const Client& client, Output output) {
  const std::string health_text = TRY(body_of(client.get("/v1/health")));
  const json::Value health = TRY(parsed(health_text));
  const bool is_ok = text_at(health, "status") == "ok";
  const OrStop<> end = is_ok ? OrStop<>() : stop(kRefused);
  if (output.json) {
    print_json(health_text);
    return end;
  }
  const json::Value node = TRY(value_of(client.get("/v1/node")));
  const json::Value workloads = TRY(value_of(client.get("/v1/workloads")));
  print("nrd {}: {}\n", text_at(health, "version"), text_at(health, "status"));
  if (const std::string problem = text_or_nothing(health, "hardware_problem"); !problem.empty()) {
    print("hardware: {}\n", problem);
  }
  if (is_true(health, "writes_frozen")) print("changes are rejected until the store can be read\n");
  const json::Value& classes = part(node, "classes");
  print("classes of service: {} of {} in use\n", text_at(classes, "used"), text_at(classes, "total"));
  for (const json::Value& cache : part(node, "caches").items()) print_pools(cache);
  print("workloads: {}\n", workloads.items().size());
  constexpr size_t kMostLines = 20;
  for (size_t i = 0; i < workloads.items().size() && i < kMostLines; ++i) print_workload_line(workloads.items()[i]);
  if (workloads.items().size() > kMostLines) print("  …; nrdctl workload list shows all\n");
  for (const json::Value& warning : part(health, "warnings").items()) print("warning: {}\n", text_in(warning));
  return end;
}

OrStop<> show_capacity(const Client& client, Output output) {
  const json::Value node = TRY(value_to_draw(client.get("/v1/node"), output));
  const json::Value& classes = part(node, "classes");
  const uint64_t used = number_in(classes, "used") + number_in(classes, "reserved");
  const uint64_t total = number_in(classes, "total");
  print("new classes of service: {}\n", total > used ? total - used : 0);
  for (const json::Value& cache : part(node, "caches").items()) {
    print("cache {} (CPUs {})\n", text_at(cache, "id"), text_at(cache, "cpus"));
    for (const auto& [key, title] : {std::pair{"guarantee", "a guarantee"}, std::pair{"besteffort", "best effort"}}) {
      const uint64_t run = number_in(part(part(cache, "pools"), key), "longest_run");
      print("  {}: {}\n", title, run == 0 ? "nothing left" : "at most " + ways_text(run, cache));
    }
  }
  return {};
}

OrStop<> list_policies(const Client& client, Output output) {
  const json::Value policies = TRY(value_to_draw(client.get("/v1/policy"), output));
  Table table({"POLICY", "REQUEST"});
  for (const json::Member& policy : policies.members()) table.add({policy.key, json::to_json(policy.value)});
  table.print(output);
  return {};
}

OrStop<> show_policy(const Client& client, Output output, const std::string& name) {
  const json::Value policies = TRY(value_of(client.get("/v1/policy")));
  const json::Value* found = policies.find(name);
  if (!found) return stop(kNoSuch, fmt::format("there is no policy {}; nrdctl policy list shows all", name));
  output.json ? print_json(json::to_json(*found)) : print("{} {}\n", name, json::to_json(*found));
  return {};
}

OrStop<> show_frequencies(const Client& client, Output output) {
  const json::Value cpus = TRY(value_to_draw(client.get("/v1/pstate"), output));
  Table table({"CPU", "DRIVER", "GHZ", "GOVERNOR", "EPP", "WORKLOAD"});
  for (const json::Value& cpu : part(cpus, "cpus").items()) {
    const json::Value& set = part(cpu, "set");
    table.add({text_at(cpu, "cpu"), text_at(cpu, "driver"),
               fmt::format("{} - {}", ghz(number_in(set, "min_khz")), ghz(number_in(set, "max_khz"))),
               text_at(set, "governor"), text_at(set, "epp"), text_at(cpu, "workload")});
  }
  table.print(output);
  for (const json::Value& missing : part(cpus, "missing").items()) print("missing: {}\n", text_in(missing));
  return {};
}

OrStop<> show_configuration(const Client& client, Output output) {
  const json::Value config = TRY(value_to_draw(client.get("/v1/config"), output));
  Table table({"SETTING", "VALUE", "SOURCE"});
  for (const json::Value& setting : part(config, "settings").items()) {
    const std::string source = text_at(setting, "source");
    table.add({text_at(setting, "key"), json::to_json(part(setting, "value")),
               (source == "file" ? text_at(setting, "file") + ":" + text_at(setting, "line") : source) +
                   (is_true(setting, "reload") ? "" : " (restart)")});
  }
  table.print(output);
  return {};
}

OrStop<> reload(const Client& client, Output output, bool is_dry) {
  const json::Value report = TRY(
      value_to_draw(client.post("/v1/config/reload", is_dry ? R"({"dry_run":true})" : R"({"dry_run":false})"), output));
  print_changes(report, "changed", is_dry ? "would change:" : "changed:");
  print_changes(report, "restart_required", "requires systemctl restart nrd:");
  if (part(report, "changed").items().empty()) print("no setting has changed\n");
  if (!is_dry) print_declared(report);
  return {};
}

OrStop<> show_version(const Client& client, Output output, const std::string& own) {
  const OrStop<json::Value> health = value_of(client.get("/v1/health"));
  const std::string daemon = health ? text_at(*health, "version") : "";
  if (output.json) {
    print_json(json::to_json(
        json::Value::object({{"nrdctl", json::Value::string(own)},
                             {"nrd", daemon.empty() ? json::Value::null() : json::Value::string(daemon)}})));
  } else {
    print("nrdctl {}\nnrd    {}\n", own, daemon.empty() ? "unreachable" : daemon);
  }
  return health ? OrStop<>() : tl::unexpected(Stop{health.error().exit, health.error().error});
}

}  // namespace nrd::cli
