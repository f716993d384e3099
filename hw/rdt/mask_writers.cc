#include "hw/rdt/mask_writers.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/cpu_set.h"
#include "base/log.h"
#include "hw/rdt/groups.h"
#include "hw/rdt/locks.h"
#include "hw/rdt/monitor.h"
#include "hw/rdt/resctrl.h"

namespace nrd::rdt {
namespace {

// "0-3,8"
std::string list_of(const std::set<uint32_t>& ids) {
  CpuSet numbers;
  for (const uint32_t id : ids) numbers.add(CpuId{id});
  return ids.empty() ? "none" : numbers.to_string();
}

std::string text_of(const CacheView& view) {
  std::string text;
  for (const auto& [number, level] : view.levels) {
    text += fmt::format("{}{} caches {} of {} ways{}", text.empty() ? "L" : ", L", number, list_of(level.ids),
                        level.ways, level.cdp ? " with CDP" : "");
  }
  return fmt::format("{}{}{} classes", text, text.empty() ? "" : ", ", view.classes);
}

// Why libpqos must not be started, because it would use up what other software needs; empty: it may.
std::string obstacle() {
  if (!is_mounted()) return {};
  for (const std::string& group : list_groups().value_or(std::vector<std::string>())) {
    if (!class_of(group)) return fmt::format("group {} holds a class of service, and libpqos needs every class", group);
  }
  // RMIDs of the groups that libpqos created cannot be reused at once.
  const std::optional<Monitoring> monitoring = read_monitoring();
  const Result<unsigned> classes = read_classes();
  if (!monitoring || !classes || monitoring->groups >= 2 * *classes) return {};
  return fmt::format("libpqos creates a group for every class at start, but there are only {} RMIDs for {} classes",
                     monitoring->groups, *classes);
}

Result<void> write_to_resctrl(const WaysWrite& write, bool cdp) {
  const auto line = [&](const char* of, WayMask ways) {
    return fmt::format("L{}{}:{}={}\n", write.cache.level, of, write.cache.value, ways.hex());
  };
  const Split split = write.split.value_or(Split{.code = write.ways, .data = write.ways});
  return write_line(directory_of(write.clos), "schemata",
                    cdp ? line("CODE", split.code) + line("DATA", split.data) : line("", write.ways));
}

}  // namespace

void MaskWriters::start() {
  pqos_.reset();
  why_no_pqos_ = obstacle();
  if (why_no_pqos_.empty()) {
    Result<std::unique_ptr<Pqos>> started = Pqos::start();
    if (started) {
      pqos_ = *std::move(started);
    } else {
      why_no_pqos_ = "libpqos cannot start on this node";
      log::notice("RDT_PQOS", why_no_pqos_, {{"DETAIL", started.error().detail}});
    }
  }
  has_started_ = is_mounted();
}

void MaskWriters::reset() {
  pqos_.reset();
  has_started_ = false;
}

void MaskWriters::choose(const CacheView& resctrl) {
  const MaskWriterChoice before = choice_;
  if (!pqos_) {
    choice_ = {.is_libpqos = false, .reason = why_no_pqos_};
  } else if (pqos_->view() != resctrl) {
    choice_ = {.is_libpqos = false,
               .reason = fmt::format("libpqos sees {}; resctrl has {}", text_of(pqos_->view()), text_of(resctrl))};
  } else {
    choice_ = {.is_libpqos = true, .reason = "it sees the caches and classes that resctrl has"};
  }
  if (choice_ == before) return;
  log::notice("RDT_WRITER", choice_.is_libpqos ? "masks are written through libpqos" : "masks are written to resctrl",
              {{"REASON", choice_.reason}});
}

Result<void> MaskWriters::await_locks() const {
  TRY(lock_tree());
  return choice_.is_libpqos ? pqos_->await_lock() : Result<void>();
}

Result<void> MaskWriters::set_ways(const WaysWrite& write, bool cdp) {
  const bool has_holes = !write.ways.is_contiguous() ||
                         (write.split && !(write.split->code.is_contiguous() && write.split->data.is_contiguous()));
  return choice_.is_libpqos && !has_holes ? pqos_->set_ways(write) : write_to_resctrl(write, cdp);
}

Result<CacheView> read_cache_view(const Cats& cats) {
  const std::optional<Masks> root = TRY(read_masks(""));
  const unsigned classes = TRY(read_classes());
  CacheView view;
  view.classes = classes;
  for (const auto& [level, cat] : cats) view.levels[level] = {.ids = {}, .ways = cat.ways, .cdp = cat.cdp};
  for (const auto& [cache, ways] : root.value_or(Masks{}).ways) view.levels[cache.level].ids.insert(cache.value);
  return view;
}

}  // namespace nrd::rdt
