#include "engine/plan/cpus/refusal.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>

#include "base/joined.h"
#include "engine/plan/cpus/search.h"
#include "engine/plan/cpus/slots.h"

namespace nrd::plan {
namespace {

using cpuset::Level;

uint32_t number_of(const CpuRequest& request) { return std::max(request.count, request.cores); }

std::string near_text(const CpuRequest& request) { return joined(request.near, " and "); }

std::string plural(Level level) {
  if (level == Level::L3 || level == Level::L2) return name_of(level);
  return name_of(level) + "s";
}

// "2 CPUs", "1 core"
std::string amount(const CpuRequest& request) {
  const uint32_t number = number_of(request);
  return std::to_string(number) + (request.cores > 0 ? " core" : " CPU") + (number == 1 ? "" : "s");
}

// The same with all CPUs of the pool free.
Situation empty_pool(const Situation& situation) {
  Situation empty = situation;
  empty.free = situation.pool.cpus & situation.tree.online();
  empty.current = {};
  empty.apart = {};
  return empty;
}

uint32_t total_of(const Situation& situation, const CpuRequest& request) {
  uint32_t total = 0;
  for (const Slot& slot : slots_of(situation, request)) total += slot.weight;
  return total;
}

CpuRequest with_strict(CpuRequest request, bool strict) {
  request.strict = strict;
  return request;
}

// "2 or 4", "at most 4"; empty if nothing would be granted. Each number is one that find() finds.
std::string fitting(const Situation& situation, const CpuRequest& request, uint32_t largest) {
  const auto fits = [&](uint32_t number) { return find(situation, request, number).has_value(); };
  const uint32_t number = number_of(request);
  if (number > largest) return largest == 0 ? "" : fmt::format("at most {}", largest);
  uint32_t below = number - 1;
  while (below > 0 && !fits(below)) --below;
  uint32_t above = number + 1;  // at most `largest`, which fits
  while (!fits(above)) ++above;
  return (below > 0 ? fmt::format("{} or ", below) : "") + std::to_string(above);
}

// The place in which all must be, if there is one: of a pool that crosses no level, or of the devices that are strictly
// near.
std::optional<ZoneIndex> place_of_near(const Situation& situation, const CpuRequest& request) {
  if (!request.strict || request.near.empty()) return std::nullopt;
  const CpuSet near = near_all(situation) & situation.pool.cpus;
  const ZoneIndex zone = situation.tree.smallest_with(near);
  const ZoneIndex around = situation.tree.around(zone, situation.pool.within);
  if (!situation.tree.stays_within(around, situation.pool.within)) return std::nullopt;
  return around;
}

// "; node 1 has 4 free, all nodes 9"
std::string free_text(const Situation& situation, const CpuRequest& request, const Largest& largest) {
  const CpuPool& pool = situation.pool;
  const std::string all = std::to_string(total_of(situation, with_strict(request, false)));
  std::optional<ZoneIndex> zone = place_of_near(situation, request);
  if (!zone && pool.never_crosses && largest.number > 0) zone = largest.zone;
  if (zone) {
    return fmt::format("; {} has {} free, all {} {}", short_text_of(situation.tree, *zone, pool.within), largest.number,
                       plural(pool.within), all);
  }
  if (request.strict && !request.near.empty()) {
    return fmt::format("; {} of {} free ones are there", largest.number, all);
  }
  return fmt::format("; {} has {} free", pool_text(pool), all);
}

// "; fits with "strict": false"
std::string remedy(const Situation& situation, const CpuRequest& request) {
  const uint32_t number = number_of(request);
  if (request.strict && find(situation, with_strict(request, false), number)) return "; fits with \"strict\": false";
  Situation together = situation;
  together.apart = {};
  if (!situation.apart.empty() && find(together, request, number)) return "; fits without \"apart\"";
  return {};
}

// "pool "fast" grants whole cores, of 1 or 2 CPUs each; they cannot give 3 CPUs"
std::string whole_cores_text(const Situation& situation, const CpuRequest& request) {
  std::set<uint32_t> weights;
  for (const Slot& slot : slots_of(empty_pool(situation), request)) weights.insert(slot.weight);
  const std::string sizes = joined(weights, " or ", [](uint32_t weight) { return std::to_string(weight); });
  return fmt::format("{} grants whole cores, of {} CPUs each; they cannot give {}", pool_text(situation.pool), sizes,
                     amount(request));
}

// "6 CPUs within one node"
std::string need_text(const Situation& situation, const CpuRequest& request) {
  std::string text = amount(request);
  for (size_t i = 0; i < situation.apart.size(); ++i) {
    text += (i == 0 ? " apart from " : " and ") + situation.apart[i].workload;
  }
  if (situation.pool.never_crosses || place_of_near(situation, request)) {
    return fmt::format("{} within one {}", text, name_of(situation.pool.within));
  }
  if (request.strict && !request.near.empty()) text += " near " + near_text(request);
  return text;
}

// What is wrong with a request that not even the empty pool grants.
std::string never_text(const Situation& situation, const Situation& empty, const CpuRequest& request) {
  const uint32_t most = find_largest(empty, request).number;
  if (number_of(request) <= most) return whole_cores_text(situation, request);
  return fmt::format("needs {}, and {} has at most {}{}", need_text(situation, request), pool_text(situation.pool),
                     most, free_text(situation, request, find_largest(situation, request)));
}

}  // namespace

Error refusal(const Situation& situation, const CpuRequest& request) {
  const CpuPool& pool = situation.pool;
  const Situation empty = empty_pool(situation);
  if (request.strict && total_of(empty, request) == 0 && total_of(empty, with_strict(request, false)) > 0) {
    return fail_at(ErrorCode::BadRequest, "/cpu/near",
                   fmt::format("{} has no CPUs near {}", pool_text(pool), near_text(request)))
        .value();
  }
  // CPUs that are offline may come back.
  const bool never = pool.cpus.is_subset_of(situation.tree.online()) && !find(empty, request, number_of(request));
  const Largest largest = find_largest(situation, request);
  const std::string message =
      never ? never_text(situation, empty, request)
            : fmt::format("needs {}{}", need_text(situation, request), free_text(situation, request, largest));
  return {.code = never ? ErrorCode::BadRequest : ErrorCode::NotEnough,
          .field = request.cores > 0 ? "/cpu/cores" : "/cpu/count",
          .message = message + remedy(situation, request),
          .detail = {},
          .allowed = fitting(situation, request, largest.number),
          .subject = {}};
}

}  // namespace nrd::plan
