#include "api/v1/config.h"

#include <utility>

#include "api/routing/call.h"
#include "api/v1/answer.h"
#include "base/json/members.h"
#include "base/json/object.h"
#include "engine/transaction/engine.h"

namespace nrd::v1 {
namespace {

void write_setting(json::Writer& w, const ConfigSetting& setting) {
  json::write_object(w, {{"key", setting.key},
                         {"value", setting.value},
                         {"source", setting.source},
                         {"file", json::or_null(setting.file)},
                         {"line", setting.line == 0 ? std::nullopt : std::optional(setting.line)},
                         {"reload", setting.reload}});
}

void write_change(json::Writer& w, const ConfigChange& change) {
  json::write_object(w, {{"key", change.key}, {"from", change.from}, {"to", change.to}});
}

void write_declared(json::Writer& w, const DeclaredReport& report) {
  json::write_object(w, {{"created", report.created},
                         {"changed", report.changed},
                         {"deleted", report.deleted},
                         {"problems", report.problems}});
}

http::Response report_of(const ReloadReport& report) {
  const bool is_dry = report.mode == ReloadMode::Check;
  http::Response response = routing::json_answer(
      200, json::document({{"dry_run", is_dry},
                           {"changed", json::array(report.changed, write_change)},
                           {"restart_required", json::array(report.restart_required, write_change)},
                           {"workloads", json::or_null(report.workloads, write_declared)}}));
  return is_dry ? dry_run(std::move(response)) : response;
}

Result<ReloadMode> parse_mode(const json::Value& body) {
  TRY(json::require_object("", body, "an object"));
  TRY(json::check_keys(body, "", {"dry_run"}));
  const bool is_dry = TRY(json::parse_member(body, "dry_run", false));
  return is_dry ? ReloadMode::Check : ReloadMode::Apply;
}

}  // namespace

void show_config(const routing::Call& call, http::Reply reply) {
  const auto view = call.config.view();
  reply.send(routing::json_answer(
      200, json::document({{"files", view->files}, {"settings", json::array(view->settings, write_setting)}})));
}

void reload_config(const routing::Call& call, http::Reply reply) {
  const auto mode = accept_body(call, reply, parse_mode, "{}");
  if (!mode) return;
  call.config.reload(*mode, answer_with<ReloadReport>(call, std::move(reply), report_of));
}

}  // namespace nrd::v1
