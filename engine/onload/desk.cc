#include "engine/onload/desk.h"

#include <pthread.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "base/guarded.h"
#include "base/log.h"
#include "engine/onload/tasks.h"
#include "hw/onload/profiles/preload.h"
#include "hw/onload/profiles/render.h"
#include "hw/onload/user_files.h"

namespace nrd::onload {
namespace {

constexpr const char* kPreload = "LD_PRELOAD";
constexpr const char* kOwnProfiles = "/profiles";

ProfileShelf shelf_of(const Keeper& keeper, const DeskOptions& options) {
  std::vector<ProfileFolder> configured;
  for (const std::string& path : options.profiles) configured.emplace_back(options.trust, path);
  const auto shipped = [&keeper, trust = options.trust, versions = options.versions]() -> std::optional<ProfileFolder> {
    const std::string current = keeper.view()->seen.current;
    if (current.empty()) return std::nullopt;
    return ProfileFolder(trust, tree_of_version(versions, current) + "/" + std::string(kProfileFolder));
  };
  // The folders above it are nrd's by configuration, wherever they are.
  return {configured, ProfileFolder({.root = options.state_directory, .owner = options.trust.owner}, kOwnProfiles),
          shipped};
}

// The variables of `added` over those of the caller.
profiles::Environment together(profiles::Environment caller, const profiles::Environment& added) {
  for (const auto& [name, value] : added) caller.insert_or_assign(name, value);
  return caller;
}

// Why nobody new may come now.
Result<uint64_t> open_generation(const View& view) {
  const Generation* kept = effective(view);
  if (running(view) != nullptr) {
    return fail(ErrorCode::Busy,
                "Onload's door is closed: operation " + std::to_string(running(view)->id) + " is under way");
  }
  if (kept == nullptr || kept->desired.state != State::Loaded) {
    return fail(ErrorCode::Conflict, "Onload is not loaded on this node by nrd (nrdctl onload says more)");
  }
  if (view.door_open) return kept->number;
  if (view.drained) {
    return fail(ErrorCode::Busy, "Onload's door is closed: this node is drained (nrdctl onload undrain opens it)");
  }
  const std::string why = !view.problem.empty() ? view.problem
                          : !view.drift.empty() ? "it is not as it was verified: " + view.drift
                                                : "its last operation failed";
  return fail(ErrorCode::Busy, "Onload's door is closed: " + why);
}

class ThreadedDesk final : public Desk {
 public:
  ThreadedDesk(const Keeper& keeper, ProcessWatcher& owners, Keeper::Ledger ledger, const Clock& clock,
               DeskOptions options)
      : keeper_(keeper),
        owners_(owners),
        ledger_(std::move(ledger)),
        clock_(clock),
        options_(std::move(options)),
        shelf_(shelf_of(keeper, options_)) {}

  ~ThreadedDesk() override {
    tasks_.stop();
    if (thread_.joinable()) thread_.join();
  }

  void start(const store::OnloadRecords& records) {
    for (const store::OnloadAllocationRecord& row : records.allocations) {
      allocations_.push_back({row.id, row.owner, row.generation, row.version, row.created});
      next_id_ = std::max(next_id_, row.id + 1);
    }
    publish();
    thread_ = std::thread([this] { run(); });
    for (const Allocation& allocation : *published_.get()) end_with_owner(allocation.owner);
  }

  void list_profiles(Callback<std::vector<ProfileEntry>> done) override {
    tasks_.read(lists_, {}, std::move(done), [this] { return shelf_.list(); });
  }
  void read_profile(std::string id, Callback<ProfileShelf::Found> done) override {
    tasks_.read(profiles_, id, std::move(done), [this, id] { return shelf_.read(id); });
  }
  void put_profile(std::string id, std::string text, Callback<ProfileEntry> done) override {
    tasks_.change(std::move(done), [this, id = std::move(id), text = std::move(text)] { return shelf_.put(id, text); });
  }
  void remove_profile(std::string id, Callback<void> done) override {
    tasks_.change(std::move(done), [this, id = std::move(id)] { return shelf_.remove(id); });
  }
  void render(RenderRequest request, Form form, Callback<RenderedProfiles> done) override {
    tasks_.change(std::move(done), [this, request = std::move(request), form] { return render_now(request, form); });
  }
  void allocate(AllocationRequest request, Callback<Allocated> done) override {
    tasks_.change(std::move(done), [this, request = std::move(request)] { return allocate_now(request); });
  }
  void admit(RenderRequest what, Place place, Callback<Admitted> done) override {
    tasks_.change(std::move(done), [this, what = std::move(what), place] { return admit_now(what, place); });
  }
  void release(uint64_t id, Callback<void> done) override {
    tasks_.change(std::move(done), [this, id] { return release_now(id); });
  }
  std::shared_ptr<const std::vector<Allocation>> allocations() const override { return published_.get(); }

 private:
  void run() noexcept {
    ::pthread_setname_np(::pthread_self(), "nrd-desk");
    while (const std::optional<Tasks::Task> task = tasks_.next(Tasks::Steady::max())) (*task)(Tasks::Turn::Work);
    tasks_.refuse_all();
  }

  void publish() { published_.set(std::make_shared<const std::vector<Allocation>>(allocations_)); }

