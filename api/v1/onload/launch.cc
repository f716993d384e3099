#include "api/v1/launch.h"

#include <memory>
#include <utility>

#include "api/v1/onload/parse.h"
#include "base/json/fields.h"
#include "base/json/object.h"
#include "base/json/validation.h"
#include "engine/model/workload.h"
#include "engine/onload/allocation.h"

namespace nrd::v1 {
namespace {

using json::Value;

constexpr std::string_view kExample = R"(an object such as {"profile": "latency"})";
// Set by nrd only; accepted so that a response can be edited and sent back.
constexpr std::string_view kOurs[] = {"generation",   "version", "environment", "devices",
                                      "device_nodes", "mounts",  "warnings"};

// "profile" is shorthand for a list of one.
Result<onload::RenderRequest> with_single_profile(const Value& value, onload::RenderRequest request) {
  const Value* profile = value.find("profile");
  if (!profile) return request;
  const std::string* name = profile->as_string();
  if (!name) return wrong_type("/profile", *profile, "the name of a profile");
  if (value.find("profiles"))
    return fail_at(ErrorCode::BadRequest, "/profile", "cannot be combined with profiles", "one of the two");
  request.profiles = {*name};
  return request;
}

std::string path_of(const onload::DeviceNode& device) { return "/dev/" + device.name; }

void write_device(json::Writer& w, const onload::DeviceNode& device) {
  json::write_object(w, {{"path", path_of(device)},
                         {"type", "c"},
                         {"major", device.number->major},
                         {"minor", device.number->minor},
                         {"mode", device.node->access.mode}});
}

Error within_onload(Error error) {
  error.field = "/onload" + error.field;
  return error;
}

}  // namespace

// The allocations admit the workload before the engine runs, so that it is created completely or not at all.
Result<LaunchRequest> parse_launch(const Value& body, nrd::SpecPatch& patch) {
  const Value* value = body.find(kLaunchMember);
  if (!value) return LaunchRequest();
  if (value->is_null()) {
    patch.onload.emplace();
    return LaunchRequest();
  }
  TRY(require_object("/onload", *value, kExample));
  std::vector<std::string_view> keys(std::begin(kOurs), std::end(kOurs));
  keys.emplace_back("profile");
  return parse_render(*value, std::move(keys))
      .and_then([&](onload::RenderRequest request) { return with_single_profile(*value, std::move(request)); })
      .map([](onload::RenderRequest request) -> LaunchRequest {
        return std::make_shared<const onload::RenderRequest>(std::move(request));
      })
      .map_error(within_onload);
}

void write_launch(json::Writer& w, const onload::LaunchEnvironment& launch, std::string_view environment) {
  const auto write_mount = [](json::Writer& of, const onload::Mount& mount) {
    json::write_object(of, {{"source", mount.source}, {"target", mount.target}, {"read_only", true}});
  };
  const auto write_path = [](json::Writer& of, const onload::DeviceNode& device) { of.string(path_of(device)); };
  json::write_members(w, {{environment, json::by_key(launch.environment)},
                          {"devices", json::array(launch.devices, write_path)},
                          {"device_nodes", json::array(launch.devices, write_device)},
                          {"mounts", json::array(launch.mounts, write_mount)},
                          {"warnings", launch.warnings}});
}

void write_launch(json::Writer& w, const nrd::Spec& spec, const Launch& launch) {
  if (!spec.onload) return;
  const OnloadUse& use = *spec.onload;
  w.key(kLaunchMember).begin_object();
  json::write_members(w, {{"profiles", use.profiles},
                          {"env", json::by_key(use.env)},
                          {"force", use.profiles_win},
                          {"generation", use.generation},
                          {"version", use.version}});
  if (launch) write_launch(w, *launch, "environment");
  w.end_object();
}

}  // namespace nrd::v1
