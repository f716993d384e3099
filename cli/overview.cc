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
  print_format("cache %s (CPUs %s)\n", text_of(cache, "id").c_str(), text_of(cache, "cpus").c_str());
  for (const json::Member& pool : part(cache, "pools").members()) {
    const uint64_t ways = number_in(pool.value, "ways");
    const std::string size = size_text(number_in(pool.value, "free"), cache);
    print_format("  %-11s %s of %s%s free\n", pool.key.c_str(), text_of(pool.value, "free").c_str(),
                 count_text(ways).c_str(), size.c_str());
  }
}

void print_workload_line(const json::Value& workload) {
  const std::string name = text_or_nothing(workload, "name");
  print_format("  %s%s: %s, %s, %s\n", text_of(workload, "id").c_str(),
               name.empty() ? "" : (fmt::format(" ({})", name)).c_str(), text_of(workload, "pool").c_str(),
               whom(workload).c_str(), text_of(workload, "status").c_str());
}

void print_changes(const json::Value& report, const char* key, const char* title) {
  const json::Value& changes = part(report, key);
  if (changes.items().empty()) return;
  print_format("%s\n", title);
  for (const json::Value& change : changes.items()) {
    print(fmt::format("  {}: {} -> {}\n", text_of(change, "key"), json::to_json(part(change, "from")),
                      json::to_json(part(change, "to"))));
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
  if (!text.empty()) print(fmt::format("declared workloads: {}\n", text));
  for (const json::Value& problem : part(workloads, "problems").items())
    print(fmt::format("warning: declared workload not granted: {}\n", text_in(problem)));
}

}  // namespace

Outcome<> show_status(const Client& client, Output output) {
  const std::string health_text = TRY(body_of(client.get("/v1/health")));
  const json::Value health = TRY(parsed(health_text));
  const bool is_ok = text_of(health, "status") == "ok";
  const Outcome<> end = is_ok ? Outcome<>() : stop(kRefused);
  if (output.json) {
    print_json(health_text);
    return end;
  }
  const json::Value node = TRY(value_of(client.get("/v1/node")));
  const json::Value workloads = TRY(value_of(client.get("/v1/workloads")));
  print_format("nrd %s: %s\n", text_of(health, "version").c_str(), text_of(health, "status").c_str());
  if (const std::string problem = text_or_nothing(health, "hardware_problem"); !problem.empty()) {
    print(fmt::format("hardware: {}\n", problem));
  }
  if (is_true(health, "writes_frozen")) print("changes are rejected until the store can be read\n");
  const json::Value& classes = part(node, "classes");
  print_format("classes of service: %s of %s in use\n", text_of(classes, "used").c_str(),
               text_of(classes, "total").c_str());
  for (const json::Value& cache : part(node, "caches").items()) print_pools(cache);
  print_format("workloads: %zu\n", workloads.items().size());
  constexpr size_t kMostLines = 20;
  for (size_t i = 0; i < workloads.items().size() && i < kMostLines; ++i) print_workload_line(workloads.items()[i]);
  if (workloads.items().size() > kMostLines) print("  …; nrdctl workload list shows all\n");
  for (const json::Value& warning : part(health, "warnings").items())
    print(fmt::format("warning: {}\n", text_in(warning)));
  return end;
}

Outcome<> show_capacity(const Client& client, Output output) {
  const json::Value node = TRY(value_to_draw(client.get("/v1/node"), output));
  const json::Value& classes = part(node, "classes");
  const uint64_t used = number_in(classes, "used") + number_in(classes, "reserved");
  const uint64_t total = number_in(classes, "total");
  print_format("new classes of service: %llu\n", static_cast<unsigned long long>(total > used ? total - used : 0));
  for (const json::Value& cache : part(node, "caches").items()) {
    print_format("cache %s (CPUs %s)\n", text_of(cache, "id").c_str(), text_of(cache, "cpus").c_str());
    for (const auto& [key, title] : {std::pair{"guarantee", "a guarantee"}, std::pair{"besteffort", "best effort"}}) {
      const uint64_t run = number_in(part(part(cache, "pools"), key), "longest_run");
      print_format("  %s: %s\n", title, run == 0 ? "nothing left" : ("at most " + ways_text(run, cache)).c_str());
    }
  }
  return {};
}

