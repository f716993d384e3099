#include "hw/onload/modules.h"

#include <fcntl.h>
#include <libkmod.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "base/control.h"
#include "hw/onload/kernel_log.h"

namespace nrd::onload {
namespace {

constexpr size_t kValueLimit = 1024;  // param_set_charp() in kernel/params.c
constexpr size_t kParameterLimit = 256;

// "-" and "_" are equal in names (parameqn in kernel/params.c).
std::string normalized(std::string name) {
  std::ranges::replace(name, '-', '_');
  return name;
}

bool has_parameter(const ModuleFile& module, const std::string& name) {
  return std::ranges::any_of(module.parameters,
                             [&name](const std::string& known) { return normalized(known) == normalized(name); });
}

bool is_valid_value(const std::string& value) {
  return value.size() < kValueLimit && value.find('"') == std::string::npos && without_controls(value) == value;
}

// Captures kernel messages from its construction on. An unreadable log does not prevent loading.
class LogCapture {
 public:
  explicit LogCapture(std::string module) : module_(std::move(module)), log_(KernelLog::open()) {}

  std::vector<std::string> lines() {
    if (!log_) return {log_.error().message};
    const Result<std::vector<LogLine>> read = log_->read({module_});
    if (!read) return {read.error().message};
    std::vector<std::string> texts;
    for (const LogLine& line : *read) {
      if (is_evidence(line)) texts.push_back(line.text);
    }
    return texts;
  }

 private:
  std::string module_;
  Result<KernelLog> log_;
};

using Context = std::unique_ptr<kmod_ctx, kmod_ctx* (*)(kmod_ctx*)>;
using Handle = std::unique_ptr<kmod_module, kmod_module* (*)(kmod_module*)>;

// Created for each call: the index and the configuration may have changed.
Context open_context(const SystemModules& from) {
  std::vector<const char*> paths;
  for (const std::string& path : from.configuration) paths.push_back(path.c_str());
  paths.push_back(nullptr);
  Context context(::kmod_new(from.modules.empty() ? nullptr : from.modules.c_str(),
                             from.configuration.empty() ? nullptr : paths.data()),
                  &::kmod_unref);
  // The return values have the same information as libkmod's messages on standard error.
  if (context) ::kmod_set_log_priority(context.get(), 0);
  return context;
}

// The configuration has an install command for the module or one of its dependencies.
bool has_command(kmod_module* module) {
  if (::kmod_module_get_install_commands(module) != nullptr) return true;
  kmod_list* const needed = ::kmod_module_get_dependencies(module);
  bool found = false;
  kmod_list* entry = nullptr;
  kmod_list_foreach(entry, needed) {
    const Handle handle(::kmod_module_get_module(entry), &::kmod_module_unref);
    found = found || ::kmod_module_get_install_commands(handle.get()) != nullptr;
  }
  ::kmod_module_unref_list(needed);
  return found;
}

// Called by libkmod instead of a shell, for commands of soft dependencies.
int refuse_command(kmod_module* /*module*/, const char* /*command*/, void* /*data*/) { return -ECANCELED; }

}  // namespace

tl::expected<std::string, LoadFailure> parameter_line(const ModuleFile& module, const ParameterValues& parameters) {
  if (parameters.size() > kParameterLimit) {
    return tl::unexpected(refused(module.name, Cause::BadParameter, "more than 256 parameters"));
  }
  std::string line;
  for (const auto& [name, value] : parameters) {
    // The kernel would ignore an unknown parameter and only log it.
    if (!is_module_name(name) || !has_parameter(module, name)) {
      return tl::unexpected(refused(module.name, Cause::UnknownParameter, is_module_name(name) ? name : ""));
    }
    if (!is_valid_value(value)) return tl::unexpected(refused(module.name, Cause::BadParameter, name));
    const bool quoted = value.find(' ') != std::string::npos;
    line += (line.empty() ? "" : " ") + name + "=" + (quoted ? "\"" + value + "\"" : value);
  }
  return line;
}

LoadResult insert_module(int file, const ModuleFile& module, const ParameterValues& parameters) {
  const tl::expected<std::string, LoadFailure> line = parameter_line(module, parameters);
  if (!line) return tl::unexpected(line.error());
  LogCapture capture(module.name);
  // No wrapper in glibc. No flags: never force a module of another kernel.
  if (::syscall(SYS_finit_module, file, line->c_str(), 0) == 0) return {};
  const int error = errno;
  return tl::unexpected(insert_failure(module.name, error, capture.lines()));
}

LoadResult remove_module(const std::string& name) {
  if (!is_module_name(name)) return tl::unexpected(remove_failure("a module", ENOENT, {}));
  LogCapture capture(name);
  if (::syscall(SYS_delete_module, normalized(name).c_str(), O_NONBLOCK) == 0) return {};
  const int error = errno;
  return tl::unexpected(remove_failure(name, error, capture.lines()));
}

LoadResult load_system_module(const std::string& name, const SystemModules& from) {
  if (!is_module_name(name)) return tl::unexpected(refused("a module", Cause::NoFile));
  const Context context = open_context(from);
  kmod_module* created = nullptr;
  // kmod_module_new_from_name_lookup() has another symbol version since libkmod 33, so nrd would not start with both.
  const int error = context ? ::kmod_module_new_from_name(context.get(), name.c_str(), &created) : -ENOMEM;
  const Handle module(created, &::kmod_module_unref);
  if (error < 0) return tl::unexpected(insert_failure(name, -error, {}));
  if (has_command(module.get())) return tl::unexpected(refused(name, Cause::InstallCommand));
  LogCapture capture(name);
  const int loaded = ::kmod_module_probe_insert_module(module.get(), 0, nullptr, &refuse_command, nullptr, nullptr);
  if (loaded >= 0) return {};
  // Not in depmod's index, or depmod was never run.
  if (::kmod_module_get_path(module.get()) == nullptr) return tl::unexpected(refused(name, Cause::NoFile));
  return tl::unexpected(insert_failure(name, -loaded, capture.lines()));
}

}  // namespace nrd::onload
