#include "hw/rdt/rdt.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/log.h"
#include "hw/rdt/bandwidth.h"
#include "hw/rdt/capabilities.h"
#include "hw/rdt/groups.h"
#include "hw/rdt/locks.h"
#include "hw/rdt/mask_writers.h"
#include "hw/rdt/monitor.h"
#include "hw/rdt/resctrl.h"
#include "hw/rdt/tasks.h"
#include "hw/rdt/topology.h"
#include "hw/rdt/write_order.h"

namespace nrd::rdt {
namespace {

class ResctrlRdt final : public Rdt {
 public:
  explicit ResctrlRdt(mode_t tree_mode) : tree_mode_(tree_mode) {}

  void start() {
    known_.reset();
    if (check_mount()) writers_.start();
    choose_writer();
  }

  Result<Node> discover() override {
    if (!flags_) flags_ = TRY(read_flags());
    level_ = read_level(*flags_);
    Result<Node> node = read_topology("", level_);
    if (!node) return node;
    if (is_mounted() && writers_.needs_start()) {
      start();
    } else {
      choose_writer();
    }
    add_cat(*node);
    is_expected_ = is_available_;
    if (level_ == 3) add_l2(*node);
    node->capabilities = TRY(with_mount(*flags_));
    if (!node->main().cat) return node;
    // Bandwidth and monitoring belong to L3, whose caches have other ids.
    if (level_ != 3) node->capabilities.mba_info.reset();
    add_cores(*node);
    monitoring_ = level_ == 3 ? read_monitoring() : std::nullopt;
    node->monitoring = monitoring_;
    node->writer = writers_.choice();
    return node;
  }

  Result<Observed> observe(const std::set<Task>& tasks) override {
    known_.reset();
    if (was_available_ && !is_mounted()) {
      writers_.reset();
      start();
      if (is_mounted()) log::notice("RDT_RESTARTED", "resctrl was unmounted; libpqos has mounted it again");
    }
    if (!is_available_ && is_expected_)
      return fail(ErrorCode::Hardware, unavailable_reason_.message, unavailable_reason_.detail);
    if (!is_available_)
      return Observed{.classes = {}, .foreign = {}, .tasks = places_of(TRY(threads_of_all(tasks)), {})};
    Result<Observed> observed = read_all(tasks);
    if (observed) known_ = *observed;
    return observed;
  }

  Result<std::set<std::string>> group_names() override {
    if (!is_available_) return std::set<std::string>();
    const std::vector<std::string> names = TRY(list_groups());
    return std::set<std::string>(names.begin(), names.end());
  }

  Usages count_usage(const std::map<ClosId, std::set<CacheId>>& classes, const std::set<ClosId>& asked) override {
    asked_.insert(asked.begin(), asked.end());
    return monitoring_ ? read_usage(*monitoring_, classes, asked_) : Usages{};
  }

  Result<void> await_locks() override { return is_available_ ? writers_.await_locks() : Result<void>(); }

  Result<void> converge(const Setting& wanted) override {
    if (wanted == Setting{}) return {};
    if (!is_available_) return fail(ErrorCode::Unsupported, unavailable_reason_.message, unavailable_reason_.detail);
    const std::map<ClosId, Class> seen = known_ ? known_->classes : std::map<ClosId, Class>();
    Result<void> converged = converge_once(wanted);
    // Other software removed groups since the last observation. The second attempt observes first.
    const bool is_refused = !converged && converged.error().code == ErrorCode::Hardware;
    if (is_refused && has_lost_group(seen)) converged = converge_once(wanted);
    return converged;
  }

 private:
  // The present state of resctrl decides; without it nothing can be written.
  void choose_writer() {
    const Result<void> served = read_cat();
    is_available_ = served.has_value();
    if (!served) {
      // Retried with every discovery, reported once.
      if (served.error() != unavailable_reason_)
        log::notice("RDT_OFF", served.error().message, {{"DETAIL", served.error().detail}});
      unavailable_reason_ = served.error();
      return;
    }
    unavailable_reason_ = {};
    was_available_ = true;
    if (const Result<CacheView> view = read_cache_view(cats_)) writers_.choose(*view);
  }

