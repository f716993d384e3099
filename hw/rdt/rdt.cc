#include "hw/rdt/rdt.h"

#include <utility>

#include "base/log.h"
#include "hw/rdt/pqos.h"
#include "hw/rdt/resctrl.h"
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
    pqos_.reset();
    known_.reset();
    Result<std::unique_ptr<Pqos>> started = Pqos::start();
    if (!started) {
      why_not_ = started.error();
      return;
    }
    pqos_ = std::move(*started);
    if (const Result<Node> node = read_topology()) online_at_start_ = node->online;
  }

  Result<Node> discover() override {
    Result<Node> node = read_topology();
    if (!node) return node;
    if (!pqos_) {
      Result<std::optional<L3Cat>> cat = read_l3_info(node->missing);
      // Everything is there but libpqos did not start.
      if (cat && *cat) node->missing.push_back(explain_no_start());
      return node;
    }
    // libpqos refuses CPUs that came online after it started.
    if (!node->online.is_subset_of(online_at_start_)) start_pqos();
    Result<std::optional<L3Cat>> cat = read_l3_info(node->missing);
    if (!cat) return Failure(cat.error());
    if (!*cat) return node;
    const Result<std::vector<std::string>> groups = list_groups();
    if (!groups) return Failure(groups.error());
    (*cat)->classes = count_classes(*groups);
    // After a reboot of the tree the groups are gone until libpqos makes them again.
    if (classes_ > (*cat)->classes) (*cat)->classes = classes_;
    classes_ = (*cat)->classes;
    min_ways_ = (*cat)->min_ways;
    node->l3_cat = **cat;
    return node;
  }

  Result<Observed> observe() override {
    known_.reset();
    if (!pqos_) return Observed{};
    Result<Observed> observed = read_all();
    if (!observed || observed->classes.size() < classes_) {
      log::notice("RDT_RESTARTED", "classes of service vanished; making them again");
      start_pqos();
      if (!pqos_) return Failure(why_not_);
      observed = read_all();
    }
    if (observed) known_ = *observed;
    return observed;
  }

  Result<void> converge(const Setting& wanted) override {
    if (wanted == Setting{}) return {};
    if (!pqos_) return fail(ErrorCode::Unsupported, "this node has no L3 CAT", why_not_.detail);
    if (!known_) {
      if (const Result<Observed> observed = observe(); !observed) return Failure(observed.error());
    }
    const Observed before = *std::exchange(known_, std::nullopt);
    const std::vector<Write> writes = write_order(before, wanted, min_ways_);
    for (const Write& write : writes) {
      if (Result<void> written = std::visit([this](const auto& w) { return apply(w); }, write); !written) {
        return written;
      }
    }
    return read_back(before, wanted, writes);
  }

 private:
  static std::string explain_no_start() {
    const Result<std::vector<std::string>> groups = list_groups();
    for (const std::string& group : groups.value_or(std::vector<std::string>{})) {
      if (class_of(group)) continue;
      return "L3 CAT: resctrl group \"" + group +
             "\" holds a class that libpqos needs; remove it, start nrd, and make it again if a class is left";
    }
    return "L3 CAT: libpqos did not start; the journal says why";
  }

  Result<void> apply(const WaysWrite& write) {
    return pqos_->set_ways(write.clos, write.cache, write.ways).map_error([&](Error error) {
      error.message = "class " + name_of(write.clos) + " on cache " + std::to_string(write.cache.value) +
                      " did not take ways 0x" + write.ways.hex();
      error.detail += "; kernel: " + last_refusal();
      return error;
    });
  }

  Result<void> apply(const CpuWrite& write) {
    return pqos_->set_class(write.cpu, write.clos).map_error([&](Error error) {
      error.message = "CPU " + std::to_string(write.cpu.value) + " did not move to class " + name_of(write.clos);
      error.detail += "; kernel: " + last_refusal();
      return error;
    });
  }

  static Result<Observed> read_all() {
    const Result<std::vector<std::string>> groups = list_groups();
    if (!groups) return Failure(groups.error());
    Observed observed;
    const Result<std::optional<Class>> root = read_class("");
    if (!root) return Failure(root.error());
    if (*root) observed.classes[ClosId{0}] = **root;
    for (const std::string& name : *groups) {
      const Result<std::optional<Class>> group = read_class("/" + name);
      if (!group) return Failure(group.error());
      if (!*group) continue;
      if (const std::optional<ClosId> clos = class_of(name)) {
        observed.classes[*clos] = **group;
      } else {
        observed.foreign[name] = **group;
      }
    }
    return observed;
  }

  // Believes nothing that was written before the kernel shows it, and only then the observation is whole again.
  Result<void> read_back(Observed observed, const Setting& wanted, const std::vector<Write>& writes) {
    std::map<ClosId, std::map<CacheId, WayMask>> ways;
    std::map<ClosId, CpuSet> cpus;
    for (const Write& write : writes) {
      if (const auto* mask = std::get_if<WaysWrite>(&write)) ways[mask->clos];
      if (const auto* cpu = std::get_if<CpuWrite>(&write)) cpus[cpu->clos];
    }
    for (auto& [clos, masks] : ways) {
      Result<std::optional<std::map<CacheId, WayMask>>> read = read_ways(directory_of(clos));
      if (!read) return Failure(read.error());
      masks = (*read).value_or(std::map<CacheId, WayMask>{});
      observed.classes[clos].ways = masks;
    }
    for (auto& [clos, members] : cpus) {
      Result<std::optional<CpuSet>> read = read_cpus(directory_of(clos));
      if (!read) return Failure(read.error());
      members = (*read).value_or(CpuSet{});
    }
    for (const Write& write : writes) {
      const auto* mask = std::get_if<WaysWrite>(&write);
      if (mask == nullptr) continue;
      const WayMask goal = wanted.ways.at(mask->clos).at(mask->cache);
      const auto found = ways.at(mask->clos).find(mask->cache);
      if (found != ways.at(mask->clos).end() && found->second == goal) continue;
      const std::string what = found == ways.at(mask->clos).end() ? "nothing" : "0x" + found->second.hex();
      return fail(ErrorCode::Hardware, "class " + name_of(mask->clos) + " on cache " +
                                           std::to_string(mask->cache.value) + " did not take ways 0x" + goal.hex() +
                                           " (found " + what + ")");
    }
    for (const Write& write : writes) {
      const auto* cpu = std::get_if<CpuWrite>(&write);
      if (cpu == nullptr) continue;
      if (!cpus.at(cpu->clos).contains(cpu->cpu)) {
        return fail(ErrorCode::Hardware,
                    "CPU " + std::to_string(cpu->cpu.value) + " did not move to class " + name_of(cpu->clos));
      }
      for (auto& [clos, group] : observed.classes) group.cpus.remove(cpu->cpu);
    }
    for (const auto& [clos, members] : cpus) observed.classes[clos].cpus = members;
    known_ = std::move(observed);
    return {};
  }

  std::unique_ptr<Pqos> pqos_;
  Error why_not_;
  CpuSet online_at_start_;
  std::optional<Observed> known_;  // nullopt after any failure: look before the next write
  unsigned classes_ = 0;
  unsigned min_ways_ = 1;
};

}  // namespace

Result<std::unique_ptr<Rdt>> Rdt::start() {
  auto rdt = std::make_unique<ResctrlRdt>();
  rdt->start_pqos();
  return rdt;
}

}  // namespace nrd::rdt
