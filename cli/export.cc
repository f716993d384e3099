#include "cli/export.h"

#include <vector>

#include "base/json/reader.h"
#include "base/json/writer.h"
#include "cli/onload/preloaded.h"
#include "cli/owner.h"
#include "cli/printer.h"
#include "hw/onload/profiles/render.h"
#include "hw/onload/profiles/variable.h"

namespace nrd::cli {
namespace {

constexpr long kCreated = 201;
constexpr long kUnavailable = 503;
constexpr const char* kPreload = "LD_PRELOAD";
constexpr std::string_view kOwnPreload = "LD_PRELOAD=";

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

const std::string* text_in(const json::Value& object, std::string_view key) {
  const json::Value* value = object.find(key);
  return value == nullptr ? nullptr : value->as_string();
}

Result<Parts> parts_of(const json::Value& allocation) {
  const json::Value* environment = allocation.find("env");
  const json::Value* devices = allocation.find("devices");
  const json::Value* mounts = allocation.find("mounts");
  const std::string* version = text_in(allocation, "version");
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
    if (const std::string* source = text_in(mount, "source")) parts.files.push_back(by_current(*source, *version));
  }
  return parts;
}

// Quotes one word for a POSIX shell.
std::string quoted(const std::string& text) {
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? "'\\''" : std::string(1, c);
  return word + "'";
}

std::string docker(const Parts& parts) {
  std::string line;
  const auto add = [&line](const std::string& word) { line += (line.empty() ? "" : " ") + word; };
  for (const std::string& device : parts.devices) add("--device " + quoted(device));
  for (const std::string& file : parts.files) add("-v " + quoted(file + ":" + file + ":ro"));
  for (const auto& [name, value] : parts.environment) {
    std::string variable = name;
    add("-e " + quoted(variable.append("=").append(value)));
  }
  return line + "\n";
}

// Version 0.6.0 of the Container Device Interface; JSON is YAML as well.
std::string cdi(const Parts& parts) {
  json::Writer w;
  w.begin_object();
  w.key("cdiVersion").string("0.6.0");
  w.key("kind").string("amd.com/onload");
  w.key("devices").begin_array().begin_object();
  w.key("name").string("onload");
  w.key("containerEdits").begin_object();
  w.key("env").begin_array();
  for (const auto& [name, value] : parts.environment) w.string(std::string(name).append("=").append(value));
  w.end_array();
  w.key("deviceNodes").begin_array();
  for (const std::string& device : parts.devices) {
    w.begin_object().key("path").string(device).key("permissions").string("rw").end_object();
  }
  w.end_array();
  w.key("mounts").begin_array();
  for (const std::string& file : parts.files) {
    w.begin_object().key("hostPath").string(file).key("containerPath").string(file);
    w.key("options").begin_array().string("ro").string("nosuid").string("nodev").string("bind").end_array();
    w.end_object();
  }
  w.end_array();
  w.end_object();
  w.end_object().end_array();
  w.end_object();
  return w.take() + "\n";
}

Result<std::string> request_of(const OnloadStart& request, const std::string& owner) {
  json::Writer w;
  w.begin_object();
  w.key("owner").raw(owner);
  w.key("profiles").begin_array();
  for (const std::string& name : request.profiles) w.string(name);
  w.end_array();
  w.key("env").begin_object();
  for (const std::string& line : request.variables) {
    const size_t equals = line.find('=');
    if (equals == std::string::npos || !profiles::is_name(line.substr(0, equals))) {
      return fail(ErrorCode::BadRequest, "-e " + line + ": expected NAME=VALUE");
    }
    w.key(line.substr(0, equals)).string(line.substr(equals + 1));
  }
  w.end_object();
  w.key("force").boolean(request.force);
  w.key("preload").boolean(request.preload);
  w.end_object();
  return w.take();
}

Result<void> check_allocation(const json::Value& allocation, const OnloadStart& request) {
  const json::Value* environment = allocation.find("env");
  const std::string* preload = environment == nullptr ? nullptr : text_in(*environment, kPreload);
  std::string own;
  for (const std::string& line : request.variables) {
    if (line.starts_with(kOwnPreload)) own = line.substr(kOwnPreload.size());
  }
  return preload == nullptr ? Result<void>() : check_preload(*preload, own);
}

int give_up(int exit, const std::string& text) {
  print_error(text);
  return exit;
}

}  // namespace

Result<std::string> emit(Kind kind, const json::Value& allocation) {
  const Parts parts = TRY(parts_of(allocation));
  switch (kind) {
    case Kind::Systemd: return profiles::render_drop_in(parts.environment);
    case Kind::Docker: return docker(parts);
    case Kind::Cdi: return cdi(parts);
  }
  return {};
}

int emit(const Client& client, Kind kind, const OnloadStart& request) {
  if (const Result<void> may = check_server(client); !may) return give_up(kUsage, may.error().message);
  const Result<std::string> owner = this_process(client);
  if (!owner) return give_up(kRefused, owner.error().message);
  const Result<std::string> body = request_of(request, *owner);
  if (!body) return give_up(kUsage, body.error().message);
  const Result<Answer> answer = client.post("/v1/onload/allocations", *body);
  if (!answer) return give_up(kUnreachable, answer.error().message);
  if (answer->status != kCreated) {
    return give_up(answer->status == kUnavailable ? int{kTryAgain} : int{kRefused}, answer->body);
  }
  const Result<json::Value> allocation = json::parse(answer->body);
  if (!allocation) return give_up(kRefused, "the response is not JSON; check that the endpoint is nrd");
  // nrd would release it when this process exits; release it now instead.
  if (const json::Value* id = allocation->find("id"); id != nullptr && id->as_unsigned()) {
    [[maybe_unused]] const auto released =
        client.remove("/v1/onload/allocations/" + std::to_string(*id->as_unsigned()));
  }
  if (const Result<void> may = check_allocation(*allocation, request); !may)
    return give_up(kRefused, may.error().message);
  const Result<std::string> text = emit(kind, *allocation);
  if (!text) return give_up(kRefused, text.error().message);
  print(*text);
  return kDone;
}

}  // namespace nrd::cli
