#include "cli/commands.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <span>

#include "api/json/reader.h"
#include "api/json/writer.h"
#include "cli/answer.h"
#include "cli/draw.h"

namespace nrd::cli {
namespace {

// "4-7", "tasks 4711,4712", "4-7, tasks 4711".
std::string column_of_whom(const json::Value& workload) {
  const std::string text = whom(workload);
  return text.starts_with("CPUs ") ? text.substr(5) : text;
}

// "0:30 1:600": the mask on each cache.
std::string masks(const json::Value& workload) {
  std::string text;
  if (const json::Value* granted = workload.find("granted_ways")) {
    for (const json::Member& cache : granted->members()) {
      text += (text.empty() ? "" : " ") + cache.key + ":" + text_of(cache.value, "mask");
    }
  }
  return text.empty() ? "-" : text;
}

std::string asked(const json::Value& workload) {
  const json::Value* cache = workload.find("cache");
  return cache == nullptr || cache->members().empty() ? "-" : text_of(*cache, "max") + "/" + text_of(*cache, "min");
}

void render_frequency(json::Writer& w, const NewWorkload& wanted) {
  w.key("pstate").begin_object();
  for (const auto& [key, value] : {std::pair{"min_ratio", wanted.min_ratio}, std::pair{"max_ratio", wanted.max_ratio},
                                   std::pair{"min_mhz", wanted.min_mhz}, std::pair{"max_mhz", wanted.max_mhz}}) {
    if (value) w.key(key).number(uint64_t{*value});
  }
  if (!wanted.governor.empty()) w.key("governor").string(wanted.governor);
  if (!wanted.epp.empty()) w.key("epp").string(wanted.epp);
  if (wanted.no_turbo) w.key("turbo").boolean(false);
  if (wanted.allow_shared_domain) w.key("shared_domain").string("allow");
  if (wanted.adaptive) {
    w.key("ratio").string(std::to_string(*wanted.adaptive));
    w.key("monitoring").string("on");
  }
  w.end_object();
}

// "50%", "2000 MB/s"; empty: its memory bandwidth is not limited.
std::string bandwidth_of(const json::Value& workload) {
  const json::Value& limit = part(part(workload, "rdt"), "mba");
  if (limit.find("percentage") != nullptr) return text_of(limit, "percentage") + "%";
  return limit.find("mbps") != nullptr ? text_of(limit, "mbps") + " MB/s" : "";
}

// One line for each. There is a column of bandwidth if one of them has a limit.
void print_table(std::span<const json::Value> workloads) {
  const bool has_limit =
      std::ranges::any_of(workloads, [](const json::Value& workload) { return !bandwidth_of(workload).empty(); });
  const auto print_line = [has_limit](const std::array<std::string, 10>& cells) {
    constexpr std::array<size_t, 10> kWidths = {5, 11, 6, 8, 16, 16, 11, 7, 11, 0};
    constexpr size_t kBandwidth = 6;
    std::string line;
    for (size_t i = 0; i < cells.size(); ++i) {
      if (i != kBandwidth || has_limit) line += padded(cells[i], kWidths[i]) + " ";
    }
    line.back() = '\n';
    print(line);
  };
  print_line({"ID", "POOL", "CLASS", "MAX/MIN", "CPUS", "WAYS", "BANDWIDTH", "RATIO", "STATUS", "UUID"});
  for (const json::Value& workload : workloads) {
    const std::string limit = bandwidth_of(workload);
    print_line({text_of(workload, "id"), text_of(workload, "pool"), text_of(workload, "cos_name"), asked(workload),
                column_of_whom(workload), masks(workload), limit.empty() ? "-" : limit, ratios_of(workload),
                text_of(workload, "status"), text_of(workload, "uuid")});
  }
}

int print_workload(const Result<Answer>& answer, Output output) {
  int exit = kDone;
  const std::optional<std::string> body = body_of(answer, exit);
  if (!body) return exit;
  if (output.json) {
    print(*body + "\n");
    return exit;
  }
  if (const std::optional<json::Value> workload = parsed(*body, exit)) {
    print_table({&*workload, 1});
  }
  return exit;
}

int nothing_asked() {
  complain("nothing is asked for: say --ways, --max and --min, or a frequency (nrdctl workload create --help)");
  return kUsage;
}

int nobody_named() {
  complain("nobody is named: say --cpus, --task-ids, or both (nrdctl workload create --help)");
  return kUsage;
}

}  // namespace

bool asks_something(const NewWorkload& wanted) {
  return wanted.max || wanted.min || wanted.code || wanted.min_ratio || wanted.max_ratio || wanted.min_mhz ||
         wanted.max_mhz || !wanted.governor.empty() || !wanted.epp.empty() || wanted.no_turbo || wanted.adaptive;
}

std::string workload_request(const NewWorkload& wanted, const std::string& owner) {
  json::Writer w;
  w.begin_object();
  if (!wanted.cpus.empty()) w.key("core_ids").begin_array().string(wanted.cpus).end_array();
  if (!wanted.tasks.empty()) {
    w.key("task_ids").begin_array();
    for (const std::string& task : wanted.tasks) w.string(task);
    w.end_array();
  }
  if (wanted.max || wanted.min || wanted.code) {
    w.key("cache").begin_object();
    w.key("max").number(uint64_t{wanted.max.value_or(0)});
    w.key("min").number(uint64_t{wanted.min.value_or(0)});
    if (wanted.code) w.key("code").number(uint64_t{*wanted.code});
    w.end_object();
  }
  if (wanted.mba_percentage || wanted.mba_mbps) {
    w.key("rdt").begin_object().key("mba").begin_object();
    w.key(wanted.mba_percentage ? "percentage" : "mbps");
    w.number(uint64_t{wanted.mba_percentage ? *wanted.mba_percentage : *wanted.mba_mbps});
    w.end_object().end_object();
  }
  render_frequency(w, wanted);
  if (!wanted.uuid.empty()) w.key("uuid").string(wanted.uuid);
  if (!owner.empty()) w.key("owner").raw(owner);
  w.end_object();
  return w.take();
}

int create_workload(const Client& client, Output output, const NewWorkload& wanted) {
  if (wanted.cpus.empty() && wanted.tasks.empty()) return nobody_named();
  if (!asks_something(wanted)) return nothing_asked();
  return print_workload(client.post("/v1/workloads", workload_request(wanted)), output);
}

int foretell_workload(const Client& client, Output output, const NewWorkload& wanted) {
  if (wanted.cpus.empty() && wanted.tasks.empty()) return nobody_named();
  if (!asks_something(wanted)) return nothing_asked();
  int exit = kDone;
  const auto body = body_of(client.post("/v1/workloads?dry_run=true", workload_request(wanted)), exit);
  if (!body) return exit;
  if (output.json) {
    print(*body + "\n");
    return exit;
  }
  const std::optional<json::Value> foretold = parsed(*body, exit);
  if (!foretold) return exit;
  print_table({&part(*foretold, "workload"), 1});
  for (const json::Value& change : part(*foretold, "changes").items()) {
    print(text_of(change, "knob") + ": " + text_of(change, "from") + " -> " + text_of(change, "to") + "\n");
  }
  return exit;
}

int list_workloads(const Client& client, Output output) {
  int exit = kDone;
  const std::optional<std::string> body = body_of(client.get("/v1/workloads"), exit);
  if (!body) return exit;
  if (output.json) {
    print(*body + "\n");
  } else if (const std::optional<json::Value> workloads = parsed(*body, exit)) {
    print_table(workloads->items());
  }
  return exit;
}

int show_workload(const Client& client, Output output, const std::string& id) {
  return print_workload(client.get("/v1/workloads/" + id), output);
}

int delete_workloads(const Client& client, const std::vector<std::string>& ids) {
  int worst = kDone;
  for (const std::string& id : ids) {
    int exit = kDone;
    if (body_of(client.remove("/v1/workloads/" + id), exit)) std::printf("workload %s deleted\n", id.c_str());
    worst = std::max(worst, exit);
  }
  return worst;
}

int show_node(const Client& client, Output output) {
  int exit = kDone;
  const std::optional<std::string> body = body_of(client.get("/v1/node"), exit);
  if (!body) return exit;
  if (output.json) {
    print(*body + "\n");
    return exit;
  }
  const std::optional<json::Value> node = parsed(*body, exit);
  if (!node) return exit;
  const json::Value& capabilities = part(*node, "capabilities");
  const bool is_l2 = part(capabilities, "l2_cat").is_object();
  const json::Value& cat = part(capabilities, is_l2 ? "l2_cat" : "l3_cat");
  std::printf("CPUs     %s online of %s\n", text_of(part(*node, "cpus"), "online").c_str(),
              text_of(part(*node, "cpus"), "possible").c_str());
  if (cat.is_object()) {
    std::printf("%s CAT   %s ways, masks of at least %s, %s of %s classes in use\n", is_l2 ? "L2" : "L3",
                text_of(cat, "ways").c_str(), text_of(cat, "min_ways").c_str(),
                text_of(part(*node, "classes"), "used").c_str(), text_of(part(*node, "classes"), "total").c_str());
  }
  for (const json::Value& missing : part(capabilities, "missing").items()) {
    if (const std::string* sentence = missing.as_string()) std::printf("missing  %s\n", sentence->c_str());
  }
  for (const json::Value& cache : part(*node, "caches").items()) {
    std::printf("cache %-2s socket %s, CPUs %s, free ways %s (mask %s)\n", text_of(cache, "id").c_str(),
                text_of(cache, "socket").c_str(), text_of(cache, "cpus").c_str(),
                text_of(part(cache, "free"), "ways").c_str(), text_of(part(cache, "free"), "mask").c_str());
  }
  return exit;
}

int show_ways(const Client& client, Output output) {
  int exit = kDone;
  const std::optional<std::string> node_body = body_of(client.get("/v1/node"), exit);
  if (!node_body) return exit;
  if (output.json) {
    print(*node_body + "\n");
    return exit;
  }
  const std::optional<std::string> workloads_body = body_of(client.get("/v1/workloads"), exit);
  if (!workloads_body) return exit;
  const std::optional<json::Value> node = parsed(*node_body, exit);
  const std::optional<json::Value> workloads = parsed(*workloads_body, exit);
  if (node && workloads) print(draw_ways(*node, *workloads, output.colour ? Colour::Yes : Colour::No));
  return exit;
}

}  // namespace nrd::cli
