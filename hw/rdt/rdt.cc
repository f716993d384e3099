#include "hw/rdt/rdt.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/log.h"
#include "hw/rdt/bandwidth.h"
#include "hw/rdt/capabilities.h"
#include "hw/rdt/kernel_writer.h"
#include "hw/rdt/monitor.h"
#include "hw/rdt/pqos.h"
#include "hw/rdt/resctrl.h"
#include "hw/rdt/tasks.h"
#include "hw/rdt/topology.h"
#include "hw/rdt/write_order.h"

namespace nrd::rdt {
namespace {

std::string name_of(ClosId clos) { return "COS" + std::to_string(clos.value); }

// The number of classes: COS1, COS2, ... as far as they go, and the root.
unsigned count_classes(const std::vector<std::string>& groups) {
  std::map<ClosId, bool> made;
  for (const std::string& group : groups) {
    if (const std::optional<ClosId> clos = class_of(group)) made[*clos] = true;
  }
  unsigned classes = 1;
  while (made.contains(ClosId{classes})) ++classes;
  return classes;
}

class ResctrlRdt final : public Rdt {
 public:
  void start_pqos() {
    writer_.reset();
    known_.reset();
    // Before libpqos looks: a CPU that comes or goes meanwhile is one that it may not know.
    const Result<Node> node = read_topology("", level_);
    Result<std::unique_ptr<ClassWriter>> started = start_where_it_serves();
    if (!started) {
      // Tried again with every discover(), told once.
      if (started.error() != why_not_)
        log::notice("RDT_OFF", started.error().message, {{"DETAIL", started.error().detail}});
      why_not_ = started.error();
      return;
    }
    writer_ = *std::move(started);
    why_not_ = {};
    if (node) online_at_start_ = node->online;
    // Never fewer than before: a class whose group vanished stays a class, and observe() shows that it is not there.
    const Result<std::vector<std::string>> groups = list_groups();
    if (groups) classes_ = std::max(classes_, count_classes(*groups));
  }

  Result<Node> discover() override {
    if (const Result<void> read = read_flags_once(); !read) return Failure(read.error());
    level_ = read_level(*flags_);
    Result<Node> node = read_topology("", level_);
    if (!node) return node;
    // libpqos writes all caches that had CPUs when it started, and the kernel refuses the whole line where one of them
    // has gone or is not known to it. And what kept it from starting may be gone by now.
    const bool is_outdated = node->online != online_at_start_ || (is_direct_ && foreign_group().empty());
    if (writer_ ? is_outdated : is_mounted()) start_pqos();
    if (const Result<void> read = read_cat_if_served(*node); !read) return Failure(read.error());
    if (const Result<void> added = add_what_few_ask(*node); !added) return Failure(added.error());
    if (!node->cat) return node;
    // Bandwidth and what is counted are the third level's, whose caches have other ids.
    if (level_ != 3) node->capabilities.mba_info.reset();
    monitoring_ = level_ == 3 ? read_monitoring() : std::nullopt;
    node->monitoring = monitoring_;
    return node;
  }

  Result<Observed> observe(const std::set<Task>& tasks) override {
    known_.reset();
    if (!writer_ && classes_ > 0) start_pqos();
    if (!writer_ && classes_ > 0) return fail(ErrorCode::Hardware, why_not_.message, why_not_.detail);
    if (!writer_) return Observed{};
    Result<Observed> observed = read_all(tasks);
    if (!observed || !has_all_classes(*observed)) {
      if (const Result<void> restored = restore_groups(); !restored) return Failure(restored.error());
      observed = read_all(tasks);
    }
    if (observed) known_ = *observed;
    return observed;
  }

  Usages count_usage(const std::map<ClosId, std::set<CacheId>>& classes) override {
    return monitoring_ ? read_usage(*monitoring_, classes) : Usages{};
  }

