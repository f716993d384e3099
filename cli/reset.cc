#include "cli/reset.h"

#include <fmt/core.h>
#include <fnmatch.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <map>
#include <system_error>
#include <vector>

#include "base/errno_text.h"
#include "cli/answer.h"
#include "cli/commands.h"

namespace nrd::cli {
namespace {

namespace fs = std::filesystem;
constexpr const char* kResctrl = "/sys/fs/resctrl";

OrStop<> confirm(const Reset& wanted, const std::string& question) {
  if (wanted.is_confirmed) return {};
  if (::isatty(STDIN_FILENO) != 1) {
    return stop(kRefused, fmt::format("confirmation required: {} Use --yes to skip it.", question));
  }
  print("{} [y/N] ", question);
  flush();
  const int first = std::getchar();
  // The rest of the line answers no other question.
  for (int c = first; c != '\n' && c != EOF;) c = std::getchar();
  return first == 'y' || first == 'Y' ? OrStop<>() : stop(kRefused);
}

// Group names with their content: "CPUs 4-7, 12 tasks".
std::map<std::string, std::string> foreign_groups(const json::Value& node) {
  std::map<std::string, std::string> groups;
  const json::Value& caches = part(node, "caches");
  for (const json::Value& cache : caches.items()) {
    for (const json::Value& group : part(cache, "foreign").items()) {
      const std::string cpus = text_at(group, "cpus");
      groups[text_at(group, "group")] = fmt::format(
          "{}, {} tasks", cpus.empty() || cpus == "-" ? "no CPUs" : "CPUs " + cpus, text_at(group, "tasks"));
    }
  }
  return groups;
}

// Without a daemon, treat every group as foreign.
std::map<std::string, std::string> all_groups() {
  std::map<std::string, std::string> groups;
  std::error_code ignored;  // no tree: no groups
  for (const fs::directory_entry& entry : fs::directory_iterator(kResctrl, ignored)) {
    const std::string name = entry.path().filename();
    const bool is_of_kernel = name == "info" || name == "mon_groups" || name == "mon_data";
    if (entry.is_directory(ignored) && !is_of_kernel) groups[name] = "its CPUs and tasks return to the root group";
  }
  return groups;
}

// A server that only claims to be nrd could name any folder.
OrStop<> check_name(const std::string& name) {
  const bool is_name = !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos;
  return is_name ? OrStop<>() : stop(kRefused, name + " is not the name of a resctrl group");
}

OrStop<> remove_group(const Reset& wanted, Output output, const std::string& name, const std::string& content) {
  TRY(check_name(name));
  TRY(confirm(wanted, fmt::format("remove resctrl group {} ({})?", name, content)));
  if (::rmdir((fs::path(kResctrl) / name).c_str()) != 0) {
    return stop(kRefused, errno_text("cannot remove group " + name));
  }
  print_result(output, "group", name, "removed");
  return {};
}

OrStop<> remove_groups(const Reset& wanted, Output output, const std::map<std::string, std::string>& groups) {
  int exit = kDone;
  bool is_found = false;
  for (const auto& [name, content] : groups) {
    if (::fnmatch(wanted.foreign.c_str(), name.c_str(), FNM_PERIOD) != 0) continue;
    is_found = true;
    exit = std::max(exit, report(remove_group(wanted, output, name, content), output));
  }
  if (!is_found) print_error(fmt::format("no foreign resctrl group matches {}", wanted.foreign));
  return exit == kDone ? OrStop<>() : stop(exit);
}

OrStop<> delete_all(const Client& client, Output output, const Reset& wanted, const json::Value& workloads) {
  std::vector<std::string> ids;
  for (const json::Value& workload : workloads.items()) ids.push_back(text_at(workload, "id"));
  if (ids.empty()) return {};
  TRY(confirm(wanted, fmt::format("delete {} workloads?", ids.size())));
  return delete_workloads(client, output, ids, client.is_local());
}

// nrdctl lies in /usr/bin, nrd in /usr/sbin. Its report is text.
OrStop<> run_daemon(const char* option, Output output) {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  const std::string daemon = self.parent_path().parent_path() / "sbin/nrd";
  flush();
  const std::array<const char*, 3> words{"nrd", option, nullptr};
  pid_t child = 0;
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  if (output.json) ::posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  const int failed =
      ::posix_spawn(&child, daemon.c_str(), &actions, nullptr, const_cast<char**>(words.data()), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return stop(kRefused, errno_text("cannot run " + daemon, failed));
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status)) return stop(kRefused, daemon + " was killed");
  return WEXITSTATUS(status) == 0 ? OrStop<>() : stop(WEXITSTATUS(status));
}

// Foreign groups last: nrd refuses the option while another nrd, at another socket, has groups of its own.
OrStop<> reset_without_daemon(const Reset& wanted, Output output) {
  TRY(confirm(wanted, "nrd is not running; delete all stored workloads?"));
  TRY(run_daemon("--reset", output));
  return wanted.foreign.empty() ? OrStop<>() : remove_groups(wanted, output, all_groups());
}

}  // namespace

OrStop<> reset(const Client& client, Output output, const Reset& wanted) {
  if (!wanted.foreign.empty() && !client.is_local()) {
    return stop(kRefused, "--foreign requires the Unix socket of the local node; nothing was deleted");
  }
  const Result<Answer> answer = client.get("/v1/workloads");
  // A daemon that does not answer in time has groups of its own, which are not foreign.
  if (!answer && answer.error().code == ErrorCode::NotFound) return reset_without_daemon(wanted, output);
  const json::Value workloads = TRY(value_of(answer));
  TRY(delete_all(client, output, wanted, workloads));
  if (wanted.foreign.empty()) return {};
  const json::Value node = TRY(value_of(client.get("/v1/node")));
  return remove_groups(wanted, output, foreign_groups(node));
}

OrStop<> unconfine(const Client& client, Output output) {
  if (!client.is_local()) return stop(kRefused, "this requires the Unix socket of the local node");
  if (client.get("/v1/health")) {
    return stop(kRefused,
                "nrd is running, and would confine the rest of the host again; set confine = \"none\" in [cpu] of "
                "its configuration, then run nrdctl reload");
  }
  return run_daemon("--unconfine", output);
}

}  // namespace nrd::cli
