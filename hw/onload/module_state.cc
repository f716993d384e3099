#include "hw/onload/module_state.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/ascii.h"
#include "base/errno_text.h"
#include "base/file.h"
#include "base/hex.h"
#include "base/number.h"
#include "hw/onload/build_id.h"
#include "hw/onload/kernel_file.h"
#include "hw/onload/parameter_text.h"

namespace nrd::onload {
namespace {

constexpr std::array<std::string_view, 15> kOnloadModules = {
    "onload",      "sfc_char",      "sfc_resource", "sfc",     "sfc_driverlink",
    "virtual_bus", "sfc_affinity",  "sfc_tune",     "sfc_aoe", "sfc_control",
    "af_onload",   "onload_cplane", "xilinx_efct",  "sfc_mtd", "sfc_ef100"};
constexpr size_t kValueLimit = 1024;  // of a string parameter, kernel/params.c

std::string directory_of(const std::string& root, const std::string& module) { return root + "/sys/module/" + module; }

// The name of a module or parameter; it becomes part of a path.
bool is_name(std::string_view name) { return name.size() < 64 && is_word(name, "_"); }

std::optional<ModuleState> parse_state(std::string_view text) {
  if (text == "live") return ModuleState::Live;
  if (text == "coming") return ModuleState::Coming;
  if (text == "going") return ModuleState::Going;
  return std::nullopt;
}

Result<std::string> read_build_id(const std::string& directory) {
  const std::string path = directory + "/notes/.note.gnu.build-id";
  const std::optional<std::string> notes = TRY(read_file(path, kLineLimit));
  if (!notes) return std::string();
  std::optional<std::string> id = parse_build_id(*notes);
  if (!id) return unexpected("the build ID of a module", path, hex_of(*notes));
  return *std::move(id);
}

// nullopt: the module was removed.
Result<std::optional<Parameter>> read_parameter(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) return std::nullopt;
    return fail(ErrorCode::Hardware, "cannot read a module parameter", errno_text(path));
  }
  Parameter parameter{.value = std::nullopt, .writable = (status.st_mode & S_IWUSR) != 0};
  if ((status.st_mode & S_IRUSR) == 0) return parameter;
  std::optional<std::string> text = TRY(read_file(path, kLineLimit));
  if (!text) return std::nullopt;
  // The getters of Onload's texts add no line feed, and since Linux 4.14 the kernel adds none for them; a string that
  // was set by echo(1) includes its own.
  parameter.value = text->substr(0, text->find_last_not_of('\n') + 1);
  return parameter;
}

Result<std::map<std::string, Parameter>> read_parameters(const std::string& directory) {
  std::map<std::string, Parameter> parameters;
  for (const std::string& name : TRY(list_directory(directory + "/parameters"))) {
    std::optional<Parameter> parameter = TRY(read_parameter(directory + "/parameters/" + name));
    if (parameter) parameters.emplace(name, *std::move(parameter));
  }
  return parameters;
}

}  // namespace

bool is_onload_module(std::string_view name) { return std::ranges::find(kOnloadModules, name) != kOnloadModules.end(); }

Result<std::optional<Module>> read_module(const std::string& root, const std::string& name) {
  const std::string directory = directory_of(root, name);
  const std::vector<std::string> files = TRY(list_directory(directory));
  if (files.empty()) return std::nullopt;

  const auto attribute = [&directory](const char* file) { return read_line(directory + "/" + file); };
  Module module{.name = name};
  module.version = TRY(attribute("version")).value_or("");
  module.srcversion = TRY(attribute("srcversion")).value_or("");
  module.taint = TRY(attribute("taint")).value_or("");
  module.in_tree = module.taint.find('O') == std::string::npos;
  if (const std::optional<std::string> refcnt = TRY(attribute("refcnt"))) {
    module.refcnt = parse_number<uint32_t>(*refcnt);
    if (!module.refcnt) return unexpected("the reference count of a module", directory + "/refcnt", *refcnt);
  }
  module.build_id = TRY(read_build_id(directory));
  module.holders = TRY(list_directory(directory + "/holders"));
  module.parameters = TRY(read_parameters(directory));

  // Read last: a module without it is built in, unless it was removed meanwhile.
  const std::optional<std::string> state = TRY(attribute("initstate"));
  const bool was_loadable = std::ranges::binary_search(files, "initstate");
  if (!state && was_loadable) return std::nullopt;
  const std::optional<ModuleState> parsed = state ? parse_state(*state) : ModuleState::Builtin;
  if (!parsed) return unexpected("the state of a module", directory + "/initstate", *state);
  module.state = *parsed;
  return module;
}

Result<void> write_parameter(const std::string& root, const std::string& module, const std::string& parameter,
                             const std::string& value) {
  const std::string what = fmt::format("parameter {} of module {}", parameter, module);
  if (!is_name(module) || !is_name(parameter)) {
    return fail(ErrorCode::BadRequest, "invalid name; module and parameter names consist of letters, digits and _");
  }
  if (value.size() >= kValueLimit || value.find_first_of(std::string_view("\n\0", 2)) != std::string::npos) {
    return fail(ErrorCode::BadRequest, what + ": the value must be one line of less than 1024 bytes");
  }
  const std::string path = directory_of(root, module) + "/parameters/" + parameter;
  const std::optional<Parameter> before = TRY(read_parameter(path));
  if (!before) return fail(ErrorCode::NotFound, what + " does not exist", path);
  if (!before->writable) {
    return fail(ErrorCode::Unsupported, what + " can be set only while loading the module");
  }
  // Without a line feed, which would become part of a string. An empty value cannot be written otherwise.
  TRY(write_text(path, value.empty() ? "\n" : value, what + ": the kernel rejected the value"));
  const std::optional<Parameter> after = TRY(read_parameter(path));
  if (!after) return fail(ErrorCode::NotFound, what + " has disappeared", path);
  if (after->value && !says_same(value, *after->value)) {
    return fail(ErrorCode::Hardware, fmt::format("{}: wrote \"{}\", read back \"{}\"", what, value, *after->value),
                path);
  }
  return {};
}

}  // namespace nrd::onload
