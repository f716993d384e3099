#include "base/task.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <fnmatch.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>

#include "base/directory.h"
#include "base/errno_text.h"
#include "base/number.h"
#include "base/split.h"
#include "base/unique_fd.h"

namespace nrd {
namespace {

bool is_gone(int error) { return error == ENOENT || error == ESRCH || error == ENOTDIR; }

std::string path_of(pid_t id) { return fmt::format("/proc/{}", id); }

Failure unreadable(pid_t id, int error) {
  return fail(ErrorCode::Hardware, fmt::format("cannot inspect task {}", id), errno_text(path_of(id), error));
}

// /proc/ID, held open. Not valid: the task is gone.
Result<UniqueFd> open_directory(pid_t id) {
  UniqueFd directory(::open(path_of(id).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.valid() && !is_gone(errno)) return unreadable(id, errno);
  return directory;
}

// The first bytes of a file; nullopt: the task is gone.
Result<std::optional<std::string>> read_in(const UniqueFd& directory, pid_t id, const char* file) {
  const UniqueFd opened(::openat(directory.get(), file, O_RDONLY | O_CLOEXEC));
  std::array<char, 4096> block;
  const ssize_t got = opened.valid() ? ::read(opened.get(), block.data(), block.size()) : -1;
  if (got >= 0) return std::string(block.data(), static_cast<size_t>(got));
  if (is_gone(errno)) return std::nullopt;
  return unreadable(id, errno);
}

// nullopt: the task is gone.
Result<std::optional<TaskStat>> stat_in(const UniqueFd& directory, pid_t id) {
  const std::optional<std::string> text = TRY(read_in(directory, id, "stat"));
  if (!text) return std::nullopt;
  const std::optional<TaskStat> stat = parse_task_stat(*text);
  if (!stat) return fail(ErrorCode::Hardware, "cannot read the start time of a task", path_of(id) + "/stat");
  return *stat;
}

// What follows `name` in its line of status, "\nTgid:\t4711". Empty: the task is gone, or the line is missing.
Result<std::string> status_in(const UniqueFd& directory, pid_t id, std::string_view name) {
  const std::optional<std::string> text = TRY(read_in(directory, id, "status"));
  std::string_view status = text ? std::string_view(*text) : std::string_view();
  const size_t at = status.find(name);
  if (at == std::string_view::npos) return std::string();
  status.remove_prefix(at + name.size());
  return std::string(take_until(status, '\n'));
}

// 0: the task is gone.
Result<pid_t> process_in(const UniqueFd& directory, pid_t id) {
  const std::string process = TRY(status_in(directory, id, "\nTgid:\t"));
  return parse_number<pid_t>(process).value_or(0);
}

// The numbers among the names in an open directory, in order. The errno on failure.
tl::expected<std::vector<pid_t>, int> list_ids(const UniqueFd& directory) {
  constexpr size_t kLimit = size_t{2} * kLargestPid;
  const std::vector<std::string> names =
      TRY(directory.valid() ? list_names(directory.get(), kLimit) : tl::unexpected(errno));
  std::vector<pid_t> ids;
  for (const std::string& name : names) {
    if (const auto id = parse_number<pid_t>(name)) ids.push_back(*id);
  }
  std::ranges::sort(ids);
  return ids;
}

Result<std::vector<pid_t>> threads_in(const UniqueFd& directory, pid_t id) {
  auto threads = list_ids(UniqueFd(::openat(directory.get(), "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC)));
  if (threads) return *std::move(threads);
  return is_gone(threads.error()) ? Result<std::vector<pid_t>>(std::vector<pid_t>()) : unreadable(id, threads.error());
}

// "Uid:\t0\t0\t0\t0": real, effective, saved and file system. False also if the task is gone.
Result<bool> runs_as(const UniqueFd& directory, pid_t id, const std::set<uid_t>& users) {
  constexpr size_t kIds = 4;
  const std::string line = TRY(status_in(directory, id, "\nUid:\t"));
  const std::vector<std::string_view> ids = split(line, "\t");
  return ids.size() == kIds && std::ranges::all_of(ids, [&users](std::string_view id_text) {
           const auto user = parse_number<uid_t>(id_text);
           return user && users.contains(*user);
         });
}

// nullopt: it does not match, or is gone. Only command lines of processes of `users` are read: the kernel takes them
// from the memory of the process, and another user can make that wait for ever (a page of a FUSE file whose server
// hangs).
Result<std::optional<Task>> process_matching(pid_t id, const std::vector<std::string>& patterns,
                                             const std::set<uid_t>& users) {
  const UniqueFd directory = TRY(open_directory(id));
  if (!directory.valid()) return std::nullopt;
  const bool is_theirs = TRY(runs_as(directory, id, users));
  if (!is_theirs) return std::nullopt;
  const std::optional<std::string> words = TRY(read_in(directory, id, "cmdline"));
  std::string line = words.value_or("");
  while (line.ends_with('\0')) line.pop_back();
  std::ranges::replace(line, '\0', ' ');
  const auto matches = [&line](const std::string& pattern) { return ::fnmatch(pattern.c_str(), line.c_str(), 0) == 0; };
  if (line.empty() || std::ranges::none_of(patterns, matches)) return std::nullopt;
  const std::optional<TaskStat> stat = TRY(stat_in(directory, id));
  if (!stat) return std::nullopt;
  return Task{.id = id, .process = id, .start = stat->start, .boot_id = {}};
}

}  // namespace

std::optional<TaskStat> parse_task_stat(std::string_view stat) {
  constexpr size_t kState = 0;  // counted after the name
  constexpr size_t kFlags = 6;
  constexpr size_t kStart = 19;
  const size_t id_end = stat.find(" (");
  const size_t name_end = stat.rfind(") ");
  if (id_end == stat.npos || name_end == stat.npos || name_end < id_end + 2) return std::nullopt;
  std::string_view rest = stat.substr(name_end + 2);
  std::array<std::string_view, kStart + 1> fields;
  for (std::string_view& field : fields) {
    const size_t blank = rest.find(' ');
    if (blank == std::string_view::npos) return std::nullopt;  // cut off
    field = rest.substr(0, blank);
    rest.remove_prefix(blank + 1);
  }
  const auto id = parse_number<pid_t>(stat.substr(0, id_end));
  const auto flags = parse_number<uint32_t>(fields[kFlags]);
  const auto start = parse_number<uint64_t>(fields[kStart]);
  if (!id || *id <= 0 || fields[kState].size() != 1 || !flags || !start) return std::nullopt;
  return TaskStat{.id = *id,
                  .name = std::string(stat.substr(id_end + 2, name_end - id_end - 2)),
                  .state = fields[kState].front(),
                  .flags = *flags,
                  .start = *start};
}

Result<std::vector<pid_t>> threads_of(const Task& task) {
  const UniqueFd directory = TRY(open_directory(task.id));
  if (!directory.valid()) return std::vector<pid_t>();
  const std::optional<TaskStat> stat = TRY(stat_in(directory, task.id));
  if (!stat || stat->start != task.start) return std::vector<pid_t>();
  const bool has_ended = stat->state == 'Z' || stat->state == 'X';
  if (!task.is_process()) return has_ended ? std::vector<pid_t>() : std::vector<pid_t>{task.id};
  Result<std::vector<pid_t>> threads = threads_in(directory, task.id);
  // Its first thread may have exited while others run.
  if (threads && has_ended && threads->size() <= 1) threads->clear();
  return threads;
}

Result<std::optional<FoundTask>> find_task(pid_t id) {
  const UniqueFd directory = TRY(open_directory(id));
  if (!directory.valid()) return std::nullopt;
  const std::optional<TaskStat> stat = TRY(stat_in(directory, id));
  const pid_t process = TRY(process_in(directory, id));
  if (!stat || process == 0) return std::nullopt;
  FoundTask found{.task = {.id = id, .process = process, .start = stat->start, .boot_id = {}},
                  .is_kernels = stat->is_kernels(),
                  .cpus = {}};
  const std::vector<pid_t> threads = TRY(threads_of(found.task));
  if (threads.empty()) return std::nullopt;
  for (const pid_t thread : threads) found.cpus |= affinity_of(thread).value_or(CpuSet());
  return found;
}

Result<std::set<Task>> find_processes(const std::vector<std::string>& patterns, const std::set<uid_t>& users) {
  const auto ids = list_ids(UniqueFd(::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC)));
  if (!ids) return fail(ErrorCode::Hardware, "cannot list processes", errno_text(ids.error()));
  std::set<Task> found;
  for (const pid_t id : *ids) {
    const std::optional<Task> process = TRY(process_matching(id, patterns, users));
    if (process) found.insert(*process);
  }
  return found;
}

tl::expected<CpuSet, int> affinity_of(pid_t thread) {
  AffinityMask mask{};
  if (::sched_getaffinity(thread, sizeof mask, mask.data()) != 0) return tl::unexpected(errno);
  // By words, most of which are zero: a client may name a process with ten thousand threads.
  constexpr uint32_t kWord = 64;
  std::array<uint64_t, CpuSet::kMaxCpus / kWord> words;
  static_assert(sizeof words == sizeof mask);
  std::memcpy(words.data(), mask.data(), sizeof mask);
  CpuSet cpus;
  for (uint32_t i = 0; i < words.size(); ++i) {
    for (uint64_t left = words[i]; left != 0; left &= left - 1)
      cpus.add(CpuId{i * kWord + static_cast<uint32_t>(std::countr_zero(left))});
  }
  return cpus;
}

bool is_there(pid_t process, pid_t thread) {
  return ::access((fmt::format("{}/task/{}", path_of(process), thread)).c_str(), F_OK) == 0;
}

}  // namespace nrd
