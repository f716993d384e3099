#include "engine/onload/allocations.h"

#include <fmt/core.h>
#include <pthread.h>

#include <algorithm>
#include <map>
#include <thread>
#include <utility>

#include "base/find_in.h"
#include "base/log.h"
#include "base/published.h"
#include "base/work_queue.h"
#include "engine/onload/controller.h"
#include "engine/owner_watcher.h"
#include "hw/onload/profiles/preload.h"
#include "hw/onload/profiles/render.h"
#include "hw/onload/user_files.h"

namespace nrd::onload {
namespace {

constexpr const char* kPreload = "LD_PRELOAD";
constexpr const char* kOwnProfiles = "/profiles";

ProfileRepository repository_of(const Controller& controller, const AllocationsOptions& options) {
  std::vector<ProfileFolder> configured;
  for (const std::string& path : options.profiles) configured.emplace_back(options.trust, path);
  const auto shipped = [&controller, trust = options.trust,
                        versions = options.versions]() -> std::optional<ProfileFolder> {
    const std::string current = controller.status()->observed.current;
    if (current.empty()) return std::nullopt;
    return ProfileFolder(trust, tree_of_version(versions, current) + "/" + std::string(kProfileFolder));
  };
  // Folders above the state directory are trusted by configuration.
  return {configured, ProfileFolder({.root = options.state_directory, .owner = options.trust.owner}, kOwnProfiles),
          shipped};
}

// The generation that new users get, or why none are accepted.
Result<uint64_t> open_generation(const Status& status) {
  const Generation* kept = effective(status);
  if (running(status) != nullptr) {
    return fail(ErrorCode::Busy,
                fmt::format("Onload accepts no new users: operation {} is running", running(status)->id));
  }
  if (kept == nullptr || kept->spec.state != State::Loaded) {
    return fail(ErrorCode::Conflict, "nrd has not loaded Onload on this node; see nrdctl onload");
  }
  if (status.device_access_open) return kept->number;
  if (status.drained) {
    return fail(ErrorCode::Busy, "Onload accepts no new users: node drained; use nrdctl onload undrain");
  }
  const std::string why = !status.problem.empty() ? status.problem
                          : !status.drift.empty() ? "state differs from the verified one: " + status.drift
                                                  : "the last operation failed";
  return fail(ErrorCode::Busy, "Onload accepts no new users: " + why);
}

class AllocationsThread final : public Allocations {
 public:
  AllocationsThread(const Controller& controller, OwnerWatcher& owners, Controller::CommitFn commit,
                    const Stored& stored, const Clock& clock, AllocationsOptions options)
      : controller_(controller),
        owners_(owners),
        commit_(std::move(commit)),
        clock_(clock),
        options_(std::move(options)),
        repository_(repository_of(controller, options_)),
        allocations_(stored.allocations),
        next_id_(stored.revision + 1) {
    set_limits(options_.limits);
    publish();
    thread_ = std::thread([this] { run(); });
    for (const Allocation& allocation : stored.allocations) end_with_owner(allocation.owner);
  }

  ~AllocationsThread() override {
    tasks_.stop();
    if (thread_.joinable()) thread_.join();
  }

  void set_limits(AllocationLimits limits) override {
    limits_.set(std::make_shared<const AllocationLimits>(std::move(limits)));
  }

