#include "daemon/app.h"

#include <malloc.h>
#include <unistd.h>

#include "api/http/server.h"
#include "api/v1/routes.h"
#include "base/clock.h"
#include "base/log.h"
#include "daemon/hardware.h"
#include "daemon/notify.h"
#include "daemon/signals.h"
#include "daemon/version.h"
#include "engine/engine.h"
#include "store/store.h"

namespace nrd::daemon {
namespace {

// Long enough for every change that has begun; what waits longer than this is withdrawn by the engine anyway.
constexpr std::chrono::seconds kDrainDeadline{10};

Result<std::unique_ptr<http::Server>> open_server(const Config& config, Engine& engine) {
  if (!config.server.debug) {
    log::warning("NO_LISTENER",
                 "nothing is served: TLS and the local socket come with a later version; use --debug for plain HTTP");
    return nullptr;
  }
  auto server = http::Server::start({.address = config.server.address, .port = config.server.debug_port},
                                    v1::routes(engine, {.version = kVersion, .debug_port_open = true}));
  if (server) {
    log::warning("DEBUG_PORT_OPEN", "serving plain HTTP without authentication; every local user is administrator",
                 {{"ADDRESS", config.server.address}, {"PORT", std::to_string((*server)->port())}});
  }
  return server;
}

// Waits for the end. Under a watchdog it beats while the engine does; a hung engine thread stops the beat.
void serve(const Engine& engine) {
  const std::optional<std::chrono::microseconds> limit = watchdog_limit();
  const auto period = limit ? std::optional(*limit / 3) : std::nullopt;
  for (;;) {
    const std::optional<Signal> signal = wait_for_signal(period);
    if (signal == Signal::Stop) return;
    if (signal == Signal::Reload) {
      log::notice("RELOAD_IGNORED", "the configuration is read at start only; restart nrd to have it read again");
    }
    if (limit && std::chrono::steady_clock::now() - engine.last_beat() < *limit) notify_alive();
  }
}

}  // namespace

Result<void> run(const Config& config) {
  if (::geteuid() != 0) return fail(ErrorCode::Unsupported, "nrd writes classes of service and must run as root");
  log::set_lowest(config.log_level);
  // Answers of some 30 KiB would otherwise make glibc give memory back to the kernel, and take it again, at each of
  // them.
  ::mallopt(M_TRIM_THRESHOLD, 2 << 20);
  block_signals();

  // The store's lock comes before the first touch of the hardware: a second daemon must not get that far.
  const Result<std::unique_ptr<store::Store>> store = store::Store::open(config.state_directory);
  if (!store) return Failure(store.error());
  const Result<std::unique_ptr<Hardware>> hardware = open_hardware();
  if (!hardware) return Failure(hardware.error());
  const SystemClock clock;
  Result<std::unique_ptr<Engine>> engine =
      Engine::start(**hardware, **store, clock,
                    {.pools = config.pools, .shrink = config.shrink, .drift_interval = config.drift_interval});
  if (!engine) return Failure(engine.error());
  Result<std::unique_ptr<http::Server>> server = open_server(config, **engine);
  if (!server) return Failure(server.error());

  const auto state = (*engine)->state();
  for (const std::string& missing : state->facts.rdt.missing) log::warning("CAPABILITY_MISSING", missing);
  const std::string status = std::to_string(state->workloads.size()) + " workloads";
  log::notice("READY", "ready, " + status, {{"VERSION", kVersion}});
  notify_ready(status);
  serve(**engine);

  notify_stopping();
  log::notice("STOPPING", "stopping; workloads stay on the hardware");
  if (*server) (*server)->drain(kDrainDeadline);
  engine->reset();  // ends the changes it has accepted; their answers still need the server
  server->reset();
  return {};
}

}  // namespace nrd::daemon
