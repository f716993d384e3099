#include "hw/onload/control_plane.h"

#include <unistd.h>

#include "base/file.h"
#include "base/number.h"
#include "hw/onload/kernel_file.h"
#include "hw/onload/process_dir.h"

namespace nrd::onload {
namespace {

// Whole seconds: "83162.52 160122.01" is 83162.
Result<uint64_t> read_uptime(const std::string& root) {
  const std::string path = root + "/proc/uptime";
  const std::optional<std::string> line = TRY(read_line(path));
  const std::string text = line.value_or("");
  const std::optional<uint64_t> seconds = parse_number<uint64_t>(std::string_view(text).substr(0, text.find('.')));
  if (!seconds) return unexpected("the uptime", path, text);
  return *seconds;
}

// "net:[4026531833]"
std::optional<uint64_t> parse_namespace(std::string_view link) {
  constexpr std::string_view kPrefix = "net:[";
  if (!link.starts_with(kPrefix) || !link.ends_with(']')) return std::nullopt;
  return parse_number<uint64_t>(link.substr(kPrefix.size(), link.size() - kPrefix.size() - 1));
}

std::chrono::seconds age_of(uint64_t start, uint64_t uptime) {
  const uint64_t started = start / static_cast<uint64_t>(::sysconf(_SC_CLK_TCK));
  return std::chrono::seconds(uptime > started ? uptime - started : 0);
}

// nullopt: the process has exited.
Result<std::optional<ControlPlaneServer>> read_server(const std::string& root, pid_t pid, uint64_t uptime) {
  const std::optional<ProcessDir> process = TRY(ProcessDir::open(root, pid));
  if (!process) return std::nullopt;
  const auto status = TRY(process->status());
  const auto exe = TRY(process->link("exe"));
  const auto link = TRY(process->link("ns/net"));
  if (!status || !exe || !link) return std::nullopt;
  const std::optional<uint64_t> net_namespace = parse_namespace(*link);
  if (!net_namespace) return unexpected("the network namespace of a control plane server", std::to_string(pid), *link);
  return ControlPlaneServer{.process = identity_of(*status),
                            .exe = program_of(*exe),
                            .net_namespace = *net_namespace,
                            .age = age_of(status->start, uptime)};
}

}  // namespace

std::optional<std::vector<pid_t>> parse_pids(std::string_view text) {
  const std::optional<std::vector<std::string_view>> lines = lines_of(text);
  if (!lines) return std::nullopt;
  std::vector<pid_t> pids;
  for (const std::string_view line : *lines) {
    const auto pid = parse_number<pid_t>(trimmed(line));
    if (!pid || *pid <= 0) return std::nullopt;
    pids.push_back(*pid);
  }
  return pids;
}

std::string program_of(std::string exe) {
  if (exe.ends_with(kDeleted)) exe.resize(exe.size() - kDeleted.size());
  return exe;
}

Result<std::vector<pid_t>> read_server_pids(const std::string& root) {
  const std::optional<std::vector<pid_t>> pids = TRY(read_parsed(
      root + "/proc/driver/onload/cp_server_pids", kFileLimit, "Onload's list of control plane servers", parse_pids));
  return pids.value_or(std::vector<pid_t>{});
}

Result<std::vector<ControlPlaneServer>> read_servers(const std::string& root) {
  const std::vector<pid_t> pids = TRY(read_server_pids(root));
  std::vector<ControlPlaneServer> servers;
  if (pids.empty()) return servers;
  const uint64_t uptime = TRY(read_uptime(root));
  for (const pid_t pid : pids) {
    std::optional<ControlPlaneServer> server = TRY(read_server(root, pid, uptime));
    if (server) servers.push_back(*std::move(server));
  }
  return servers;
}

}  // namespace nrd::onload