  Result<void> converge(const Setting& wanted) override {
    if (wanted == Setting{}) return {};
    if (!writer_ && classes_ > 0) start_pqos();
    if (!writer_) return fail(ErrorCode::Unsupported, why_not_.message, why_not_.detail);
    Result<void> converged = converge_once(wanted);
    // Somebody removed groups since the last look. The second attempt looks first, and looking makes them again.
    if (!converged && have_groups_vanished()) converged = converge_once(wanted);
    return converged;
  }

 private:
  Result<std::unique_ptr<ClassWriter>> start_where_it_serves() {
    // Before libpqos starts, so that it does not take the classes of a node that nrd cannot serve.
    if (is_mounted()) {
      if (Result<void> read = read_cat(); !read) return Failure(read.error());
    }
    Result<std::unique_ptr<Pqos>> started = Pqos::start();
    if (!started) return start_without_pqos(started.error().detail);
    is_direct_ = false;
    // And after, because it may have mounted the tree.
    if (Result<void> read = read_cat(); !read) return Failure(read.error());
    // libpqos refuses a mask with holes ("bit mask is not contiguous").
    if (cat_.sparse_masks) return KernelWriter::start();
    return std::unique_ptr<ClassWriter>(*std::move(started));
  }

  // One of those that others made; empty: there is none.
  static std::string foreign_group() {
    for (const std::string& group : list_groups().value_or(std::vector<std::string>{})) {
      if (!class_of(group)) return group;
    }
    return {};
  }

  // libpqos wants all classes, and gives up where a group of others holds one.
  Result<std::unique_ptr<ClassWriter>> start_without_pqos(const std::string& why) {
    const std::string group = foreign_group();
    if (group.empty()) return fail(ErrorCode::Unsupported, explain_no_start(), why);
    if (!is_direct_) {
      log::notice("RDT_DIRECT", "a resctrl group of others holds a class that libpqos wants; writing without libpqos",
                  {{"GROUP", group}});
    }
    is_direct_ = true;
    return read_cat().and_then([] { return KernelWriter::start(); });
  }

  Result<void> read_cat() {
    std::vector<std::string> missing;
    const Result<std::optional<Cat>> cat = read_cat_info(missing);
    if (!cat) return fail(ErrorCode::Unsupported, "L3 CAT: " + cat.error().message, cat.error().detail);
    if (!*cat) return fail(ErrorCode::Unsupported, missing.front());
    cat_ = **cat;
    return read_l2_cat();
  }

  Result<void> read_cat_if_served(Node& node) {
    if (!writer_) {
      node.missing.push_back(why_not_.message);
      return {};
    }
    Result<std::optional<Cat>> cat = read_cat_info(node.missing);
    if (!cat) return Failure(cat.error());
    if (!*cat) return {};
    cat_ = **cat;
    if (const Result<void> read = read_l2_cat(); !read) return read;
    node.cat = cat_;
    node.l2_cat = l2_cat_;
    for (std::optional<Cat>* its : {&node.cat, &node.l2_cat}) {
      if (*its) (*its)->classes = classes_;
    }
    return {};
  }

  Result<void> read_l2_cat() {
    const Result<std::optional<Cat>> cat = read_l2_cat_info();
    if (!cat) return fail(ErrorCode::Unsupported, "L2 CAT: " + cat.error().message, cat.error().detail);
    l2_cat_ = *cat;
    return {};
  }

  // What takes many files is read again only if it may have changed.
  Result<void> read_flags_once() {
    if (flags_) return {};
    const Result<Capabilities> flags = read_flags();
    if (!flags) return Failure(flags.error());
    flags_ = *flags;
    return {};
  }

  Result<void> add_what_few_ask(Node& node) {
    if (level_ == 3) add_l2(node);
    const Result<Capabilities> capabilities = with_mount(*flags_);
    if (!capabilities) return Failure(capabilities.error());
    node.capabilities = *capabilities;
    return {};
  }

