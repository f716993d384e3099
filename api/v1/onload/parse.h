// Onload's wishes, generations and operations as JSON: docs/onload.md and openapi.yaml have the shapes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/json/value.h"
#include "api/json/writer.h"
#include "base/result.h"
#include "engine/onload/controller.h"

namespace nrd::v1 {

// What PUT /v1/onload wants. Whatever is not named takes its default: a wish is whole.
Result<onload::Spec> parse_spec(const json::Value& body);
// {"to": 3} of a rollback; empty: to the one before.
Result<std::optional<uint64_t>> parse_rollback(const json::Value& body);
Result<onload::Freeze> parse_freeze(const json::Value& body);
// {KEY: true} of an interface.
Result<onload::Turned> parse_turned(const json::Value& body, std::string_view key);
// "3" or "*" of If-Match, with quotes or without; an inner nullopt: any.
Result<std::optional<uint64_t>> parse_if_match(const std::string& header);

// What POST /v1/onload/drain wants.
Result<onload::Drain> parse_drain(const json::Value& body);
// {"name": "value"}: at least one.
Result<std::map<std::string, std::string>> parse_module_parameters(const std::string& module, const json::Value& body);
// {"parameters": ["-K"]} of the control plane server.
Result<std::vector<std::string>> parse_control_plane_patch(const json::Value& body);

// What POST /v1/onload/versions wants.
struct Import {
  std::string name;
  std::string source;
  friend bool operator==(const Import&, const Import&) = default;
};
Result<Import> parse_import(const json::Value& body);
// 1 to 64 of letters, digits and ._+-, not with a dot at the beginning.
bool is_version(std::string_view text);

void render(json::Writer& w, const onload::Spec& spec);
void render(json::Writer& w, const onload::Generation& generation);
void render(json::Writer& w, const onload::Operation& operation);
// As of a view; the revision is one to wait from.
void render(json::Writer& w, const onload::Operation& operation, uint64_t revision);
void render(json::Writer& w, const onload::DryRun& dry_run);
void render_control_plane(json::Writer& w, const onload::Status& view);
void render(json::Writer& w, const onload::Module& module);
void render(json::Writer& w, const onload::Status& view);
void render(json::Writer& w, const onload::InUse& use);
void render(json::Writer& w, const onload::InstalledVersion& version);
void render(json::Writer& w, const onload::Verification& found);
void render(json::Writer& w, const onload::Stack& stack);
// `wish`: what is wanted of it; null: nothing.
void render(json::Writer& w, const onload::Interface& interface, const onload::InterfaceSpec* wish);

}  // namespace nrd::v1
