// JSON of Onload specs, generations and operations: docs/onload.md and openapi.yaml define the formats.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json/value.h"
#include "base/json/writer.h"
#include "base/result.h"
#include "engine/onload/spec.h"
#include "hw/onload/types.h"

namespace nrd::onload {
enum class Form;
struct Drain;
struct DryRun;
struct LaunchEnvironment;
struct ProfileEntry;
struct RenderRequest;
struct Status;
struct Verification;
}  // namespace nrd::onload

namespace nrd::v1 {

// The body of PUT /v1/onload. Absent members get their defaults: a spec is complete.
Result<onload::Spec> parse_spec(const json::Value& body);
// {"to": 3} of a rollback; empty: the previous generation.
Result<std::optional<uint64_t>> parse_rollback(const json::Value& body);
Result<onload::Freeze> parse_freeze(const json::Value& body);
// {KEY: true} for an interface.
Result<onload::SwitchState> parse_turned(const json::Value& body, std::string_view key);
// "3" or "*" of If-Match, quoted or not; an inner nullopt: any.
Result<std::optional<uint64_t>> parse_if_match(const std::string& header);

// The body of POST /v1/onload/drain.
Result<onload::Drain> parse_drain(const json::Value& body);
// {"name": "value"}: at least one.
Result<onload::ModuleParameters> parse_module_parameters(const std::string& module, const json::Value& body);
// {"parameters": ["-K"]} of the control plane server.
Result<std::vector<std::string>> parse_control_plane_patch(const json::Value& body);

// The body of POST /v1/onload/versions.
struct Import {
  std::string name;
  std::string source;
  friend bool operator==(const Import&, const Import&) = default;
};
Result<Import> parse_import(const json::Value& body);
// 1 to 64 of letters, digits and ._+-, not starting with a dot.
bool is_version(std::string_view text);

// {"profiles": ["latency"], "env": {"EF_POLL_USEC": "0"}, "force": false}, as in render and allocation requests.
// `keys`: keys allowed in addition to these three.
Result<onload::RenderRequest> parse_render(const json::Value& body, std::vector<std::string_view> keys);
// The member "format"; default "json".
Result<onload::Form> parse_form(const json::Value& body);

void to_json(json::Writer& w, const onload::Spec& spec);
void to_json(json::Writer& w, const onload::Generation& generation);
// `revision`, if given, can be passed to ?since.
void to_json(json::Writer& w, const onload::Operation& operation, std::optional<uint64_t> revision = {});
void to_json(json::Writer& w, const onload::DryRun& dry_run);
void write_control_plane(json::Writer& w, const onload::Status& view);
void to_json(json::Writer& w, const onload::Module& module);
void to_json(json::Writer& w, const onload::Status& view);
void to_json(json::Writer& w, const onload::InUse& use);
void to_json(json::Writer& w, const onload::Version& version);
void to_json(json::Writer& w, const onload::Verification& found);
void to_json(json::Writer& w, const onload::Stack& stack);
void to_json(json::Writer& w, const onload::ProfileEntry& entry);
// `spec`: the requested settings; null: none.
void to_json(json::Writer& w, const onload::Interface& interface, const onload::InterfaceSpec* spec);
// The members of a launch environment; `environment`: the key of the variables.
void write_launch(json::Writer& w, const onload::LaunchEnvironment& launch, std::string_view environment);

}  // namespace nrd::v1
