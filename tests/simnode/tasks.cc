#include "tasks.h"

#include <time.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>

#include "cpu_list.h"

namespace nrd::simnode {
namespace {

namespace fs = std::filesystem;

// proc(5): field 22 of stat; the second field, the command in parentheses, may hold blanks and parentheses itself.
constexpr int kFieldsFromStateToStart = 20;

std::set<pid_t> numbers_in(const fs::path& folder) {
  std::set<pid_t> numbers;
  std::error_code gone;  // a process may end between two steps; then it simply is not listed
  for (auto entry = fs::directory_iterator(folder, gone); !gone && entry != fs::directory_iterator();
       entry.increment(gone)) {
    if (const auto number = parse_number(entry->path().filename().string()))
      numbers.insert(static_cast<pid_t>(*number));
  }
  return numbers;
}

fs::path folder_of_tasks(pid_t process) { return fs::path("/proc") / std::to_string(process) / "task"; }

std::set<pid_t> tasks_of(pid_t process) { return numbers_in(folder_of_tasks(process)); }

std::set<pid_t> children_of_task(pid_t process, pid_t task) {
  std::set<pid_t> found;
  std::ifstream children(folder_of_tasks(process) / std::to_string(task) / "children");
  for (pid_t child = 0; children >> child;) found.insert(child);
  return found;
}

}  // namespace

std::optional<std::uint64_t> start_time(pid_t task) {
  std::ifstream file("/proc/" + std::to_string(task) + "/stat");
  std::string line;
  if (!std::getline(file, line) || line.rfind(')') == std::string::npos) return std::nullopt;
  std::istringstream fields(line.substr(line.rfind(')') + 1));
  std::string field;
  for (int i = 0; i < kFieldsFromStateToStart; ++i) fields >> field;
  const auto ticks = parse_number(field);
  return ticks ? std::optional<std::uint64_t>(*ticks) : std::nullopt;
}

std::set<pid_t> every_process() { return numbers_in("/proc"); }

std::set<pid_t> every_task() {
  std::set<pid_t> tasks;
  for (const pid_t process : every_process()) tasks.merge(tasks_of(process));
  return tasks;
}

std::set<pid_t> children_of(pid_t process) {
  std::set<pid_t> children;
  for (const pid_t task : tasks_of(process)) children.merge(children_of_task(process, task));
  return children;
}

void forget_the_dead(Tasks& tasks) {
  std::erase_if(tasks, [](const auto& task) { return start_time(task.first) != task.second.start; });
}

std::uint64_t ticks_now() {
  timespec now = {};
  clock_gettime(CLOCK_BOOTTIME, &now);
  const auto ticks = static_cast<std::uint64_t>(sysconf(_SC_CLK_TCK));
  return static_cast<std::uint64_t>(now.tv_sec) * ticks +
         static_cast<std::uint64_t>(now.tv_nsec) * ticks / 1'000'000'000;
}

Tasks heirs_of(const Tasks& tasks) {
  Tasks heirs;
  for (const auto& [task, stay] : tasks) {
    std::set<pid_t> candidates = tasks_of(task);
    if (!candidates.contains(task) || *candidates.begin() != task) candidates.clear();  // a thread: its process decides
    candidates.merge(children_of_task(task, task));
    for (const pid_t heir : candidates) {
      const auto started = start_time(heir);
      if (!tasks.contains(heir) && started && *started >= stay.since) heirs[heir] = {*started, *started};
    }
  }
  return heirs;
}

}  // namespace nrd::simnode