  // "L3 CAT: ...", for Node::missing.
  static auto why_missing(const std::string& what) {
    return [what](const Error& error) {
      return fail(ErrorCode::Unsupported, fmt::format("{}: {}", what, error.message), error.detail).value();
    };
  }

  Result<void> read_cat() {
    TRY(check_mount());
    guard_tree(tree_mode_);
    Cats cats;
    for (const unsigned level : {3U, 2U}) {
      const std::optional<Cat> cat = TRY(read_cat_info(level).map_error(why_missing(fmt::format("L{} CAT", level))));
      if (cat) cats.emplace(level, *cat);
    }
    if (cats.empty()) return fail(ErrorCode::Unsupported, why_no_cat());
    const unsigned classes = TRY(read_classes().map_error(why_missing("L3 CAT")));
    io_ways_ = TRY(read_io_ways().map_error(why_missing("L3 CAT")));
    for (auto& [level, cat] : cats) cat.classes = classes;
    if (!io_ways_.empty() && classes > 1) --cats[3].classes;  // io_alloc uses the highest
    cats_ = std::move(cats);
    return {};
  }

  void add_cat(Node& node) const {
    if (!is_available_) return node.missing.push_back(unavailable_reason_.message);
    for (const auto& [level, cat] : cats_) node.levels[level].cat = cat;
    node.io_ways = io_ways_;
  }

  void add_l2(Node& node) {
    const Details details = cats_.contains(2) ? Details::All : Details::IdsAndCpus;
    // The cache files of a CPU may appear a moment after the CPU.
    const std::map<CacheId, CpuSet>& caches = l2_.level_of(2).caches;
    const bool has_all = l2_.geometry.size() == caches.size() && cpus_of(caches) == node.online;
    if (l2_.online != node.online || (details == Details::All && !has_all)) l2_ = read_caches(2, node.online, details);
    node.levels[2].caches = l2_.level_of(2).caches;
    node.sockets.edit().insert(l2_.sockets.begin(), l2_.sockets.end());
    node.numa_nodes.edit().insert(l2_.numa_nodes.begin(), l2_.numa_nodes.end());
    node.geometry.edit().insert(l2_.geometry.begin(), l2_.geometry.end());
  }

  // CPUs that share a core's limit of memory bandwidth. Reread only when the online CPUs change.
  void add_cores(Node& node) {
    auto& mba = node.capabilities.mba_info;
    if (mba) mba->throttle_mode = read_throttle_mode();
    if (!mba || mba->throttle_mode != "max") return;
    if (cores_of_ != node.online) cores_ = read_cores(node.online);
    cores_of_ = node.online;
    node.throttled_together = cores_;
  }

  bool knows_tasks_of(const Setting& wanted) const {
    return std::ranges::all_of(wanted.tasks, [this](const auto& entry) { return known_->tasks.contains(entry.first); });
  }

  bool has_lost_group(const std::map<ClosId, Class>& seen) {
    const Result<std::set<std::string>> names = group_names();
    return names && std::ranges::any_of(seen, [&names](const auto& entry) {
             return entry.first != kRootClass && !names->contains(nrd::text_of(entry.first));
           });
  }

  // A new group has no CPUs and no tasks, so nothing uses its initial ways: for the order of writes it has none yet.
  Result<void> make_groups(Observed& observed, const Setting& wanted) {
    for (const ClosId clos : wanted.made) {
      if (observed.classes.contains(clos)) continue;
      TRY(make_group(clos));
      observed.classes[clos] = {};
      asked_.erase(clos);
      // A group that keeps its counters works all the same.
      const Result<void> freed = monitoring_ ? free_counters(*monitoring_, clos) : Result<void>();
      if (!freed) log::notice("COUNTERS_NOT_FREED", freed.error().message, {{"DETAIL", freed.error().detail}});
    }
    return {};
  }

  // Last, when its ways, CPUs and tasks have moved: after an earlier failure it remains usable.
  static Result<void> remove_groups(Observed& observed, const Setting& wanted) {
    for (const ClosId clos : wanted.removed) {
      const Class* group = find_in(observed.classes, clos);
      if (group == nullptr) continue;
      TRY(remove_group(nrd::text_of(clos)));
      observed.classes[kRootClass].cpus |= group->cpus;
      for (auto& [task, places] : observed.tasks) {
        if (places.erase(nrd::text_of(clos)) > 0) places.insert("");
      }
      observed.classes.erase(clos);
    }
    return {};
  }