  void add_l2(Node& node) {
    const bool all = l2_cat_.has_value();
    // The cache of a CPU that just came may be shown a moment later than the CPU.
    const bool has_all = l2_.geometry.size() == l2_.l2.size() && cpus_of(l2_.l2) == node.online;
    if (l2_.online != node.online || (all && !has_all)) l2_ = read_l2(node.online, all);
    node.l2 = l2_.l2;
    node.sockets.insert(l2_.sockets.begin(), l2_.sockets.end());
    node.numa_nodes.insert(l2_.numa_nodes.begin(), l2_.numa_nodes.end());
    node.geometry.insert(l2_.geometry.begin(), l2_.geometry.end());
  }

  static std::string explain_no_start() {
    std::vector<std::string> missing;
    const Result<std::optional<Cat>> cat = read_cat_info(missing);
    if (cat && !*cat) return missing.front();
    return "L3 CAT: libpqos did not start; the journal says why";
  }

  bool knows_tasks_of(const Setting& wanted) const {
    return std::ranges::all_of(wanted.tasks, [this](const auto& entry) { return known_->tasks.contains(entry.first); });
  }

  bool has_all_classes(const Observed& observed) const {
    for (uint32_t clos = 0; clos < classes_; ++clos) {
      if (!observed.classes.contains(ClosId{clos})) return false;
    }
    return true;
  }

  bool have_groups_vanished() const {
    const Result<std::vector<std::string>> groups = list_groups();
    return !groups || count_classes(*groups) < classes_;
  }

  // Makes again what others removed. Not by starting libpqos anew: that fails as a whole, and takes all classes with
  // it, where a foreign group has got one of them meanwhile. It finds groups by name, so those made here serve it as
  // well.
  Result<void> restore_groups() {
    if (!is_mounted()) {
      log::notice("RDT_RESTARTED", "resctrl is not mounted any more; starting libpqos anew, which mounts it");
      start_pqos();
      if (!writer_) return fail(ErrorCode::Hardware, why_not_.message, why_not_.detail);
    }
    const Result<std::vector<std::string>> groups = list_groups();
    if (!groups) return Failure(groups.error());
    const std::set<std::string> existing(groups->begin(), groups->end());
    std::set<ClosId> lost;
    std::string restored;
    for (ClosId clos{1}; clos.value < classes_; ++clos.value) {
      if (existing.contains(name_of(clos))) continue;
      const Result<bool> made = make_group(clos);
      if (!made) return Failure(made.error());
      if (!*made) lost.insert(clos);
      if (*made) restored += (restored.empty() ? "" : " ") + name_of(clos);
    }
    if (!restored.empty()) {
      log::notice("RDT_RESTARTED", "groups of classes of service vanished; made them again", {{"CLASSES", restored}});
    }
    // Told once and not with every look.
    for (const ClosId clos : lost) {
      if (lost_.contains(clos)) continue;
      log::warning("RDT_CLASS_LOST", "the group of a class vanished, and another group holds its place in the kernel",
                   {{"CLASS", name_of(clos)}});
    }
    lost_ = std::move(lost);
    return {};
  }

  // A failure on the way leaves nothing known, so the next one looks before it writes.
  Result<void> converge_once(const Setting& wanted) {
    if (!known_ || !knows_tasks_of(wanted)) {
      std::set<Task> tasks;
      for (const auto& [task, clos] : wanted.tasks) tasks.insert(task);
      if (const Result<Observed> observed = observe(tasks); !observed) return Failure(observed.error());
    }
    if (!known_) return fail(ErrorCode::Unsupported, why_not_.message, why_not_.detail);
    Observed observed = *std::exchange(known_, std::nullopt);
    const std::vector<Write> writes = write_order(observed, wanted, cat_.min_ways, l2_cat_ ? l2_cat_->min_ways : 1);
    const bool masks_change =
        std::ranges::any_of(writes, [](const Write& write) { return std::holds_alternative<WaysWrite>(write); });
    const TaskMoves moves = task_moves(observed, wanted, masks_change);
    const Result<Limits> limits = limits_of(observed, wanted);
    if (!limits) return Failure(limits.error());
    if (Result<void> left = leave(moves); !left) return left;
    for (const Write& write : writes) {
      if (Result<void> written = std::visit([&](const auto& w) { return apply(w); }, write); !written) {
        return written;
      }
    }
    if (Result<void> limited = write_limits(*limits); !limited) return limited;
    if (Result<void> entered = enter(moves); !entered) return entered;
    if (Result<void> masks = read_back_masks(observed, wanted, writes); !masks) return masks;
    if (Result<void> cpus = read_back_cpus(observed, wanted, writes); !cpus) return cpus;
    if (Result<void> limited = read_back(*limits, observed); !limited) return limited;
    if (Result<void> tasks = read_back(moves); !tasks) return tasks;
    note(observed, wanted, moves);
    known_ = std::move(observed);
    return {};
  }

