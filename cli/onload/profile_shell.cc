#include "cli/onload/profile_shell.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>
#include <optional>

#include "base/errno_text.h"
#include "base/joined.h"
#include "base/unique_fd.h"
#include "hw/onload/profiles/variable.h"

namespace nrd::cli {
namespace {

constexpr size_t kOutputLimit = size_t{64} << 10;
constexpr size_t kResultLimit = size_t{4} << 20;  // twice the kernel's default limit for an environment
constexpr const char* kPath = "/usr/sbin:/usr/bin:/sbin:/bin";
constexpr int kResultFd = 3;

// Arguments: force, folders, profiles (one a line each), application. Names are checked before they are evaluated, so a
// value is never run as code.
constexpr const char* kScript = R"sh(
nrd_force=$1 nrd_folders=$2 nrd_profiles=$3
shift 3
nrd_names=' '
nrd_depth=0
log() { printf '%s\n' "$*" >&2; }
vlog() { :; }
fail() { printf '%s\n' "$*" >&2; exit 1; }
onload_set() {
  if [ -z "${2-}" ]; then
    case $1 in
      *=*) set -- "${1%%=*}" "${1#*=}" ;;
      *) return 0 ;;
    esac
    [ -n "$2" ] || return 0
  fi
  case $1 in
    '' | [0-9]* | *[!A-Za-z0-9_]*) fail "onload_set: '$1' is not a valid variable name" ;;
  esac
  case $nrd_names in
    *" $1 "*) return 0 ;;
  esac
  eval "nrd_value=\${$1-}"
  if [ "$nrd_force" = 1 ] || [ -z "$nrd_value" ]; then
    nrd_names="$nrd_names$1 "
    export "$1=$2"
  fi
}
onload_import() {
  nrd_name=$1
  shift
  [ "$nrd_depth" -lt 16 ] || fail "imports are nested deeper than 16"
  nrd_file=
  case $nrd_name in
    */*) [ -f "$nrd_name" ] && nrd_file=$nrd_name ;;
    *)
      nrd_ifs=$IFS
      IFS='
'
      set -f
      for nrd_folder in $nrd_folders; do
        [ -z "$nrd_file" ] || break
        if [ -f "$nrd_folder/$nrd_name.opf" ]; then
          nrd_file=$nrd_folder/$nrd_name.opf
        elif [ "$nrd_depth" -gt 0 ] && [ -f "$nrd_folder/$nrd_name.opf-fragment" ]; then
          nrd_file=$nrd_folder/$nrd_name.opf-fragment
        fi
      done
      set +f
      IFS=$nrd_ifs ;;
  esac
  [ -n "$nrd_file" ] || fail "profile $nrd_name not found"
  nrd_depth=$((nrd_depth + 1))
  . "$nrd_file"
  nrd_depth=$((nrd_depth - 1))
}
nrd_ifs=$IFS
IFS='
'
set -f
for nrd_profile in $nrd_profiles; do
  IFS=$nrd_ifs
  set +f
  onload_import "$nrd_profile" "$@"
  nrd_depth=0
done
IFS=$nrd_ifs
exec /usr/bin/env -0 >&3
)sh";

Failure not_run(const std::string& why) { return fail(ErrorCode::BadRequest, "cannot run the profiles: " + why); }

struct Pipe {
  UniqueFd out, in;
};

Result<Pipe> make_pipe() {
  std::array<int, 2> fds{};
  if (::pipe2(fds.data(), O_CLOEXEC) != 0) return not_run(errno_text(errno));
  return Pipe{.out = UniqueFd(fds[0]), .in = UniqueFd(fds[1])};
}

std::vector<std::string> arguments_of(const ShellRun& run) {
  std::vector<std::string> words{"sh", "-c", kScript, "nrdctl", run.force == Force::Yes ? "1" : "0"};
  words.insert(words.end(), {joined(run.folders, "\n"), joined(run.names, "\n")});
  words.insert(words.end(), run.application.begin(), run.application.end());
  return words;
}

Environment environment_of(const ShellRun& run) {
  Environment environment = run.caller;
  environment["PATH"] = kPath;
  // If /bin/sh is bash, it would run the files these variables name.
  for (const char* name : {"ENV", "BASH_ENV", "SHELLOPTS", "BASHOPTS", "IFS"}) environment.erase(name);
  return environment;
}

// A process group of its own, so that all descendants can be killed.
Result<pid_t> spawn(const ShellRun& run, const Pipe& result, const Pipe& output) {
  posix_spawn_file_actions_t actions{};
  posix_spawnattr_t attributes{};
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, output.in.get(), STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, output.in.get(), STDERR_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, result.in.get(), kResultFd);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  std::vector<std::string> words = arguments_of(run);
  std::vector<std::string> lines = lines_of(environment_of(run));
  pid_t pid = 0;
  const int error =
      ::posix_spawn(&pid, "/bin/sh", &actions, &attributes, pointers_to(words).data(), pointers_to(lines).data());
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  if (error != 0) return not_run(errno_text("/bin/sh", error));
  return pid;
}

// Reads from one of the pipes. False: end of file, or limit exceeded.
class Reader {
 public:
  Reader(UniqueFd fd, size_t limit) : fd_(std::move(fd)), limit_(limit) {}

  void take() {
    std::array<char, 4096> bytes{};
    const ssize_t count = ::read(fd_.get(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) return;
    if (count <= 0) {
      is_open_ = false;
      return;
    }
    text_.append(bytes.data(), static_cast<size_t>(count));
    if (text_.size() > limit_) overflown_ = true;
  }

  pollfd waiting() const { return {.fd = is_open_ ? fd_.get() : -1, .events = POLLIN, .revents = 0}; }
  bool is_open() const { return is_open_; }
  bool overflown() const { return overflown_; }
  const std::string& text() const { return text_; }

 private:
  UniqueFd fd_;
  size_t limit_;
  std::string text_;
  bool is_open_ = true;
  bool overflown_ = false;
};

// Reads both pipes to their end. Returns why reading stopped early; empty: complete.
std::string read_both(Reader& result, Reader& output, std::chrono::milliseconds deadline) {
  const auto until = std::chrono::steady_clock::now() + deadline;
  while (result.is_open() || output.is_open()) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    if (left.count() <= 0) return fmt::format("timed out after {} ms", deadline.count());
    std::array<pollfd, 2> events{result.waiting(), output.waiting()};
    if (::poll(events.data(), events.size(), static_cast<int>(left.count())) < 0 && errno != EINTR) {
      return errno_text(errno);
    }
    if (events[0].revents != 0) result.take();
    if (events[1].revents != 0) output.take();
    if (result.overflown() || output.overflown()) return "too much output";
  }
  return {};
}

Result<ShellResult> changes(const ShellRun& run, const std::string& dump, std::string output) {
  ShellResult result{.changed = {}, .output = std::move(output)};
  const Environment before = environment_of(run);
  for (size_t at = 0; at < dump.size();) {
    const size_t end = dump.find('\0', at);
    if (end == std::string::npos) return not_run("the list of variables is truncated");
    const std::string line = dump.substr(at, end - at);
    at = end + 1;
    const size_t equals = line.find('=');
    const std::string name = line.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : line.substr(equals + 1);
    const auto known = before.find(name);
    if ((known != before.end() && known->second == value) || name.starts_with("nrd_")) continue;
    if (name == "_" || name == "PWD" || name == "OLDPWD" || name == "SHLVL") continue;  // set by the shell itself
    if (!profiles::is_name(name) || profiles::is_forbidden(name)) {
      return fail(ErrorCode::BadRequest, fmt::format("a profile set {}, which profiles must not set", name));
    }
    if (const std::string problem = profiles::problem_of_value(value); !problem.empty()) {
      return fail(ErrorCode::BadRequest, fmt::format("a profile set {} to a value that {}", name, problem));
    }
    result.changed.emplace(name, value);
  }
  if (result.changed.size() > profiles::kVariablesLimit) return not_run("more than 512 variables set");
  return result;
}

}  // namespace

Result<ShellResult> run_profiles(const ShellRun& run) {
  Pipe result_pipe = TRY(make_pipe());
  Pipe output_pipe = TRY(make_pipe());
  const pid_t pid = TRY(spawn(run, result_pipe, output_pipe));
  result_pipe.in = UniqueFd();
  output_pipe.in = UniqueFd();
  Reader result(std::move(result_pipe.out), kResultLimit);
  Reader output(std::move(output_pipe.out), kOutputLimit);
  std::string problem = read_both(result, output, run.deadline);
  // Kill remaining descendants: a background process could hold the application's output open forever.
  ::kill(-pid, SIGKILL);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  const std::string printed = output.text().empty() ? "" : "\n" + output.text();
  if (!problem.empty()) return not_run(problem + printed);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || result.text().empty()) {
    return fail(ErrorCode::BadRequest, "a profile exited early" + printed);
  }
  return changes(run, result.text(), output.text());
}

}  // namespace nrd::cli
