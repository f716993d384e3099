#include "hw/cpuset/noise.h"

#include <fcntl.h>
#include <fmt/core.h>

#include <optional>
#include <string_view>
#include <vector>

#include "base/directory.h"
#include "base/errno_text.h"
#include "base/file.h"
#include "base/hex.h"
#include "base/number.h"

namespace nrd::cpuset {
namespace {

using Kind = NoiseSource::Kind;

constexpr uint32_t kGroup = 32;  // bits of a group of a mask

std::string path_of(const std::string& root, const NoiseSource& source) {
  switch (source.kind) {
    case Kind::Interrupt: return fmt::format("{}/proc/irq/{}/smp_affinity_list", root, source.number);
    case Kind::NewInterrupts: return root + "/proc/irq/default_smp_affinity";
    case Kind::Workqueues: return root + "/sys/devices/virtual/workqueue/cpumask";
    case Kind::Watchdog: return root + "/proc/sys/kernel/watchdog_cpumask";
  }
  return {};
}

// The other files have lists.
bool has_mask(Kind kind) { return kind == Kind::NewInterrupts || kind == Kind::Workqueues; }

// "3,00000001": CPUs 0, 32 and 33 (Documentation/core-api/kernel-api.rst, bitmap_parse()).
std::optional<CpuSet> parse_mask(std::string_view mask) {
  CpuSet cpus;
  for (uint32_t first = 0; first < CpuSet::kMaxCpus; first += kGroup) {
    const size_t comma = mask.rfind(',');
    const std::string_view group = comma == std::string_view::npos ? mask : mask.substr(comma + 1);
    const auto bits = parse_number<uint32_t>(group, 16);
    if (!bits) return std::nullopt;
    for (uint32_t bit = 0; bit < kGroup; ++bit) {
      if ((*bits >> bit & 1U) != 0) cpus.add(CpuId{first + bit});
    }
    if (comma == std::string_view::npos) return cpus;
    mask = mask.substr(0, comma);
  }
  return std::nullopt;
}

std::string mask_of(const CpuSet& cpus) {
  constexpr size_t kDigits = 8;
  std::vector<uint32_t> groups(1);
  for (const CpuId cpu : cpus.members()) {
    if (groups.size() <= cpu.value / kGroup) groups.resize(cpu.value / kGroup + 1);
    groups[cpu.value / kGroup] |= 1U << (cpu.value % kGroup);
  }
  std::string mask;
  for (auto group = groups.rbegin(); group != groups.rend(); ++group) {
    const std::string text = hex_number(*group);
    mask += (mask.empty() ? "" : "," + std::string(kDigits - text.size(), '0')) + text;
  }
  return mask;
}

// nullopt: it does not exist, or has unexpected content.
std::optional<CpuSet> cpus_of(const std::string& root, const NoiseSource& source) {
  const std::string path = path_of(root, source);
  if (!has_mask(source.kind)) return read_cpu_list(path).value_or(std::nullopt);
  const Result<std::optional<std::string>> text = read_file(path);
  if (!text || !*text || !(*text)->ends_with('\n')) return std::nullopt;
  return parse_mask(trimmed(**text));
}

std::set<uint32_t> interrupts_in(const std::string& root) {
  constexpr size_t kMost = size_t{1} << 16;
  const std::vector<uint32_t> numbers = numbers_in<uint32_t>(root + "/proc/irq", kMost);
  return {numbers.begin(), numbers.end()};
}

}  // namespace

std::map<NoiseSource, CpuSet> Noise::observe() {
  const std::set<uint32_t> interrupts = interrupts_in(root_);
  // The number may be another device's later.
  std::erase_if(immovable_, [&interrupts](uint32_t number) { return !interrupts.contains(number); });
  std::vector<NoiseSource> sources{{Kind::NewInterrupts, 0}, {Kind::Workqueues, 0}, {Kind::Watchdog, 0}};
  for (const uint32_t number : interrupts) {
    if (!immovable_.contains(number)) sources.push_back({Kind::Interrupt, number});
  }
  std::map<NoiseSource, CpuSet> observed;
  for (const NoiseSource& source : sources) {
    std::optional<CpuSet> cpus = cpus_of(root_, source);
    if (cpus && !cpus->empty()) observed.emplace(source, *std::move(cpus));
  }
  return observed;
}

Result<void> Noise::converge(const std::map<NoiseSource, CpuSet>& wanted) {
  Result<void> done;
  for (const auto& [source, cpus] : wanted) {
    const Result<bool> has_moved = set(source, cpus);
    if (has_moved == false) immovable_.insert(source.number);
    note_failure(done, has_moved.map([](bool) {}));
  }
  return done;
}

Result<void> Noise::restore(const std::map<NoiseSource, CpuSet>& before) {
  Result<void> done;
  for (const auto& [source, cpus] : before) note_failure(done, set(source, cpus).map([](bool) {}));
  return done;
}

Result<bool> Noise::set(const NoiseSource& source, const CpuSet& cpus) {
  const std::optional<CpuSet> before = cpus_of(root_, source);
  if (!before || *before == cpus) return true;
  const std::string path = path_of(root_, source);
  const std::string value = has_mask(source.kind) ? mask_of(cpus) : cpus.to_string();
  const auto written = write_value(path, value + "\n", O_TRUNC);
  const std::optional<CpuSet> after = cpus_of(root_, source);
  if (!after || *after == cpus) return true;
  // EIO, and EPERM since 6.11: managed, or a controller that cannot route; ENOSPC: no free vector on these CPUs.
  if (source.kind == Kind::Interrupt) return false;
  return fail(ErrorCode::Hardware, fmt::format("{} did not take CPUs {}", text_of(source), cpus.to_string()),
              fmt::format("{}: {}", path, written ? "found " + after->to_string() : errno_text(written.error())));
}

}  // namespace nrd::cpuset
