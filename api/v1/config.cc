#include "api/v1/config.h"

#include <utility>

#include "api/v1/answer.h"
#include "base/json/members.h"
#include "base/json/writer.h"

namespace nrd::v1 {
namespace {

void write(json::Writer& w, const json::Value& value) {
  using Kind = json::Value::Kind;
  switch (value.kind()) {
    case Kind::Null: w.null(); break;
    case Kind::Bool: w.boolean(*value.as_bool()); break;
    case Kind::Number: w.raw(*value.literal()); break;
    case Kind::String: w.string(*value.as_string()); break;
    case Kind::Array:
      w.begin_array();
      for (const json::Value& item : value.items()) write(w, item);
      w.end_array();
      break;
    case Kind::Object:
      w.begin_object();
      for (const auto& [key, member] : value.members()) write(w.key(key), member);
      w.end_object();
      break;
  }
}

void render_setting(json::Writer& w, const ConfigSetting& setting) {
  w.begin_object();
  w.key("key").string(setting.key);
  write(w.key("value"), setting.value);
  w.key("source").string(setting.source);
  w.key("file").string_or_null(setting.file);
  w.key("line").number_or_null(setting.line == 0 ? std::nullopt : std::optional<uint64_t>(setting.line));
  w.key("reload").boolean(setting.reload);
  w.end_object();
}

void render_view(json::Writer& w, const ConfigView& view) {
  w.begin_object();
  w.key("files").begin_array();
  for (const std::string& file : view.files) w.string(file);
  w.end_array();
  w.key("settings").begin_array();
  for (const ConfigSetting& setting : view.settings) render_setting(w, setting);
  w.end_array();
  w.end_object();
}

void render_changes(json::Writer& w, const std::vector<ConfigChange>& changes) {
  w.begin_array();
  for (const ConfigChange& change : changes) {
    w.begin_object();
    w.key("key").string(change.key);
    write(w.key("from"), change.from);
    write(w.key("to"), change.to);
    w.end_object();
  }
  w.end_array();
}

http::Response report_of(const ReloadReport& report) {
  json::Writer w;
  w.begin_object();
  w.key("dry_run").boolean(report.mode == ReloadMode::Check);
  render_changes(w.key("changed"), report.changed);
  render_changes(w.key("restart_required"), report.restart_required);
  w.end_object();
  return routing::json_answer(200, w.take());
}

Result<ReloadMode> parse_mode(const json::Value& body) {
  TRY(json::require_object("", body, "an object"));
  TRY(json::check_keys(body, "", {"dry_run"}));
  const bool is_dry = TRY(json::parse_member(body, "dry_run", false));
  return is_dry ? ReloadMode::Check : ReloadMode::Apply;
}

}  // namespace

void show_config(const routing::Call& call, http::Reply reply) {
  json::Writer w;
  render_view(w, *call.config.view());
  reply.send(routing::json_answer(200, w.take()));
}

void reload_config(const routing::Call& call, http::Reply reply) {
  const auto mode = accept_body(call, reply, parse_mode, "{}");
  if (!mode) return;
  call.config.reload(*mode, answer_with<ReloadReport>(call, std::move(reply), report_of));
}

}  // namespace nrd::v1