  // After a failure the state is unknown, so the next converge observes before it writes.
  Result<void> converge_once(const Setting& wanted) {
    if (!known_ || !knows_tasks_of(wanted)) {
      std::set<Task> tasks;
      for (const auto& [task, clos] : wanted.tasks) tasks.insert(task);
      TRY(observe(tasks));
    }
    if (!known_) return fail(ErrorCode::Unsupported, unavailable_reason_.message, unavailable_reason_.detail);
    Observed observed = *std::exchange(known_, std::nullopt);
    TRY(make_groups(observed, wanted));
    const std::vector<Write> writes = write_order(observed, wanted, cats_);
    const bool masks_change =
        std::ranges::any_of(writes, [](const Write& write) { return std::holds_alternative<WaysWrite>(write); });
    const TaskMoves moves = task_moves(observed, wanted, masks_change);
    const Limits limits = TRY(limits_of(observed, wanted));
    TRY(leave(moves));
    for (const Write& write : writes) {
      TRY(std::visit([&](const auto& w) { return apply(w); }, write));
    }
    TRY(write_limits(limits));
    TRY(enter(moves));
    TRY(read_back_masks(observed, wanted, writes));
    TRY(read_back_cpus(observed, wanted, writes));
    TRY(read_back(limits, observed));
    TRY(read_back(moves));
    note(observed, wanted, moves);
    TRY(remove_groups(observed, wanted));
    known_ = std::move(observed);
    return {};
  }

  // Re-read the unit before each write.
  Result<Limits> limits_of(const Observed& observed, const Setting& wanted) const {
    if (wanted.bandwidth.empty()) return Limits();
    const Capabilities now = TRY(with_mount(flags_.value_or(Capabilities{})));
    return limits_to_write(observed, wanted, now.mba_info);
  }

  Result<void> apply(const WaysWrite& write) {
    return writers_.set_ways(write, cat_of(write.cache).cdp).map_error([&](Error error) {
      return explained(std::move(error), not_taken(write.clos, write.cache, write.ways, write.split));
    });
  }

  static Result<void> apply(const CpusWrite& write) {
    return add_cpus(directory_of(write.clos), write.cpus).map_error([&](Error error) {
      return explained(std::move(error), not_moved(write.cpus, write.clos));
    });
  }

  static Error explained(Error error, std::string message) {
    if (error.code == ErrorCode::Busy)
      error.detail = fmt::format("{}: {}", error.message, error.detail);  // the holder of a lock
    error.code = ErrorCode::Hardware;  // a converge that has begun is not simply retried
    return refused_write(std::move(error), std::move(message));
  }

  // Without ways if its level is no longer allocated.
  Cat cat_of(CacheId cache) const {
    const Cat* found = find_in(cats_, cache.level);
    return found ? *found : Cat{};
  }

  // As wide as the cache: 0x00f for eleven ways.
  std::string hex(CacheId cache, WayMask ways) const {
    const std::string digits = ways.hex();
    const size_t width = WayMask::all(cat_of(cache).ways).hex().size();
    return "0x" + std::string(width > digits.size() ? width - digits.size() : 0, '0') + digits;
  }

  std::string text_of(CacheId cache, WayMask ways, const std::optional<Split>& split) const {
    return hex(cache, ways) +
           (split ? fmt::format(", code {}, data {}", hex(cache, split->code), hex(cache, split->data)) : "");
  }

  std::string not_taken(ClosId clos, CacheId cache, WayMask ways, const std::optional<Split>& split) const {
    return fmt::format("class {} on {} did not take ways {}", nrd::text_of(clos), nrd::text_of(cache),
                       text_of(cache, ways, split));
  }

  static std::string not_moved(const CpuSet& cpus, ClosId clos) {
    return fmt::format("{}{} did not move to class {}", cpus.size() == 1 ? "CPU " : "CPUs ", cpus.to_string(),
                       nrd::text_of(clos));
  }

