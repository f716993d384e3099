#include "hw/onload/users.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>

#include "base/find_in.h"
#include "base/number.h"
#include "hw/onload/control_plane.h"
#include "hw/onload/devices.h"
#include "hw/onload/kernel_file.h"
#include "hw/onload/module_state.h"
#include "hw/onload/process_dir.h"
#include "hw/onload/stacks.h"

namespace nrd::onload {
namespace {

constexpr std::array<const char*, 3> kModules = {"onload", "sfc_char", "sfc_resource"};
constexpr std::array<HandleKind, kDevices.size()> kKinds = {HandleKind::Stack, HandleKind::Epoll, HandleKind::Char};
constexpr size_t kCgroupLimit = 64 << 10;

Use use_of(HandleKind kind) {
  switch (kind) {
    case HandleKind::Stack:
    case HandleKind::Socket: return Use::Stack;
    case HandleKind::Epoll: return Use::Epoll;
    case HandleKind::Char: return Use::EfVi;
  }
  return Use::Stack;
}

std::set<Use> uses_of(const OpenHandles& handles) {
  std::set<Use> uses;
  for (const OpenFile& file : handles.files) uses.insert(use_of(file.kind));
  for (const HandleKind kind : handles.mapped) uses.insert(use_of(kind));
  if (uses.empty()) uses.insert(Use::PreloadOnly);
  return uses;
}

FileId id_of(const struct stat& status) {
  return {.file_system = {::major(status.st_dev), ::minor(status.st_dev)}, .inode = status.st_ino};
}

// The installed library, to compare with what processes have mapped.
struct Installed {
  std::string path;
  std::optional<FileId> file;

  explicit Installed(std::string library) : path(std::move(library)) {
    struct stat status {};
    if (path.empty() || ::stat(path.c_str(), &status) != 0) return;
    file = id_of(status);
  }
  // Compare path or file: a container has another path; some file systems show another inode in mappings.
  bool differs_from(const Library& library) const {
    if (library.deleted) return true;
    if (path.empty() || library.path == path) return false;
    return file != library.file;
  }
};

// nullopt: the process has exited.
Result<std::optional<User>> describe(const ProcessDir& process, const OpenHandles& handles,
                                     const Installed& installed) {
  auto status = TRY(process.status());
  const auto owner = TRY(process.owner());
  const auto exe = TRY(process.link("exe"));
  const auto cgroup = TRY(process.read("cgroup", kCgroupLimit));
  if (!status || !owner) return std::nullopt;
  User user{.process = identity_of(*status),
            .comm = std::move(status)->name,
            .exe = program_of(exe.value_or("")),
            .uid = *owner,
            .cgroup = parse_cgroup(cgroup.value_or("")),
            .uses = uses_of(handles),
            .stacks = handles.stacks};
  user.unit = unit_of(user.cgroup);
  if (handles.library) {
    user.library = handles.library->path;
    user.stale = installed.differs_from(*handles.library);
  }
  return user;
}

// One search. Failures are recorded in `unknown`, and the search continues.
class UserSearch {
 public:
  UserSearch(const std::string& root, const Clock& clock, const Walk& walk)
      : root_(root), walk_(walk), installed_(walk.library), clock_(clock), deadline_(clock.steady() + walk.time) {}

  InUse run() {
    const std::map<std::string, Module> before = modules();
    if (auto stacks = read_stacks(root_); succeeded(stacks)) add_stacks(*stacks);
    if (auto pids = read_server_pids(root_); succeeded(pids)) servers_ = std::set<pid_t>(pids->begin(), pids->end());
    walk_processes();
    reconcile(before, modules());
    return std::move(in_use_);
  }

 private:
  template <typename T>
  bool succeeded(const Result<T>& result) {
    if (!result) record(result.error());
    return result.has_value();
  }
  void record(const Error& error) {
    constexpr size_t kErrorLimit = 16;
    if (in_use_.unknown.size() < kErrorLimit) in_use_.unknown.push_back(error.message);
  }

  void add_stacks(const std::vector<Stack>& stacks) {
    for (const Stack& stack : stacks) (stack.orphan ? in_use_.orphans : in_use_.stacks).push_back(stack);
  }

  std::map<std::string, Module> modules() {
    std::map<std::string, Module> found;
    for (const char* name : kModules) {
      Result<std::optional<Module>> module = read_module(root_, name);
      if (succeeded(module) && *module) found.emplace(name, **std::move(module));
    }
    return found;
  }

  std::map<DeviceNumber, HandleKind> devices() {
    std::map<DeviceNumber, HandleKind> numbers;
    for (size_t i = 0; i < kDevices.size(); ++i) {
      const Result<std::optional<DeviceNumber>> number = read_device_number(root_, kDevices[i]);
      if (succeeded(number) && *number) numbers.emplace(**number, kKinds[i]);
    }
    return numbers;
  }

  KnownFiles known_files() const {
    KnownFiles known{.nodes = {}, .library = installed_.file};
    for (size_t i = 0; i < kDevices.size(); ++i) {
      struct stat status {};
      if (::stat((root_ + "/dev/" + kDevices[i]).c_str(), &status) == 0) known.nodes.emplace(id_of(status), kKinds[i]);
    }
    return known;
  }