  // The unit is looked at anew before each write.
  Result<Limits> limits_of(const Observed& observed, const Setting& wanted) const {
    if (wanted.bandwidth.empty()) return Limits();
    const Result<Capabilities> now = with_mount(flags_.value_or(Capabilities{}));
    if (!now) return Failure(now.error());
    return limits_to_write(observed, wanted, now->mba_info);
  }

  Result<void> apply(const WaysWrite& write) {
    const Level level{.number = write.cache.is_l2_beside ? 2 : level_, .cdp = cat_of(write.cache).cdp};
    return writer_->set_ways(level, write).map_error([&](Error error) {
      return explained(std::move(error), not_taken(write.clos, write.cache, write.ways, write.split));
    });
  }

  static Result<void> apply(const CpusWrite& write) {
    return add_cpus(directory_of(write.clos), write.cpus).map_error([&](Error error) {
      return explained(std::move(error), not_moved(write.cpus, write.clos));
    });
  }

  static Error explained(Error error, std::string message) {
    error.message = std::move(message);
    if (const std::string refusal = last_refusal(); !refusal.empty()) error.detail += "; kernel: " + refusal;
    return error;
  }

  const Cat& cat_of(CacheId cache) const { return cache.is_l2_beside && l2_cat_ ? *l2_cat_ : cat_; }

  // As wide as the cache: 0x00f of eleven ways.
  std::string hex(CacheId cache, WayMask ways) const {
    const std::string digits = ways.hex();
    const size_t width = WayMask::all(cat_of(cache).ways).hex().size();
    return "0x" + std::string(width > digits.size() ? width - digits.size() : 0, '0') + digits;
  }

  std::string text_of(CacheId cache, WayMask ways, const std::optional<Split>& split) const {
    return hex(cache, ways) + (split ? ", code " + hex(cache, split->code) + ", data " + hex(cache, split->data) : "");
  }

  std::string not_taken(ClosId clos, CacheId cache, WayMask ways, const std::optional<Split>& split) const {
    return "class " + name_of(clos) + " on " + nrd::text_of(cache) + " did not take ways " +
           text_of(cache, ways, split);
  }

  static std::string not_moved(const CpuSet& cpus, ClosId clos) {
    return (cpus.size() == 1 ? "CPU " : "CPUs ") + cpus.to_string() + " did not move to class " + name_of(clos);
  }

  static Result<Observed> read_all(const std::set<Task>& tasks) {
    const Result<Threads> threads = threads_of_all(tasks);
    if (!threads) return Failure(threads.error());
    const Result<std::vector<std::string>> groups = list_groups();
    if (!groups) return Failure(groups.error());
    Observed observed;
    const Result<std::optional<Group>> root = read_group("");
    if (!root) return Failure(root.error());
    if (*root) observed.classes[ClosId{0}] = (*root)->group;
    std::map<pid_t, std::string> group_of;
    for (const std::string& name : *groups) {
      const Result<std::optional<Group>> group = read_group("/" + name);
      if (!group) return Failure(group.error());
      if (!*group) continue;
      for (const pid_t task : (*group)->tasks) group_of[task] = name;
      if (const std::optional<ClosId> clos = class_of(name)) {
        observed.classes[*clos] = (*group)->group;
      } else {
        observed.foreign[name] = (*group)->group;
      }
    }
    observed.tasks = places_of(*threads, group_of);
    return observed;
  }