Outcome<> list_policies(const Client& client, Output output) {
  const json::Value policies = TRY(value_to_draw(client.get("/v1/policy"), output));
  Table table({"POLICY", "REQUEST"});
  for (const json::Member& policy : policies.members()) table.add({policy.key, json::to_json(policy.value)});
  table.print(output);
  return {};
}

Outcome<> show_policy(const Client& client, Output output, const std::string& name) {
  const json::Value policies = TRY(value_of(client.get("/v1/policy")));
  const json::Value* found = policies.find(name);
  if (!found) return stop(kNoSuch, fmt::format("there is no policy {}; nrdctl policy list shows all", name));
  output.json ? print_json(json::to_json(*found)) : print(fmt::format("{} {}\n", name, json::to_json(*found)));
  return {};
}

Outcome<> show_frequencies(const Client& client, Output output) {
  const json::Value cpus = TRY(value_to_draw(client.get("/v1/pstate"), output));
  Table table({"CPU", "DRIVER", "GHZ", "GOVERNOR", "EPP", "WORKLOAD"});
  for (const json::Value& cpu : part(cpus, "cpus").items()) {
    const json::Value& set = part(cpu, "set");
    table.add({text_of(cpu, "cpu"), text_of(cpu, "driver"),
               fmt::format("{} - {}", ghz(number_in(set, "min_khz")), ghz(number_in(set, "max_khz"))),
               text_of(set, "governor"), text_of(set, "epp"), text_of(cpu, "workload")});
  }
  table.print(output);
  for (const json::Value& missing : part(cpus, "missing").items())
    print(fmt::format("missing: {}\n", text_in(missing)));
  return {};
}

Outcome<> show_configuration(const Client& client, Output output) {
  const json::Value config = TRY(value_to_draw(client.get("/v1/config"), output));
  Table table({"SETTING", "VALUE", "SOURCE"});
  for (const json::Value& setting : part(config, "settings").items()) {
    const std::string source = text_of(setting, "source");
    table.add({text_of(setting, "key"), json::to_json(part(setting, "value")),
               (source == "file" ? text_of(setting, "file") + ":" + text_of(setting, "line") : source) +
                   (is_true(setting, "reload") ? "" : " (restart)")});
  }
  table.print(output);
  return {};
}

Outcome<> reload(const Client& client, Output output, bool is_dry) {
  const json::Value report = TRY(
      value_to_draw(client.post("/v1/config/reload", is_dry ? R"({"dry_run":true})" : R"({"dry_run":false})"), output));
  print_changes(report, "changed", is_dry ? "would change:" : "changed:");
  print_changes(report, "restart_required", "requires systemctl restart nrd:");
  if (part(report, "changed").items().empty()) print("no setting has changed\n");
  if (!is_dry) print_declared(report);
  return {};
}

Outcome<> show_version(const Client& client, Output output, const std::string& own) {
  const Outcome<json::Value> health = value_of(client.get("/v1/health"));
  const std::string daemon = health ? text_of(*health, "version") : "";
  if (output.json) {
    print_json(json::to_json(
        json::Value::object({{"nrdctl", json::Value::string(own)},
                             {"nrd", daemon.empty() ? json::Value::null() : json::Value::string(daemon)}})));
  } else {
    print(fmt::format("nrdctl {}\nnrd    {}\n", own, daemon.empty() ? "unreachable" : daemon));
  }
  return health ? Outcome<>() : tl::unexpected(Stop{health.error().exit, health.error().error});
}

}  // namespace nrd::cli