  static Result<Observed> read_all(const std::set<Task>& tasks) {
    const Threads threads = TRY(threads_of_all(tasks));
    const std::vector<std::string> groups = TRY(list_groups());
    Observed observed;
    const std::optional<Group> root = TRY(read_group(""));
    if (root) observed.classes[kRootClass] = root->group;
    std::map<pid_t, std::string> group_of;
    for (const std::string& name : groups) {
      const std::optional<Group> group = TRY(read_group("/" + name));
      if (!group) continue;
      for (const pid_t task : group->tasks) group_of[task] = name;
      if (const std::optional<ClosId> clos = class_of(name)) {
        observed.classes[*clos] = group->group;
      } else {
        observed.foreign[name] = group->group;
      }
    }
    observed.tasks = places_of(threads, group_of);
    return observed;
  }

  // Verify all writes by reading back: one read for each class that was written.
  Result<void> read_back_masks(Observed& observed, const Setting& wanted, const std::vector<Write>& writes) const {
    std::map<ClosId, std::set<CacheId>> written;
    for (const Write& write : writes) {
      if (const auto* mask = std::get_if<WaysWrite>(&write)) written[mask->clos].insert(mask->cache);
    }
    for (const auto& [clos, caches] : written) {
      Masks shown = TRY(read_masks(directory_of(clos))).value_or(Masks{});
      observed.classes[clos].ways = std::move(shown.ways);
      observed.classes[clos].split = std::move(shown.split);
      for (const CacheId cache : caches) {
        const WayMask goal = wanted.ways.at(clos).at(cache);
        const std::optional<Split> split = wanted.split_of(clos, cache);
        const std::optional<WayMask> found = observed.ways_of(clos, cache);
        const std::optional<Split> found_split = observed.split_of(clos, cache);
        if (found == goal && found_split == split) continue;
        const std::string what = found ? text_of(cache, *found, found_split) : "nothing";
        return fail(ErrorCode::Hardware, fmt::format("{} (found {})", not_taken(clos, cache, goal, split), what));
      }
    }
    return {};
  }

  // The final places of the CPUs; waiting in the root class in between is irrelevant.
  static Result<void> read_back_cpus(Observed& observed, const Setting& wanted, const std::vector<Write>& writes) {
    std::map<ClosId, CpuSet> written;
    for (const Write& write : writes) {
      const auto* moved = std::get_if<CpusWrite>(&write);
      if (moved == nullptr) continue;
      for (const CpuId cpu : moved->cpus.members()) written[wanted.cpus.at(cpu)].add(cpu);
    }
    for (const auto& [clos, cpus] : written) {
      const std::optional<CpuSet> shown = TRY(read_cpus(directory_of(clos)));
      const CpuSet members = shown.value_or(CpuSet{});
      if (!cpus.is_subset_of(members)) return fail(ErrorCode::Hardware, not_moved(cpus - members, clos));
      // A CPU is in one group only.
      for (auto& [other, group] : observed.classes) group.cpus -= members;
      for (auto& [other, group] : observed.foreign) group.cpus -= members;
      observed.classes[clos].cpus = members;
    }
    return {};
  }

  MaskWriters writers_;
  bool is_available_ = false;   // the tree is mounted and allocates a cache; else see unavailable_reason_
  bool was_available_ = false;  // at least once since start
  bool is_expected_ = false;    // as of the last discover()
  Error unavailable_reason_;
  std::optional<Observed> known_;  // nullopt after any failure: observe before the next write
  Cats cats_;
  std::map<CacheId, WayMask> io_ways_;
  const mode_t tree_mode_;
  std::optional<Monitoring> monitoring_;
  std::set<ClosId> asked_;  // classes whose monitoring was requested since their groups were created
  unsigned level_ = 3;      // Node::main_level
  std::optional<Capabilities> flags_;
  std::vector<CpuSet> cores_;  // online cores with several threads, for the online CPUs in `cores_of_`
  CpuSet cores_of_;
  Node l2_;  // the L2 caches where L3 is allocated too, for the CPUs in `online`
};

}  // namespace

Result<std::unique_ptr<Rdt>> Rdt::start(const MountOptions& options) {
  TRY(ensure_mounted_as(options));
  auto rdt = std::make_unique<ResctrlRdt>(options.tree_mode);
  rdt->start();
  return rdt;
}

}  // namespace nrd::rdt