  void walk_processes() {
    const Result<std::vector<std::string>> names = list_directory(root_ + "/proc");
    if (!succeeded(names)) return;
    HandleScanner scanner(devices(), walk_.limits, known_files());
    size_t processes = 0;
    for (const std::string& name : *names) {
      const std::optional<pid_t> pid = parse_number<pid_t>(name);
      if (!pid) continue;
      if (++processes > walk_.limits.processes || clock_.steady() > deadline_) {
        in_use_.unknown.emplace_back("too many processes to inspect in time");
        in_use_.ended_early = true;
        return;
      }
      *walk_.at = *pid;
      if (Result<void> inspected = inspect(scanner, *pid); !inspected) record(inspected.error());
    }
  }

  Result<void> inspect(HandleScanner& scanner, pid_t pid) {
    const std::optional<ProcessDir> process = TRY(ProcessDir::open(root_, pid));
    if (!process) return {};
    OpenHandles handles = TRY(handles_of(scanner, *process, pid));
    if (handles.empty()) return {};
    std::optional<User> user = TRY(describe(*process, handles, installed_));
    if (!user) return {};
    files_.insert(files_.end(), handles.files.begin(), handles.files.end());
    const bool service = is_service(*user, handles);
    if (service) user->uses.insert(Use::Service);
    (service ? in_use_.services : in_use_.users).push_back(*std::move(user));
    return {};
  }

  // If the thread group leader has exited, the process shows nothing, but its threads do.
  Result<OpenHandles> handles_of(HandleScanner& scanner, const ProcessDir& process, pid_t pid) {
    Result<OpenHandles> all = scanner.scan(process, pid);
    if (!all || !all->empty()) return all;
    const std::optional<TaskStat> status = TRY(process.status());
    if (!status || status->state != 'Z') return all;
    for (const std::string& thread : TRY(process.list("task", walk_.limits.processes))) {
      const std::optional<pid_t> id = parse_number<pid_t>(thread);
      const std::optional<ProcessDir> directory = TRY(process.open_below("task/" + thread));
      if (!id || *id == pid || !directory) continue;
      Result<OpenHandles> handles = scanner.scan(*directory, *id);
      // Threads share their files, so the first one that shows any is enough.
      if (!handles || !handles->empty()) return handles;
    }
    return all;
  }

  // Forging the name of a service gains nothing: services are ended without asking.
  bool is_service(const User& user, const OpenHandles& handles) const {
    const std::string_view program = name_in(user.exe);
    if (program == kServerName) return servers_.contains(user.process.pid);
    return program == kShrubName &&
           std::ranges::any_of(handles.files, [](const OpenFile& file) { return file.kind == HandleKind::Stack; });
  }

  void reconcile(const std::map<std::string, Module>& before, const std::map<std::string, Module>& after) {
    const std::vector<OpenFile> files = distinct_files(files_, walk_.order);
    for (const auto& [name, module] : after) {
      std::vector<std::string> foreign;
      std::ranges::copy_if(module.holders, std::back_inserter(foreign),
                           [](const std::string& holder) { return !is_onload_module(holder); });
      if (!foreign.empty()) in_use_.foreign_holders.emplace(name, std::move(foreign));
      // Users may have come or gone during the walk, so explain the higher count.
      const Module* earlier = find_in(before, name);
      const uint32_t references = std::max(user_references(module), earlier ? user_references(*earlier) : 0);
      if (const uint32_t left = unexplained(name, references, files); left > 0) in_use_.unexplained.emplace(name, left);
    }
  }

  static uint32_t user_references(const Module& module) {
    const uint32_t all = module.refcnt.value_or(0);
    const auto holders = static_cast<uint32_t>(module.holders.size());
    return all > holders ? all - holders : 0;
  }

  const std::string& root_;
  const Walk& walk_;
  const Installed installed_;
  const Clock& clock_;
  const std::chrono::steady_clock::time_point deadline_;
  std::set<pid_t> servers_;
  std::vector<OpenFile> files_;
  InUse in_use_;
};

}  // namespace

std::string parse_cgroup(std::string_view text) {
  std::string unified;
  for (const std::string_view line : lines_of(text).value_or(std::vector<std::string_view>{})) {
    const size_t first = line.find(':');
    const size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    // A hybrid hierarchy has both; prefer systemd's own.
    if (controllers == "name=systemd") return std::string(line.substr(second + 1));
    if (controllers.empty()) unified = line.substr(second + 1);
  }
  return unified;
}

std::string unit_of(std::string_view cgroup) {
  for (std::string_view rest = cgroup; !rest.empty(); rest = rest.substr(0, rest.find_last_of('/'))) {
    const std::string_view name = name_in(rest);
    if (name.ends_with(".service") || name.ends_with(".scope")) return std::string(name);
    if (rest.find('/') == std::string_view::npos) break;
  }
  return {};
}

InUse find_users(const std::string& root, const Clock& clock, const Walk& walk) {
  return UserSearch(root, clock, walk).run();
}

}  // namespace nrd::onload
