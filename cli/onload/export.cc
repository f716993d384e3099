#include "cli/onload/export.h"

#include <fmt/core.h>

#include <array>
#include <vector>

#include "base/json/object.h"
#include "cli/answer.h"
#include "cli/environment.h"
#include "cli/launch.h"
#include "cli/onload/preloaded.h"
#include "cli/owner.h"
#include "cli/printer.h"
#include "hw/onload/profiles/render.h"

namespace nrd::cli {
namespace {

// The fields of an allocation.
struct Parts {
  profiles::Environment environment;
  std::vector<std::string> devices;
  std::vector<std::string> files;
  std::string version;
};

// "/opt/nrd/onload/versions/9.0.2/usr/lib64/libonload.so" -> "/opt/nrd/onload/current/usr/lib64/libonload.so"
std::string by_current(std::string text, const std::string& version) {
  const std::string tree = "/versions/" + version + "/";
  for (size_t at = text.find(tree); at != std::string::npos; at = text.find(tree)) {
    text.replace(at, tree.size(), "/current/");
  }
  return text;
}

Result<Parts> parts_of(const json::Value& allocation) {
  const json::Value* environment = allocation.find("env");
  const json::Value* devices = allocation.find("devices");
  const json::Value* mounts = allocation.find("mounts");
  const std::string* version = part(allocation, "version").as_string();
  if (environment == nullptr || devices == nullptr || mounts == nullptr || version == nullptr) {
    return fail(ErrorCode::BadRequest, "unexpected response; check that the endpoint is nrd");
  }
  Parts parts{.environment = {}, .devices = {}, .files = {}, .version = *version};
  for (const json::Member& variable : environment->members()) {
    if (const std::string* value = variable.value.as_string()) {
      parts.environment.emplace(variable.key, by_current(*value, *version));
    }
  }
  for (const json::Value& device : devices->items()) {
    if (const std::string* path = device.as_string()) parts.devices.push_back(*path);
  }
  for (const json::Value& mount : mounts->items()) {
    if (const std::string* source = part(mount, "source").as_string())
      parts.files.push_back(by_current(*source, *version));
  }
  return parts;
}

// Quotes one word for a POSIX shell.
std::string shell_word(const std::string& text) {
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? "'\\''" : std::string(1, c);
  return word + "'";
}

std::string docker(const Parts& parts) {
  std::string line;
  const auto add = [&line](const std::string& word) { line += (line.empty() ? "" : " ") + word; };
  for (const std::string& device : parts.devices) add("--device " + shell_word(device));
  for (const std::string& file : parts.files) add("-v " + shell_word(file + ":" + file + ":ro"));
  for (const auto& [name, value] : parts.environment) {
    std::string variable = name;
    add("-e " + shell_word(variable.append("=").append(value)));
  }
  return line + "\n";
}

// Version 0.6.0 of the Container Device Interface; JSON is YAML as well.
std::string cdi(const Parts& parts) {
  static const std::vector<std::string> kOptions = {"ro", "nosuid", "nodev", "bind"};
  const auto write_device = [](json::Writer& w, const std::string& device) {
    json::write_object(w, {{"path", device}, {"permissions", "rw"}});
  };
  const auto write_mount = [](json::Writer& w, const std::string& file) {
    json::write_object(w, {{"hostPath", file}, {"containerPath", file}, {"options", kOptions}});
  };
  const auto write_edits = [&](json::Writer& w) {
    json::write_object(w, {{"env", lines_of(parts.environment)},
                           {"deviceNodes", json::array(parts.devices, write_device)},
                           {"mounts", json::array(parts.files, write_mount)}});
  };
  const auto write_onload = [&](json::Writer& w, const char* name) {
    json::write_object(w, {{"name", name}, {"containerEdits", write_edits}});
  };
  const std::array kDevices = {"onload"};
  return json::document(
             {{"cdiVersion", "0.6.0"}, {"kind", "amd.com/onload"}, {"devices", json::array(kDevices, write_onload)}}) +
         "\n";
}

std::string request_of(const OnloadStart& request, const Environment& variables, const std::string& owner) {
  return json::document({{"owner", [&owner](json::Writer& w) { w.raw(owner); }},
                         {"profiles", request.profiles},
                         {"env", json::by_key(variables)},
                         {"force", request.force},
                         {"preload", request.preload}});
}

}  // namespace

Result<std::string> export_text(Kind kind, const json::Value& allocation) {
  const Parts parts = TRY(parts_of(allocation));
  switch (kind) {
    case Kind::Systemd: return profiles::render_drop_in(parts.environment);
    case Kind::Docker: return docker(parts);
    case Kind::Cdi: return cdi(parts);
  }
  return {};
}

OrStop<> print_export(const Client& client, Kind kind, const OnloadStart& request) {
  TRY(or_stop(client.check_trusted(), kUsage));
  const std::string owner = TRY(or_stop(this_process(client)));
  Environment variables;
  TRY(or_stop(add_variables(variables, request.variables), kUsage));
  const std::string body = request_of(request, variables, owner);
  const Answer answer = TRY(or_stop(client.post("/v1/onload/allocations", body), kUnreachable));
  const json::Value allocation = TRY(allocation_in(answer));
  // nrd would release it when this process exits; release it now instead.
  if (const auto id = part(allocation, "id").as_unsigned()) {
    [[maybe_unused]] const auto released = client.remove(fmt::format("/v1/onload/allocations/{}", *id));
  }
  if (const std::string* preload = part(part(allocation, "env"), kPreload).as_string()) {
    TRY(or_stop(check_preload(*preload, value_in(variables, kPreload))));
  }
  const std::string text = TRY(or_stop(export_text(kind, allocation)));
  print(text);
  return {};
}

}  // namespace nrd::cli