  void list_profiles(Callback<std::vector<ProfileEntry>> done) override {
    tasks_.read(lists_, {}, std::move(done), [this] { return repository_.list(); });
  }
  void read_profile(std::string id, Callback<ProfileRepository::Found> done) override {
    tasks_.read(profiles_, id, std::move(done), [this, id] { return repository_.read(id); });
  }
  void put_profile(std::string id, std::string text, Callback<ProfileEntry> done) override {
    tasks_.change(std::move(done),
                  [this, id = std::move(id), text = std::move(text)] { return repository_.put(id, text); });
  }
  void remove_profile(std::string id, Callback<void> done) override {
    tasks_.change(std::move(done), [this, id = std::move(id)] { return repository_.remove(id); });
  }
  void render(RenderRequest request, Form form, Callback<RenderedProfiles> done) override {
    tasks_.change(std::move(done), [this, request = std::move(request), form] { return render_now(request, form); });
  }
  void allocate(AllocationRequest request, Callback<Allocated> done) override {
    tasks_.change(std::move(done), [this, request = std::move(request)] { return allocate_now(request); });
  }
  void admit(RenderRequest what, Renewal renewal, std::string origin, Callback<Admitted> done) override {
    tasks_.change(std::move(done), [this, what = std::move(what), renewal, origin = std::move(origin)] {
      return admit_now(what, renewal, origin);
    });
  }
  void release(uint64_t id, Callback<void> done) override {
    tasks_.change(std::move(done), [this, id] { return release_now(id); });
  }
  std::shared_ptr<const std::vector<Allocation>> allocations() const override { return published_.get(); }

 private:
  void run() noexcept {
    ::pthread_setname_np(::pthread_self(), "nrd-allocations");
    tasks_.run();
  }

  void publish() { published_.set(std::make_shared<const std::vector<Allocation>>(allocations_)); }

  Result<RenderedProfiles> render_now(const RenderRequest& request, Form form) const {
    profiles::Evaluated all = TRY(evaluate(request, request.profiles));
    RenderedProfiles rendered{.environment = {}, .text = {}, .warnings = std::move(all.warnings)};
    Result<std::string> text;
    switch (form) {
      case Form::Json: rendered.environment = std::move(all.environment); return rendered;
      case Form::Env: text = profiles::render_env(all.environment); break;
      case Form::Systemd: text = profiles::render_drop_in(all.environment); break;
      case Form::ConfigMap: {
        std::vector<profiles::Profile> each;
        for (const std::string& name : request.profiles) {
          profiles::Evaluated one = TRY(evaluate(request, {name}));
          each.push_back({name, std::move(one.environment)});
        }
        text = profiles::render_config_maps(each);
        break;
      }
    }
    if (!text) return Failure(text.error());
    rendered.text = *std::move(text);
    return rendered;
  }

  // With the caller's variables that it does not replace.
  Result<profiles::Evaluated> evaluate(const RenderRequest& request, const std::vector<std::string>& names) const {
    Result<profiles::Evaluated> evaluated =
        repository_.evaluate({.profiles = names, .caller = request.environment, .winner = request.winner});
    if (evaluated) evaluated->environment.insert(request.environment.begin(), request.environment.end());
    return evaluated;
  }

  // By origin: allocations, workloads, and workloads that were admitted but are not stored yet.
  std::map<std::string, size_t> taken() const {
    std::map<std::string, size_t> taken = options_.count_workloads ? options_.count_workloads() : decltype(taken)();
    for (const Allocation& allocation : allocations_) ++taken[allocation.origin];
    for (const auto& [origin, held] : held_) taken[origin] += static_cast<size_t>(held.use_count() - 1);
    return taken;
  }

  Result<void> check_room(const std::string& origin) const {
    const auto limits = limits_.get();
    const auto all = taken();
    const auto of = [&all](const std::string& name) { return all.contains(name) ? all.at(name) : 0; };
    if (const auto* own = find_in(limits->reserved, origin)) {
      if (of(origin) < *own) return {};
      return fail(
          ErrorCode::Busy,
          fmt::format("all {} allocations reserved for origin {} are taken (reserve.{}.onload)", *own, origin, origin));
    }
    size_t used = 0;
    for (const auto& [name, count] : all) used += count;
    std::string kept;
    for (const auto& [name, count] : limits->reserved) {
      used += count - std::min(count, of(name));
      kept += fmt::format("; {} of them are reserved for origin {} (reserve.{}.onload)", count, name, name);
    }
    if (used < limits->most) return {};
    return fail(ErrorCode::Busy, fmt::format("all {} allocations of this node are taken (onload.max_allocations){}",
                                             limits->most, kept));
  }

