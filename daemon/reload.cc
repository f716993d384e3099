#include "daemon/reload.h"

#include <fmt/core.h>

#include <future>
#include <utility>

#include "base/joined.h"
#include "base/log.h"
#include "daemon/config_files.h"
#include "daemon/config_keys.h"
#include "daemon/declared_workloads.h"
#include "daemon/http_frontend.h"
#include "daemon/node_config.h"
#include "engine/model/node_state.h"
#include "engine/transaction/engine.h"

namespace nrd::daemon {
namespace {

// Reloads are rare; more than this is a client in a loop.
constexpr size_t kMostWaiting = 16;

const char* word_of(Origin::Source source) {
  switch (source) {
    case Origin::Source::Default: return "default";
    case Origin::Source::File: return "file";
    case Origin::Source::CommandLine: return "command_line";
  }
  return "default";
}

Origin origin_of(const LoadedConfig& loaded, const char* key) {
  const auto found = loaded.origins.find(key);
  return found == loaded.origins.end() ? Origin{} : found->second;
}

void keep(const ConfigKey& key, const LoadedConfig& present, LoadedConfig& effective) {
  key.copy(present.config, effective.config);
  effective.origins.erase(key.name);
  if (const auto origin = present.origins.find(key.name); origin != present.origins.end())
    effective.origins.insert(*origin);
}

// Files and accounts that the configuration names are its part: what is wrong with them is a bad configuration. The key
// is in the message, since the request has none.
Error of_config(const LoadedConfig& loaded, Error error) {
  error = with_position(loaded, std::move(error));
  error.field.clear();
  return error;
}

Error bad_config(const LoadedConfig& loaded, Error error) {
  error.code = ErrorCode::BadRequest;
  return of_config(loaded, std::move(error));
}

Result<void> submit(Engine& engine, const EngineConfig& config, ReloadMode mode) {
  std::promise<Result<void>> answer;
  engine.reconfigure(config, mode, [&answer](Result<void> done) { answer.set_value(std::move(done)); });
  return answer.get_future().get();
}

void log_report(const v1::ReloadReport& report) {
  const auto keys_of = [](const std::vector<v1::ConfigChange>& changes) {
    return joined(changes, ", ", &v1::ConfigChange::key);
  };
  log::notice("CONFIG_RELOADED",
              fmt::format("configuration reloaded: {} changed, {} require a restart", report.changed.size(),
                          report.restart_required.size()),
              {{"CHANGED", keys_of(report.changed)}, {"RESTART_REQUIRED", keys_of(report.restart_required)}});
}

void log_failure(const Error& error) {
  log::error("CONFIG_NOT_RELOADED", error.message + "; the present configuration stays in force",
             {{"DETAIL", error.detail}});
}

}  // namespace

ConfigDifference difference_of(const LoadedConfig& present, const LoadedConfig& next) {
  ConfigDifference found{.changed = {}, .restart_required = {}, .effective = next};
  for (const ConfigKey& key : config_keys()) {
    const json::Value from = key.show(present.config);
    const json::Value to = key.show(next.config);
    if (from == to) continue;
    const bool is_taken = key.takes == ConfigKey::Takes::Reload && key.can_reload(present.config, next.config);
    (is_taken ? found.changed : found.restart_required).push_back({key.name, from, to});
    if (!is_taken) keep(key, present, found.effective);
  }
  // What a reload can take may be invalid without the rest: then all of it waits for the restart.
  if (check(found.effective.config)) return found;
  for (v1::ConfigChange& change : found.changed) found.restart_required.push_back(std::move(change));
  found.changed.clear();
  found.effective = present;
  return found;
}

v1::ConfigView view_of(const LoadedConfig& loaded) {
  v1::ConfigView view{.files = loaded.files, .settings = {}};
  for (const ConfigKey& key : config_keys()) {
    const Origin origin = origin_of(loaded, key.name);
    view.settings.push_back({.key = key.name,
                             .value = key.show(loaded.config),
                             .source = word_of(origin.source),
                             .file = origin.file,
                             .line = origin.line,
                             .reload = key.takes == ConfigKey::Takes::Reload});
  }
  return view;
}

Reloader::Reloader(ConfigSource source, LoadedConfig present, std::function<void()> wake)
    : source_(std::move(source)), wake_(std::move(wake)), present_(std::move(present)) {
  view_.set(std::make_shared<const v1::ConfigView>(view_of(present_)));
}

void Reloader::reload(ReloadMode mode, Callback<v1::ReloadReport> done) {
  const char* refusal = nullptr;
  {
    const std::lock_guard hold(lock_);
    if (stopping_) {
      refusal = "nrd is stopping";
    } else if (waiting_.size() >= kMostWaiting) {
      refusal = "too many reloads are waiting; try again";
    } else {
      waiting_.push_back({mode, done});
    }
  }
  if (refusal != nullptr) return done(fail(ErrorCode::Busy, refusal));
  wake_();
}

void Reloader::serve(const Parts& parts) {
  std::deque<Request> requests;
  {
    const std::lock_guard hold(lock_);
    requests.swap(waiting_);
  }
  for (const Request& request : requests) {
    const Result<v1::ReloadReport> report = run(parts, request.mode);
    if (!report || request.mode == ReloadMode::Check) {
      request.done(report);
      continue;
    }
    parts.declared.reload([report = *report, done = request.done](const std::optional<v1::DeclaredReport>& workloads) {
      v1::ReloadReport whole = report;
      whole.workloads = workloads;
      done(std::move(whole));
    });
  }
}

void Reloader::reload_now(const Parts& parts) {
  // run() has logged why it fails.
  if (run(parts, ReloadMode::Apply)) parts.declared.reload();
}

void Reloader::stop() {
  std::deque<Request> requests;
  {
    const std::lock_guard hold(lock_);
    stopping_ = true;
    requests.swap(waiting_);
  }
  for (const Request& request : requests) request.done(fail(ErrorCode::Busy, "nrd is stopping"));
}

Result<v1::ReloadReport> Reloader::run(const Parts& parts, ReloadMode mode) {
  Result<v1::ReloadReport> report = load_config(source_)
                                        .map_error([](Error error) {
                                          error.field.clear();
                                          return error;
                                        })
                                        .and_then([&](const LoadedConfig& next) { return take(parts, mode, next); });
  if (mode == ReloadMode::Check) return report;
  if (report) {
    log_report(*report);
  } else {
    log_failure(report.error());
  }
  return report;
}

Result<v1::ReloadReport> Reloader::take(const Parts& parts, ReloadMode mode, const LoadedConfig& next) {
  const auto bad = [&next](Error error) { return bad_config(next, std::move(error)); };
  ConfigDifference found = difference_of(present_, next);
  const Config& config = found.effective.config;
  TRY(LaunchBackend::check_accounts(next.config).map_error(bad));
  if (!found.restart_required.empty()) {  // must be good, too
    TRY(parts.frontend.prepare(next.config).map_error(bad));
  }
  const ResolvedNode node = TRY(resolve_node(config).map_error(bad));
  HttpFrontend::Prepared prepared = TRY(parts.frontend.prepare(config).map_error(bad));
  const auto policies = parts.engine.state()->config->policies;
  // The last step that can fail.
  TRY(submit(parts.engine, node.engine, mode).map_error([&next](Error error) {
    return of_config(next, std::move(error));
  }));
  v1::ReloadReport report{mode, std::move(found.changed), std::move(found.restart_required)};
  if (mode == ReloadMode::Check) return report;
  parts.frontend.use(config, std::move(prepared));
  parts.launch.use(config);
  log::set_lowest(config.log_level);
  const bool are_same = policies && node.policies.policies && *policies == *node.policies.policies;
  if (!are_same && policies != node.policies.policies) log_policies(node.policies);
  log_warnings(*parts.engine.state());
  present_ = std::move(found.effective);
  view_.set(std::make_shared<const v1::ConfigView>(view_of(present_)));
  return report;
}

}  // namespace nrd::daemon
