#include "cli/processes/run_processes.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/file.h"
#include "base/json/reader.h"
#include "base/split.h"
#include "cli/granted_cpus.h"
#include "cli/owner.h"
#include "cli/processes/process_list.h"
#include "cli/processes/supervise.h"
#include "cli/user_file.h"

namespace nrd::cli {
namespace {

constexpr size_t kLongestList = size_t{256} << 10;  // of a Kubernetes annotation
constexpr const char* kAnnotations = "/etc/podinfo/annotations";
constexpr std::string_view kAnnotation = "nokia.k8s.io/cpus=";

bool has_cpus(const Environment& environment) {
  return !value_in(environment, "EXCLUSIVE_CPUS").empty() || !value_in(environment, "SHARED_CPUS").empty();
}

OrStop<std::vector<std::string>> shared_pools(const Client& client) {
  const json::Value pools = TRY(value_of(client.get("/v1/cpus/pools")));
  std::vector<std::string> names;
  for (const json::Value& pool : pools.items()) {
    if (text_in(part(pool, "kind")) == "shared") names.push_back(text_in(part(pool, "name")));
  }
  return names;
}

// This process, and so its children, runs on them.
OrStop<GrantedCpus> granted_by_nrd(const Client& client, NewWorkload workload,
                                   const std::vector<ListedProcess>& processes) {
  const std::vector<std::string> shared = TRY(shared_pools(client));
  workload.pools = pool_requests(processes, shared);
  const std::string owner = TRY(or_stop(this_process(client)));
  if (!client.is_local()) workload.tasks = {TRY(or_stop(this_pid()))};
  const Answer answer = TRY(or_stop(client.post("/v1/workloads", workload_request(workload, owner)), kUnreachable));
  return answer.status == kCreated ? granted_cpus(answer) : tl::unexpected(refusal_of_new(answer));
}

OrStop<std::vector<Started>> on_their_cpus(const std::vector<ListedProcess>& processes, const GrantedCpus& granted) {
  std::vector<CpuSet> cpus = TRY(or_stop(assign_cpus(processes, granted)));
  std::vector<Started> started;
  for (size_t i = 0; i < processes.size(); ++i) started.push_back({processes[i].command, std::move(cpus[i])});
  return started;
}

// The annotation is a JSON text in the line of its name (downward API).
OrStop<std::string> annotated_list() {
  const Result<std::optional<std::string>> text = read_file(kAnnotations, 2 * kLongestList);
  if (!text || !*text) return std::string();
  for (const std::string_view line : split(**text, "\n")) {
    if (!line.starts_with(kAnnotation)) continue;
    const json::Value value = TRY(or_stop(json::parse(std::string(line.substr(kAnnotation.size()))), kUsage));
    if (value.as_string()) return *value.as_string();
    return stop(kUsage, fmt::format("{}: {} is no text", kAnnotations, kAnnotation));
  }
  return std::string();
}

}  // namespace

OrStop<> run_processes(const Client& client, RunProcesses wanted) {
  Environment environment = own_environment();
  const std::optional<std::string> text = TRY(or_stop(read_user_file(wanted.file, kLongestList), kUsage));
  if (!text) return stop(kUsage, wanted.file + ": no such file");
  if (wanted.container.empty()) wanted.container = value_in(environment, "CONTAINER_NAME");
  const Result<std::vector<ListedProcess>> parsed = parse_processes(*text, wanted.container);
  if (!parsed) return stop(kUsage, fmt::format("{}: {}", wanted.file, parsed.error().message));
  const std::vector<ListedProcess>& processes = *parsed;
  GrantedCpus granted;
  const bool asks_nrd = !has_cpus(environment);
  if (asks_nrd) {
    granted = TRY(granted_by_nrd(client, std::move(wanted.workload), processes));
    set_variables(environment, granted);
    if (granted.has_scope) run_anywhere_within();
  } else {
    granted = TRY(or_stop(cpus_of_container(environment, processes)));
  }
  std::vector<Started> started = TRY(on_their_cpus(processes, granted));
  // Without a scope nrd keeps this process on all CPUs of the workload.
  if (wanted.exec_last && asks_nrd && !granted.has_scope) started.back().cpus = {};
  return wanted.exec_last ? execute_last(started, environment) : supervise(started, environment);
}

bool is_process_starter(const std::string& program) {
  return program.substr(program.rfind('/') + 1) == "process-starter";
}

OrStop<> run_annotated(const std::vector<std::string>& command) {
  const Environment environment = own_environment();
  const std::string container = value_in(environment, "CONTAINER_NAME");
  if (container.empty()) return stop(kUsage, "CONTAINER_NAME is not set: which processes of the annotation to start");
  const std::string text = TRY(annotated_list());
  if (text.empty() && command.empty())
    return stop(kUsage, fmt::format("{} has no {}…, and there is no command", kAnnotations, kAnnotation));
  if (text.empty()) return execute_last({{command, {}}}, environment);
  const std::vector<ListedProcess> processes = TRY(or_stop(parse_processes(text, container), kUsage));
  const GrantedCpus granted = TRY(or_stop(cpus_of_container(environment, processes)));
  const std::vector<Started> started = TRY(on_their_cpus(processes, granted));
  // With the container's command as arguments the last process was executed, otherwise all were waited for.
  return command.empty() ? supervise(started, environment) : execute_last(started, environment);
}

}  // namespace nrd::cli
