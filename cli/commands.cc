#include "cli/commands.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <span>
#include <thread>

#include "base/joined.h"
#include "base/json/fields.h"
#include "base/json/reader.h"
#include "cli/answer.h"
#include "cli/documents.h"
#include "cli/draw.h"
#include "cli/draw_cpus.h"
#include "cli/find_workload.h"
#include "cli/human_units.h"
#include "cli/operation.h"
#include "cli/table.h"
#include "cli/unit_process.h"

namespace nrd::cli {
namespace {

// "4-7", "tasks 4711,4712", "4-7, tasks 4711".
std::string column_of_whom(const json::Value& workload) {
  const std::string text = whom(workload);
  return text.starts_with("CPUs ") ? text.substr(5) : text;
}

// "0:30 1:600": the mask on each cache.
std::string masks(const json::Value& workload) {
  const std::string text = joined(part(workload, "granted_ways").members(), " ", [](const json::Member& cache) {
    return cache.key + ":" + text_at(cache.value, "mask");
  });
  return text.empty() ? "-" : text;
}

std::string asked(const json::Value& workload) {
  const json::Value* cache = workload.find("cache");
  return cache == nullptr || cache->members().empty() ? "-" : text_at(*cache, "max") + "/" + text_at(*cache, "min");
}

// "50%", "2000 MB/s"; empty: memory bandwidth is not limited.
std::string bandwidth_of(const json::Value& workload) {
  const json::Value& limit = part(part(workload, "rdt"), "mba");
  if (limit.find("percentage") != nullptr) return text_at(limit, "percentage") + "%";
  return limit.find("mbps") != nullptr ? text_at(limit, "mbps") + " MB/s" : "";
}

// "4"; with CDP "4 (code 1)"; empty: no L2 ways beside L3.
std::string l2_of(const json::Value& workload) {
  const json::Value& l2 = part(workload, "l2");
  if (!l2.is_object()) return "";
  return text_at(l2, "ways") + (l2.find("code") == nullptr ? "" : fmt::format(" (code {})", text_at(l2, "code")));
}

// "2000 MB/s (2 GB/s)"
std::string bandwidth_in_both(const json::Value& workload) {
  const auto mbps = part(part(part(workload, "rdt"), "mba"), "mbps").as_unsigned();
  return bandwidth_of(workload) + (mbps ? fmt::format(" ({})", gb_per_second(*mbps)) : "");
}

struct Column {
  const char* title;
  std::string (*cell_of)(const json::Value& workload);
  enum { Always, IfUsed, Wide } shown = Always;  // IfUsed: if at least one workload has it
};
constexpr std::array kColumns = {
    Column{"ID", [](const json::Value& workload) { return text_at(workload, "id"); }},
    Column{"POOL", [](const json::Value& workload) { return text_at(workload, "pool"); }},
    Column{"CLASS", [](const json::Value& workload) { return text_at(workload, "cos_name"); }},
    Column{"MAX/MIN", asked},
    Column{"CPUS", column_of_whom},
    Column{"WAYS", masks},
    Column{"L2", l2_of, Column::IfUsed},
    Column{"BANDWIDTH", bandwidth_in_both, Column::IfUsed},
    Column{"RATIO", ratios_of},
    Column{"GHZ", frequencies_of, Column::Wide},
    Column{"STATUS", [](const json::Value& workload) { return text_at(workload, "status"); }},
    Column{"NAME", [](const json::Value& workload) { return text_or_nothing(workload, "name"); }, Column::IfUsed},
    Column{"LABELS", labels_of, Column::IfUsed},
    Column{"UUID", [](const json::Value& workload) { return text_at(workload, "uuid"); }}};

bool is_shown(const Column& column, std::span<const json::Value> workloads, const Output& output) {
  if (column.shown == Column::Always || output.wide) return true;
  return column.shown == Column::IfUsed &&
         std::ranges::any_of(workloads, [&](const json::Value& workload) { return !column.cell_of(workload).empty(); });
}

// One line per workload.
void print_table(std::span<const json::Value> workloads, const Output& output) {
  if (output.names) {
    for (const json::Value& workload : workloads) print(text_at(workload, "id") + "\n");
    return;
  }
  if (output.yaml) {
    std::vector<json::Value> requests;
    for (const json::Value& workload : workloads) requests.push_back(request_in(workload));
    return print(document_with(requests));
  }
  std::vector<Column> columns;
  std::vector<std::string> titles;
  for (const Column& column : kColumns) {
    if (!is_shown(column, workloads, output)) continue;
    columns.push_back(column);
    titles.emplace_back(column.title);
  }
  Table table(titles);
  for (const json::Value& workload : workloads) {
    std::vector<std::string> cells;
    for (const Column& column : columns) {
      const std::string cell = column.cell_of(workload);
      cells.push_back(cell.empty() ? "-" : cell);
    }
    table.add(std::move(cells));
  }
  table.print(output);
}

OrStop<> print_workload(const Result<Answer>& answer, Output output) {
  const json::Value workload = TRY(value_to_draw(answer, output));
  print_table({&workload, 1}, output);
  return {};
}

OrStop<> check_request(const NewWorkload& wanted) {
  const bool has_tasks = !wanted.tasks.empty() || !wanted.unit.empty() || !wanted.cgroup.empty();
  if (wanted.cpus.empty() && !has_tasks && !asks_for_pooled_cpus(wanted)) {
    return stop(kUsage, "no CPUs or tasks given; use --cpus, --count or --task-ids (nrdctl workload create --help)");
  }
  if (wanted.within_seconds && wanted.owner != kCgroupOwner)
    return stop(kUsage, "--within-seconds requires --owner cgroup");
  if (asks_something(wanted)) return {};
  return stop(
      kUsage,
      "no resources given; use --ways, --max and --min, --l2-ways, or a frequency (nrdctl workload create --help)");
}

// The body of the POST: of the options, or the document.
OrStop<std::string> request_of(const Client& client, NewWorkload wanted) {
  if (!wanted.file.empty()) {
    const auto documents = TRY(read_documents_at(wanted.file));
    if (documents.size() == 1) return json::to_json(documents.front().body);
    return stop(kUsage,
                fmt::format("{}: expected one workload, found {}; use nrdctl apply -f", wanted.file, documents.size()));
  }
  TRY(check_request(wanted));
  if (is_service(wanted.owner)) {
    if (!client.is_local()) return stop(kUsage, "--owner: a service belongs to this host; requires --socket");
    const Result<std::string> process = main_process_of(wanted.owner);
    if (!process) return stop(kRefused, "--owner: " + process.error().message);
    wanted.owner = *process;
  }
  return workload_request(wanted);
}

}  // namespace

OrStop<> create_workload(const Client& client, Output output, const NewWorkload& wanted) {
  const Result<Answer> answer = client.post("/v1/workloads", TRY(request_of(client, wanted)));
  return print_workload(TRY(after_operation(client, answer, output)), output);
}

OrStop<> dry_run_workload(const Client& client, Output output, const NewWorkload& wanted) {
  const Result<Answer> answer = client.post("/v1/workloads?dry_run=true", TRY(request_of(client, wanted)));
  const json::Value preview = TRY(value_to_draw(answer, output));
  print_table({&part(preview, "workload"), 1}, output);
  for (const json::Value& change : part(preview, "changes").items()) {
    print("{}: {} -> {}\n", text_at(change, "knob"), text_at(change, "from"), text_at(change, "to"));
  }
  return {};
}

OrStop<> update_workload(const Client& client, Output output, const std::string& called, const NewWorkload& wanted) {
  const std::string id = TRY(find_workload(client, called));
  const Result<Answer> answer = client.patch("/v1/workloads/" + encoded(id), workload_request(wanted));
  return print_workload(TRY(after_operation(client, answer, output)), output);
}

namespace {

using Steady = std::chrono::steady_clock;

// A status that changes before a poll begins has no new revision; short polls bound the delay.
constexpr std::chrono::seconds kLongestPoll(5);

OrStop<std::string> revision_of(const Client& client) {
  return text_at(TRY(value_of(client.get("/v1/health"))), "revision");
}

// Until the workloads are no longer those of `revision`, or `end`.
OrStop<> wait_for_change(const Client& client, const std::string& revision, Steady::time_point end) {
  const auto begin = Steady::now();
  const auto wait = std::min(kLongestPoll, std::chrono::floor<std::chrono::seconds>(end - begin));
  if (wait.count() > 0) {
    TRY(body_of(client.get(fmt::format("/v1/workloads?since={}&wait={}", revision, wait.count()))));
  }
  std::this_thread::sleep_until(std::min(begin + kPollInterval, end));
  return {};
}

OrStop<> print_list(const std::string& body, const Output& output) {
  if (output.json) {
    print_json(body);
    return {};
  }
  const json::Value workloads = TRY(parsed(body));
  print_table(workloads.items(), output);
  return {};
}

}  // namespace

OrStop<> list_workloads(const Client& client, Output output, const WorkloadFilter& filter) {
  std::string query = filter.name.empty() ? "" : "&name=" + encoded(filter.name);
  for (const std::string& label : filter.labels) {
    query += (query.find("&label=") == std::string::npos ? "&label=" : "%2C") + encoded(label);
  }
  if (!query.empty()) query[0] = '?';
  // Read before the list, so that a change between the two is seen.
  std::string revision = filter.watch ? TRY(revision_of(client)) : std::string();
  std::string shown = TRY(body_of(client.get("/v1/workloads" + query)));
  TRY(print_list(shown, output));
  const Client patient = client.over_restarts();
  while (filter.watch) {
    if (!flush()) return stop(kRefused);
    TRY(wait_for_change(patient, revision, Steady::now() + kLongestPoll));
    revision = TRY(revision_of(patient));
    const std::string body = TRY(body_of(patient.get("/v1/workloads" + query)));
    if (body != shown) TRY(print_list(body, output));
    shown = body;
  }
  return {};
}

OrStop<> show_workload(const Client& client, Output output, const std::string& called) {
  const std::string id = TRY(find_workload(client, called));
  return print_workload(client.get("/v1/workloads/" + encoded(id)), output);
}

OrStop<> describe_workload(const Client& client, Output output, const std::string& called) {
  const std::string id = TRY(find_workload(client, called));
  const json::Value workload = TRY(value_to_draw(client.get("/v1/workloads/" + encoded(id)), output));
  for (const json::Member& member : workload.members()) {
    const std::string text = text_in(member.value);
    print("{} {}\n", padded(member.key, 20), text.empty() ? json::to_json(member.value) : text);
  }
  const json::Value node = TRY(value_of(client.get("/v1/node")));
  for (const auto& [title, text] :
       {std::pair{"ways", granted_ways_of(workload, node)}, std::pair{"frequency", frequencies_of(workload)},
        std::pair{"bandwidth", bandwidth_in_both(workload)}}) {
    if (!text.empty()) print("{} {}\n", padded(title, 20), text);
  }
  print("\n");
  return show_ways(client, output);
}

OrStop<> delete_workloads(const Client& client, Output output, const std::vector<std::string>& called, bool is_forced) {
  int worst = kDone;
  for (const std::string& each : called) {
    const OrStop<> deleted = find_workload(client, each).and_then([&](const std::string& id) -> OrStop<> {
      TRY(body_of(client.remove("/v1/workloads/" + encoded(id) + (is_forced ? "?force=true" : ""))));
      print_result(output, "workload", id, "deleted");
      return {};
    });
    worst = std::max(worst, report(deleted, output));
  }
  return worst == kDone ? OrStop<>() : stop(worst);
}

namespace {

OrStop<bool> is_reached(const Client& client, const std::string& called, Awaited awaited) {
  const OrStop<std::string> id = find_workload(client, called);
  if (!id && id.error().exit != kNoSuch) return tl::unexpected(id.error());
  if (awaited == Awaited::Deleted) return !id.has_value();
  if (!id) return false;
  const Result<Answer> answer = client.get("/v1/workloads/" + encoded(*id));
  if (answer && answer->status == kNotFound) return false;  // deleted since
  return text_at(TRY(value_of(answer)), "status") == "Successful";
}

}  // namespace

OrStop<> wait_for_workload(const Client& client, const std::string& called, Awaited awaited, unsigned seconds) {
  const auto end = Steady::now() + std::chrono::seconds(seconds);
  std::string revision = TRY(revision_of(client));  // without retries: nrd must run at the start
  const Client patient = client.over_restarts(end);
  for (;;) {
    if (TRY(is_reached(patient, called, awaited))) return {};
    if (Steady::now() >= end) return stop(kTryLater, "timeout while waiting for workload " + called);
    TRY(wait_for_change(patient, revision, end));
    revision = TRY(revision_of(patient));
  }
}

namespace {

void print_cache(const json::Value& cache) {
  print("cache {:<2} socket {}, CPUs {}, free ways {} (mask {}), idle {} (mask {})\n", text_at(cache, "id"),
        text_at(cache, "socket"), text_at(cache, "cpus"), text_at(part(cache, "free"), "ways"),
        text_at(part(cache, "free"), "mask"), text_at(part(cache, "idle"), "ways"),
        text_at(part(cache, "idle"), "mask"));
  for (const json::Member& pool : part(cache, "pools").members()) {
    print("         {:<10} {} of {} ways free, longest run {}, idle {}\n", pool.key, text_at(pool.value, "free"),
          text_at(pool.value, "ways"), text_at(pool.value, "longest_run"), text_at(pool.value, "idle"));
  }
}

}  // namespace

OrStop<> show_node(const Client& client, Output output) {
  const json::Value node = TRY(value_to_draw(client.get("/v1/node"), output));
  const json::Value& capabilities = part(node, "capabilities");
  print("CPUs     {} online of {}\n", text_at(part(node, "cpus"), "online"), text_at(part(node, "cpus"), "possible"));
  for (const auto& [name, key] : {std::pair{"L3", "l3_cat"}, std::pair{"L2", "l2_cat"}}) {
    const json::Value& cat = part(capabilities, key);
    if (!cat.is_object()) continue;
    print("{} CAT   {} ways, masks of at least {}, {} of {} classes in use\n", name, text_at(cat, "ways"),
          text_at(cat, "min_ways"), text_at(part(node, "classes"), "used"), text_at(part(node, "classes"), "total"));
  }
  for (const json::Value& missing : part(capabilities, "missing").items()) {
    if (const std::string* sentence = missing.as_string()) print("missing  {}\n", *sentence);
  }
  for (const json::Value& cache : part(node, "caches").items()) print_cache(cache);
  return {};
}

OrStop<> show_cpus(const Client& client, Output output) {
  const json::Value cpus = TRY(value_to_draw(client.get("/v1/cpus"), output));
  const json::Value pools = TRY(value_of(client.get("/v1/cpus/pools")));
  const json::Value workloads = TRY(value_of(client.get("/v1/workloads")));
  print_drawn(draw_cpus({cpus, pools, workloads}, output.colour ? Colour::Yes : Colour::No));
  return {};
}

OrStop<> show_cpu_pool(const Client& client, Output output, const std::string& name) {
  const json::Value pool = TRY(value_to_draw(client.get("/v1/cpus/pools/" + encoded(name)), output));
  print(draw_pool(pool));
  return {};
}

OrStop<> check_cpu_pools(const Client& client, Output output, const std::string& name) {
  const auto path_of = [](const std::string& pool) { return "/v1/cpus/pools/" + encoded(pool) + "/check"; };
  if (!name.empty()) {
    const json::Value check = TRY(value_to_draw(client.get(path_of(name)), output));
    print(draw_check(check));
    return {};
  }
  const json::Value pools = TRY(value_of(client.get("/v1/cpus/pools")));
  std::string all;
  for (const json::Value& pool : pools.items()) {
    const std::string check = TRY(body_of(client.get(path_of(text_at(pool, "name")))));
    if (output.json) {
      all += (all.empty() ? "" : ",") + check;
    } else {
      const json::Value drawn = TRY(parsed(check));
      print(draw_check(drawn));
    }
  }
  if (output.json) print_json("[" + all + "]");
  return {};
}

OrStop<> show_ways(const Client& client, Output output) {
  const json::Value node = TRY(value_to_draw(client.get("/v1/node"), output));
  const json::Value workloads = TRY(value_of(client.get("/v1/workloads")));
  print_drawn(draw_ways(node, workloads, output.colour ? Colour::Yes : Colour::No));
  return {};
}

}  // namespace nrd::cli
