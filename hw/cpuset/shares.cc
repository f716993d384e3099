#include "hw/cpuset/shares.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>

#include "base/file.h"
#include "base/find_in.h"
#include "base/number.h"
#include "hw/cpuset/cgroup.h"

namespace nrd::cpuset {
namespace {

constexpr const char* kWeight = "cpu.weight";
constexpr const char* kMax = "cpu.max";
constexpr uint32_t kDefaultWeight = 100;
constexpr std::string_view kUnlimited = "max";

Failure unreadable(const std::string& cgroup, const char* file, std::string_view text) {
  return fail(ErrorCode::Hardware, fmt::format("cannot read {} of cgroup {}", file, cgroup), std::string(text));
}

// cpu.max is "QUOTA PERIOD" in microseconds, or "max PERIOD".
Result<void> parse_max(Share& share, const std::string& cgroup, std::string_view text) {
  const size_t space = text.find(' ');
  if (space == std::string_view::npos) return unreadable(cgroup, kMax, text);
  const std::string_view quota = text.substr(0, space);
  const auto period = parse_number<uint64_t>(text.substr(space + 1));
  const auto number = quota == kUnlimited ? uint64_t{0} : parse_number<uint64_t>(quota);
  if (!period || *period == 0 || !number) return unreadable(cgroup, kMax, text);
  share.quota_us = *number;
  share.period_us = *period;
  return {};
}

// nullopt: the cgroup has no files of the cpu controller.
Result<std::optional<Share>> read_share(const std::string& cgroup) {
  const std::optional<std::string> weight = TRY(text_of_file(cgroup, kWeight));
  const std::optional<std::string> max = TRY(text_of_file(cgroup, kMax));
  if (!weight || !max) return std::nullopt;
  const std::optional<uint32_t> number = parse_number<uint32_t>(trimmed(*weight));
  if (!number) return unreadable(cgroup, kWeight, *weight);
  Share share{.weight = *number};
  TRY(parse_max(share, cgroup, trimmed(*max)));
  return share;
}

std::string max_text(const Share& share) {
  const std::string quota = share.quota_us == 0 ? std::string(kUnlimited) : std::to_string(share.quota_us);
  return fmt::format("{} {}", quota, share.period_us);
}

// systemd may choose another period, and rounds the quota down.
bool is_same_limit(const Share& a, const Share& b) {
  if (a.quota_us == 0 || b.quota_us == 0) return a.quota_us == b.quota_us;
  const uint64_t per_second = a.quota_us * kMicroseconds / a.period_us;
  const uint64_t other = b.quota_us * kMicroseconds / b.period_us;
  const uint64_t rounding = kMicroseconds / std::min(a.period_us, b.period_us) + 1;
  return per_second <= other + rounding && other <= per_second + rounding;
}

bool is_in_effect(const Share& wanted, const std::optional<Share>& found) {
  const Share share = found.value_or(Share{});
  const uint32_t weight = share.weight == 0 ? kDefaultWeight : share.weight;
  return weight == (wanted.weight == 0 ? kDefaultWeight : wanted.weight) && is_same_limit(wanted, share);
}

std::string text_of(const std::optional<Share>& share) {
  if (!share) return "no cpu controller";
  return fmt::format("{} {}, {} {}", kWeight, share->weight, kMax, max_text(*share));
}

Result<void> check_effect(const Target& target, const std::string& cgroup, const Share& wanted) {
  const std::optional<CpuSet> cpus = TRY(effective_cpus(cgroup));
  if (!cpus) return {};  // it has ended
  const std::optional<Share> found = TRY(read_share(cgroup));
  if (is_in_effect(wanted, found)) return {};
  return fail(ErrorCode::Hardware, fmt::format("{} has {}, not {}; check who else changes it", target.name,
                                               text_of(found), text_of(wanted)));
}

Result<void> set_of_cgroup(const Target& target, const Share& share) {
  const std::optional<Share> found = TRY(read_share(target.name));
  if (!found) return {};
  const uint32_t weight = share.weight == 0 ? kDefaultWeight : share.weight;
  if (found->weight != weight) TRY(write_to_file(target.name, kWeight, std::to_string(weight)));
  if (max_text(*found) != max_text(share)) TRY(write_to_file(target.name, kMax, max_text(share)));
  return check_effect(target, target.name, share);
}

}  // namespace

Result<std::optional<Share>> Shares::observe(const Target& target, Deadline deadline) {
  return target.kind == Target::Kind::Cgroup ? read_share(target.name) : observe_unit(target, deadline);
}

// What the files say counts. That systemd has set nothing is known from systemd alone, which is asked once and whenever
// the files say something else: asking each time would cost every request some milliseconds.
Result<std::optional<Share>> Shares::observe_unit(const Target& target, Deadline deadline) {
  if (const UnitShare* known = find_in(known_, target.name)) {
    const std::optional<CpuSet> cpus = TRY(effective_cpus(known->cgroup));
    const std::optional<Share> found = TRY(read_share(known->cgroup));
    if (cpus && is_in_effect(known->share, found)) return known->share;
  }
  known_.erase(target.name);
  const std::optional<UnitShare> unit = TRY(units_.share_of(target.name, deadline));
  // A scope starts without any limit.
  if (!unit) return target.kind == Target::Kind::Scope ? std::optional(Share{}) : std::nullopt;
  if (unit->cgroup.empty()) return unit->share;
  known_[target.name] = *unit;
  const std::optional<Share> found = TRY(read_share(unit->cgroup));
  return is_in_effect(unit->share, found) ? unit->share : found;
}

Result<void> Shares::set(const Target& target, const Share& share, Deadline deadline) {
  return target.kind == Target::Kind::Cgroup ? set_of_cgroup(target, share) : set_of_unit(target, share, deadline);
}

Result<void> Shares::set_of_unit(const Target& target, const Share& share, Deadline deadline) {
  known_.erase(target.name);
  const std::optional<UnitShare> unit = TRY(units_.share_of(target.name, deadline));
  if (!unit) return {};
  bool is_there = unit->cgroup.empty();
  if (!is_there) {
    const std::optional<Share> found = TRY(read_share(unit->cgroup));
    is_there = is_in_effect(share, found);
  }
  if (unit->share != share || !is_there) {
    const Result<void> set = units_.set_share(target.name, share, deadline);
    // Of a unit that runs, the files decide whether systemd has done what it has not confirmed.
    if (!set && (set.error().code != ErrorCode::Busy || unit->cgroup.empty())) return set;
    if (!set && !check_effect(target, unit->cgroup, share)) return set;
  }
  return unit->cgroup.empty() ? Result<void>() : check_effect(target, unit->cgroup, share);
}

}  // namespace nrd::cpuset