  // Nothing that was written is believed before the kernel shows it: one read for each class that was touched.
  Result<void> read_back_masks(Observed& observed, const Setting& wanted, const std::vector<Write>& writes) const {
    std::map<ClosId, std::set<CacheId>> written;
    for (const Write& write : writes) {
      if (const auto* mask = std::get_if<WaysWrite>(&write)) written[mask->clos].insert(mask->cache);
    }
    for (const auto& [clos, caches] : written) {
      const Result<std::optional<Masks>> masks = read_masks(directory_of(clos));
      if (!masks) return Failure(masks.error());
      const Masks shown = masks->value_or(Masks{});
      for (const CacheId cache : caches) {
        const WayMask goal = wanted.ways.at(clos).at(cache);
        const std::optional<Split> split = wanted.split_of(clos, cache);
        const auto found = shown.ways.find(cache);
        const auto apart = shown.split.find(cache);
        const bool is_shown = found != shown.ways.end();
        const std::optional<Split> is = apart == shown.split.end() ? std::nullopt : std::optional(apart->second);
        if (is_shown && found->second == goal && is == split) continue;
        const std::string what = is_shown ? text_of(cache, found->second, is) : "nothing";
        return fail(ErrorCode::Hardware, not_taken(clos, cache, goal, split) + " (found " + what + ")");
      }
      observed.classes[clos].ways = shown.ways;
      observed.classes[clos].split = shown.split;
    }
    return {};
  }

  // Where the CPUs ended; whether one waited in the root class on the way there does not matter any more.
  static Result<void> read_back_cpus(Observed& observed, const Setting& wanted, const std::vector<Write>& writes) {
    std::map<ClosId, CpuSet> written;
    for (const Write& write : writes) {
      const auto* moved = std::get_if<CpusWrite>(&write);
      if (moved == nullptr) continue;
      for (const CpuId cpu : moved->cpus.members()) written[wanted.cpus.at(cpu)].add(cpu);
    }
    for (const auto& [clos, cpus] : written) {
      const Result<std::optional<CpuSet>> shown = read_cpus(directory_of(clos));
      if (!shown) return Failure(shown.error());
      const CpuSet members = shown->value_or(CpuSet{});
      if (!cpus.is_subset_of(members)) return fail(ErrorCode::Hardware, not_moved(cpus - members, clos));
      // A CPU is in one group only.
      for (auto& [other, group] : observed.classes) group.cpus -= members;
      for (auto& [other, group] : observed.foreign) group.cpus -= members;
      observed.classes[clos].cpus = members;
    }
    return {};
  }

  std::unique_ptr<ClassWriter> writer_;  // null: no L3 CAT that we can serve, and why_not_ says why
  Error why_not_;
  bool is_direct_ = false;         // without libpqos, beside a group of others
  CpuSet online_at_start_;         // the CPUs that libpqos knows
  std::optional<Observed> known_;  // nullopt after any failure: look before the next write
  Cat cat_;
  std::optional<Cat> l2_cat_;  // beside cat_
  std::optional<Monitoring> monitoring_;
  unsigned level_ = 3;    // of the caches whose ways are set
  unsigned classes_ = 0;  // 0: this node never had L3 CAT while we ran
  std::optional<Capabilities> flags_;
  Node l2_;                // the L2 caches beside those of L3, of the CPUs that are `online`
  std::set<ClosId> lost_;  // classes whose place a foreign group has
};

}  // namespace

Result<std::unique_ptr<Rdt>> Rdt::start(const MountWish& wish) {
  if (const Result<void> mounted = ensure_mounted_as(wish); !mounted) return Failure(mounted.error());
  auto rdt = std::make_unique<ResctrlRdt>();
  rdt->start_pqos();
  return rdt;
}

}  // namespace nrd::rdt