  Result<LaunchEnvironment> launch_now(const RenderRequest& what, Preload preload, Renewal renewal,
                                       const std::string& origin) const {
    const auto status = controller_.status();
    const uint64_t generation = TRY(open_generation(*status));
    TRY(renewal == Renewal::No ? check_room(origin) : Result<void>());
    profiles::Evaluated evaluated = TRY(evaluate(what, what.profiles));
    const std::string& version = find_generation(*status, generation)->spec.version;
    const std::vector<std::string> libraries = TRY(find_libraries(options_.trust, options_.versions, version));
    if (libraries.empty()) return fail(ErrorCode::Conflict, fmt::format("version {} has no libonload.so", version));

    LaunchEnvironment launch{.generation = generation,
                             .version = version,
                             .environment = std::move(evaluated.environment),
                             .warnings = std::move(evaluated.warnings)};
    if (preload == Preload::Yes) {
      std::string& own = launch.environment[kPreload];
      own = profiles::merge_preload(own, libraries.front());
    }
    for (const DeviceNode& device : status->observed.devices) {
      if (device.leads_to_device()) launch.devices.push_back(device);
    }
    for (const std::string& library : libraries) launch.mounts.push_back({library, library});
    return launch;
  }

  Result<Admitted> admit_now(const RenderRequest& what, Renewal renewal, const std::string& origin) {
    return launch_now(what, Preload::Yes, renewal, origin).map([this, &origin](LaunchEnvironment launch) {
      auto& held = held_[origin];
      if (!held) held = std::make_shared<const int>(0);
      return Admitted{.launch = std::move(launch), .place = held};
    });
  }

  Result<Allocated> allocate_now(const AllocationRequest& request) {
    LaunchEnvironment launch = TRY(launch_now(request.what, request.preload, Renewal::No, request.origin));
    Allocation made{next_id_, request.owner, launch.generation, launch.version, now(clock_), request.origin};
    // Replaces an unused one with this id that a commit with unknown outcome may have left.
    TRY(commit_({.allocations = {made}}));
    ++next_id_;
    allocations_.push_back(made);
    publish();
    end_with_owner(made.owner);
    return Allocated{.allocation = std::move(made), .launch = std::move(launch)};
  }

  Result<void> release_now(uint64_t id) {
    const auto found = std::ranges::find(allocations_, id, &Allocation::id);
    if (found == allocations_.end()) return fail(ErrorCode::NotFound, "allocation not found");
    TRY(commit_({.removed_allocations = {id}}));
    allocations_.erase(found);
    publish();
    return {};
  }

  // The watcher calls this once a second until all allocations of the owner are released; repeated requests do nothing.
  void end_with_owner(const Owner& owner) {
    owners_.watch(owner, this, [this, owner] {
      bool is_done = true;
      const auto known = allocations();
      for (const Allocation& allocation : *known) {
        if (allocation.owner != owner) continue;
        release(allocation.id, [](const Result<void>&) {});
        is_done = false;
      }
      return is_done;
    });
  }

  const Controller& controller_;
  OwnerWatcher& owners_;
  const Controller::CommitFn commit_;
  const Clock& clock_;
  const AllocationsOptions options_;
  Published<AllocationLimits> limits_;
  const ProfileRepository repository_;
  std::vector<Allocation> allocations_;  // controller thread only
  // Controller thread only. Not that after the last allocation: a client may still hold the id of a released one.
  uint64_t next_id_;
  // By origin. Each further copy reserves the place of a workload that was admitted but is not stored yet.
  std::map<std::string, std::shared_ptr<const int>> held_;
  Published<std::vector<Allocation>> published_;

  WorkQueue::Shared<std::vector<ProfileEntry>> lists_;
  WorkQueue::Shared<ProfileRepository::Found, std::string> profiles_;
  WorkQueue tasks_{"Onload requests"};
  std::thread thread_;
};

}  // namespace

std::unique_ptr<Allocations> Allocations::start(const Controller& controller, OwnerWatcher& owners,
                                                Controller::CommitFn commit, const Stored& stored, const Clock& clock,
                                                AllocationsOptions options) {
  return std::make_unique<AllocationsThread>(controller, owners, std::move(commit), stored, clock, std::move(options));
}

}  // namespace nrd::onload
