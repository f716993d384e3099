#include "daemon/app.h"

#include <fmt/core.h>
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "base/version.h"
#include "daemon/cpu_events.h"
#include "daemon/declared_workloads.h"
#include "daemon/hardware.h"
#include "daemon/http_frontend.h"
#include "daemon/launch.h"
#include "daemon/node_config.h"
#include "daemon/notify.h"
#include "daemon/options.h"
#include "daemon/reload.h"
#include "daemon/signals.h"
#include "engine/model/node_state.h"
#include "engine/owner_cleanup.h"
#include "engine/owner_watcher.h"
#include "engine/pool_check.h"
#include "engine/transaction/engine.h"
#include "engine/workload_poll.h"
#include "engine/workload_service.h"
#include "store/store.h"

namespace nrd::daemon {
namespace {

// Covers every change that has begun; the engine withdraws changes that wait longer.
constexpr std::chrono::seconds kDrainDeadline{10};
// Covers the responses of changes that ended after that.
constexpr std::chrono::seconds kLastAnswers{1};

// How long the start waits for declared workloads; later ones are granted while nrd serves.
constexpr std::chrono::seconds kDeclaredDeadline{10};

// How often TLS and access files are checked for changes.
constexpr std::chrono::seconds kLook{5};

// For `systemctl status`.
std::string status_of(const NodeState& state) {
  const std::string problem = problem_of(state);
  const std::string first_line = problem.substr(0, problem.find('\n'));
  return fmt::format("workloads: {}{}{}", state.workloads.size(),
                     state.health.writes_frozen ? "; changes are rejected until the store can be read" : "",
                     problem.empty() ? "" : "; " + first_line);
}

// Waits for the end. With a watchdog, notifies systemd while engine and event loop respond; if one hangs, the
// notifications stop.
void serve(Engine& engine, HttpFrontend& frontend, LaunchBackend& launch, DeclaredWorkloads& declared,
           Reloader& reloader) {
  http::Server& server = frontend.server();
  const Reloader::Parts parts{engine, launch, frontend, declared};
  const std::optional<std::chrono::microseconds> limit = watchdog_limit();
  const bool has_tls = server.tls_port() != 0;
  std::optional<std::chrono::microseconds> period = limit ? std::optional(*limit / 3) : std::nullopt;
  if (has_tls) period = std::min<std::chrono::microseconds>(period.value_or(kLook), kLook);
  std::string shown;
  for (;;) {
    if (std::string status = status_of(*engine.state()); status != shown) {
      notify_status(status);
      shown = std::move(status);
    }
    server.ask_for_beat();
    const std::optional<Signal> signal = wait_for_signal(period);
    if (signal == Signal::Stop) return;
    if (signal == Signal::Reload) reloader.reload_now(parts);
    reloader.serve(parts);
    if (has_tls) frontend.reload_changed_files();
    const auto oldest_beat = std::min(engine.last_beat(), server.last_beat());
    if (limit && std::chrono::steady_clock::now() - oldest_beat < *limit) notify_alive();
  }
}

// Each client needs a descriptor; a shell's default limit is lower than the listener's limits.
void allow_many_files() {
  rlimit limit{};
  constexpr rlim_t kEnough = 4096;
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = std::max(limit.rlim_cur, std::min(limit.rlim_max, kEnough));
  ::setrlimit(RLIMIT_NOFILE, &limit);  // without it, connections are evicted earlier
}

// Notifies systemd however the start ends.
struct StopBefore {
  OwnerWatcher& owners;
  CpuEvents* cpu_events;
  ~StopBefore() {
    owners.stop();
    if (cpu_events) cpu_events->stop();
  }
};

struct StopDeclared {
  DeclaredWorkloads& declared;
  ~StopDeclared() { declared.stop(); }
};

// Null: CPU hotplug is then noticed at the drift interval.
std::unique_ptr<CpuEvents> listen_for_cpus() {
  Result<std::unique_ptr<CpuEvents>> events = CpuEvents::open();
  if (events) return *std::move(events);
  log::notice("CPU_EVENTS_OFF", events.error().message, {{"DETAIL", events.error().detail}});
  return nullptr;
}

}  // namespace

Result<void> run(const Options& options) {
  const Config& config = options.loaded.config;
  if (::geteuid() != 0) return fail(ErrorCode::Unsupported, "nrd writes classes of service and must run as root");
  log::set_lowest(config.log_level);
  // Responses of some 30 KiB would otherwise make glibc return memory to the kernel and request it again each time.
  ::mallopt(M_TRIM_THRESHOLD, 2 << 20);
  block_signals();
  allow_many_files();

  const auto at_its_line = [&options](Error error) { return with_position(options.loaded, std::move(error)); };
  const ResolvedNode node = TRY(resolve_node(options.loaded));

  // Lock the store before touching the hardware, so that a second daemon fails first.
  const std::unique_ptr<store::Store> store = TRY(store::Store::open(config.state_directory));
  const store::Records records = TRY(store->load());  // from here on the engine owns the store
  const LaunchBackend::Stored stored = TRY(LaunchBackend::read(records));
  const std::unique_ptr<Hardware> hardware = TRY(open_hardware(config.mount));
  const SystemClock clock;
  const std::unique_ptr<OwnerWatcher> owners = TRY(OwnerWatcher::start());
  WorkloadPoll poll(clock);
  PoolCheck checks(find_disturbances);
  const std::unique_ptr<CpuEvents> cpu_events =
      listen_for_cpus();                      // before the first observation, so that no event is missed
  std::optional<DeclaredWorkloads> declared;  // the engine notifies it to its own end
  std::atomic<DeclaredWorkloads*> declared_now{nullptr};
  const auto changed_cpus = [&cpu_events] { return cpu_events ? cpu_events->take() : CpuSet{}; };
  const auto published = [&poll, &declared_now] {
    poll.notify();
    if (auto* files = declared_now.load()) files->note_change();
  };
  std::unique_ptr<Engine> engine =
      TRY(Engine::start(*hardware, *store, clock, node.engine, {.changed_cpus = changed_cpus, .published = published})
              .map_error(at_its_line));
  std::unique_ptr<LaunchBackend> launch = TRY(LaunchBackend::start(config, *engine, *owners, stored, clock));
  const StopBefore stop_before{*owners, cpu_events.get()};  // its callbacks use objects that are destroyed after this
  if (cpu_events) cpu_events->watch([&engine] { engine->refresh_cpus(); });
  end_with_owners(*engine, *owners);
  const WorkloadService workloads(*engine, *owners, launch->launcher());
  declared.emplace(config.workloads_directory, *engine, workloads);
  const StopDeclared stop_declared{*declared};  // its thread uses the engine
  declared_now = &*declared;
  declared->wait(kDeclaredDeadline);  // before the first client
  Reloader reloader(options.source, options.loaded, wake_main_thread);
  std::unique_ptr<HttpFrontend> frontend =
      TRY(HttpFrontend::open(config, {*engine, workloads, *owners, launch->services(), poll, reloader, checks},
                             [&declared] { return declared->problems(); }));

  const auto state = engine->state();
  for (const std::string& missing : state->facts.rdt.missing) log::warning("CAPABILITY_MISSING", missing);
  log_policies(node.policies);
  log_warnings(*state);
  log::notice("READY", fmt::format("ready, {} workloads", state->workloads.size()), {{"VERSION", kVersion}});
  notify_ready();
  serve(*engine, *frontend, *launch, *declared, reloader);

  notify_stopping();
  log::notice("STOPPING", "stopping; workloads stay on the hardware");
  launch->end_watches();
  poll.stop();
  reloader.stop();
  frontend->server().drain(kDrainDeadline);  // afterwards no request uses any of the following
  owners->stop();
  if (cpu_events) cpu_events->stop();
  declared->stop();
  launch.reset();  // stops between two steps; storing them still needs the engine
  engine.reset();  // completes accepted changes; their responses still need the server
  frontend->server().drain(kLastAnswers);
  frontend.reset();
  return {};
}

}  // namespace nrd::daemon