  Result<RenderedProfiles> render_now(const RenderRequest& request, Form form) const {
    Result<profiles::Evaluated> all = evaluate(request, request.profiles);
    if (!all) return Failure(all.error());
    RenderedProfiles rendered{.environment = {}, .text = {}, .warnings = std::move(all->warnings)};
    Result<std::string> text;
    switch (form) {
      case Form::Json: rendered.environment = std::move(all->environment); return rendered;
      case Form::Env: text = profiles::render_env(all->environment); break;
      case Form::Systemd: text = profiles::render_drop_in(all->environment); break;
      case Form::ConfigMap: {
        std::vector<profiles::Profile> each;
        for (const std::string& name : request.profiles) {
          Result<profiles::Evaluated> one = evaluate(request, {name});
          if (!one) return Failure(one.error());
          each.push_back({name, std::move(one->environment)});
        }
        text = profiles::render_config_maps(each);
        break;
      }
    }
    if (!text) return Failure(text.error());
    rendered.text = *std::move(text);
    return rendered;
  }

  Result<profiles::Evaluated> evaluate(const RenderRequest& request, const std::vector<std::string>& names) const {
    Result<profiles::Evaluated> evaluated =
        shelf_.evaluate({.profiles = names, .caller = request.environment, .winner = request.winner});
    if (evaluated) evaluated->environment = together(request.environment, evaluated->environment);
    return evaluated;
  }

  Result<void> check_room() const {
    const size_t workloads = options_.count_workloads ? options_.count_workloads() : 0;
    if (allocations_.size() + workloads + static_cast<size_t>(held_.use_count() - 1) < options_.most_allocations) {
      return {};
    }
    return fail(ErrorCode::Busy, "all " + std::to_string(options_.most_allocations) +
                                     " allocations of this node are taken (onload.max_allocations)");
  }

  Result<Outfit> outfit_now(const RenderRequest& what, Preload preload, Place place) const {
    const auto view = keeper_.view();
    const Result<uint64_t> generation = open_generation(*view);
    if (!generation) return Failure(generation.error());
    const Result<void> room = place == Place::New ? check_room() : Result<void>();
    if (!room) return Failure(room.error());
    Result<profiles::Evaluated> evaluated = evaluate(what, what.profiles);
    if (!evaluated) return Failure(evaluated.error());
    const std::string& version = find_generation(*view, *generation)->desired.version;
    const Result<std::vector<std::string>> libraries = find_libraries(options_.trust, options_.versions, version);
    if (!libraries) return Failure(libraries.error());
    if (libraries->empty()) return fail(ErrorCode::Conflict, "version " + version + " has no libonload.so");

    Outfit outfit{.generation = *generation,
                  .version = version,
                  .environment = std::move(evaluated->environment),
                  .warnings = std::move(evaluated->warnings)};
    if (preload == Preload::Yes) {
      std::string& own = outfit.environment[kPreload];
      own = profiles::merge_preload(own, libraries->front());
    }
    for (const DeviceNode& device : view->seen.devices) {
      if (device.leads_to_device()) outfit.devices.push_back("/dev/" + device.name);
    }
    for (const std::string& library : *libraries) outfit.mounts.push_back({library, library});
    return outfit;
  }

  Result<Admitted> admit_now(const RenderRequest& what, Place place) const {
    return outfit_now(what, Preload::Yes, place).map([this](Outfit outfit) {
      return Admitted{.outfit = std::move(outfit), .place = held_};
    });
  }

  Result<Allocated> allocate_now(const AllocationRequest& request) {
    Result<Outfit> outfit = outfit_now(request.what, request.preload, Place::New);
    if (!outfit) return Failure(outfit.error());
    Allocated allocated{.allocation = {next_id_, request.owner, outfit->generation, outfit->version, now()},
                        .outfit = *std::move(outfit)};
    if (const Result<void> stored = store(allocated.allocation); !stored) return Failure(stored.error());
    return allocated;
  }

  Result<void> store(const Allocation& allocation) {
    const store::OnloadAllocationRecord row{allocation.id, allocation.owner, allocation.generation, allocation.version,
                                            allocation.created};
    // An attempt whose outcome was unknown may have left a row of this number behind, of which nobody was told.
    if (Result<void> stored = ledger_({.allocations = {row}, .removed_allocations = {row.id}}); !stored) return stored;
    ++next_id_;
    allocations_.push_back(allocation);
    publish();
    end_with_owner(allocation.owner);
    return {};
  }

  Result<void> release_now(uint64_t id) {
    const auto found = std::ranges::find(allocations_, id, &Allocation::id);
    if (found == allocations_.end()) return fail(ErrorCode::NotFound, "there is no such allocation");
    if (Result<void> stored = ledger_({.removed_allocations = {id}}); !stored) return stored;
    allocations_.erase(found);
    publish();
    return {};
  }

  // Asked for once a second until all of its are released; a second request for one finds nothing to do.
  void end_with_owner(const store::Owner& owner) {
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

  Time now() const { return std::chrono::floor<std::chrono::milliseconds>(clock_.now()); }

  const Keeper& keeper_;
  ProcessWatcher& owners_;
  const Keeper::Ledger ledger_;
  const Clock& clock_;
  const DeskOptions options_;
  const ProfileShelf shelf_;
  std::vector<Allocation> allocations_;  // of the thread
  uint64_t next_id_ = 1;                 // of the thread
  // Each copy of it is the place of a workload that was admitted and is not stored yet.
  const std::shared_ptr<const int> held_ = std::make_shared<const int>(0);
  Published<std::vector<Allocation>> published_;

  Tasks::Shared<std::vector<ProfileEntry>> lists_;
  Tasks::Shared<ProfileShelf::Found, std::string> profiles_;
  Tasks tasks_;
  std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<Desk>> Desk::start(const Keeper& keeper, ProcessWatcher& owners, Keeper::Ledger ledger,
                                          const store::OnloadRecords& records, const Clock& clock,
                                          DeskOptions options) {
  auto desk = std::make_unique<ThreadedDesk>(keeper, owners, std::move(ledger), clock, std::move(options));
  desk->start(records);
  return desk;
}

}  // namespace nrd::onload
