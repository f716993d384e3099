#include "hw/cpuset/latency.h"

#include <fcntl.h>
#include <fmt/core.h>

#include <optional>
#include <string_view>

#include "base/errno_text.h"
#include "base/file.h"
#include "base/number.h"
#include "hw/cpuset/kernel_facts.h"

namespace nrd::cpuset {
namespace {

constexpr const char* kCpus = "/sys/devices/system/cpu";
constexpr const char* kFile = "pm_qos_resume_latency_us";

std::string path_of(const std::string& root, CpuId cpu) {
  return fmt::format("{}{}/cpu{}/power/{}", root, kCpus, cpu.value, kFile);
}

// The kernel ends the text with a line end; one without is truncated, and half of "120" is another limit.
std::optional<LatencyLimit> parsed(std::string_view text) {
  constexpr std::string_view kNoIdleState = "n/a";
  if (!text.ends_with('\n')) return std::nullopt;
  const std::string_view limit = trimmed(text);
  if (limit != kNoIdleState && !parse_number<int32_t>(limit)) return std::nullopt;
  return LatencyLimit(limit);
}

// nullopt: the CPU has been removed.
Result<std::optional<LatencyLimit>> limit_of(const std::string& root, CpuId cpu) {
  const std::string path = path_of(root, cpu);
  const std::optional<std::string> text = TRY(read_one_line(path));
  if (!text) return std::nullopt;
  std::optional<LatencyLimit> limit = parsed(*text);
  if (limit) return limit;
  return fail(ErrorCode::Hardware, fmt::format("{}: {} has unexpected content", text_of(cpu), kFile),
              fmt::format("{}: \"{}\"", path, text->substr(0, 80)));
}

Result<void> converge(const std::string& root, CpuId cpu, const LatencyLimit& wanted) {
  const std::optional<LatencyLimit> before = TRY(limit_of(root, cpu));
  if (!before || *before == wanted) return {};
  const std::string problem = fmt::format("{} did not take the idle latency limit {}", text_of(cpu), wanted);
  const std::string path = path_of(root, cpu);
  if (const auto written = write_value(path, wanted + "\n", O_TRUNC); !written)
    return fail(ErrorCode::Hardware, problem, errno_text(path, written.error()));
  const std::optional<LatencyLimit> after = TRY(limit_of(root, cpu));
  if (!after || *after == wanted) return {};
  return fail(ErrorCode::Hardware, fmt::format("{} (found {})", problem, *after), path);
}

}  // namespace

// The kernel is built with power management or without: one CPU tells for all.
std::string why_no_latency_limits(const std::string& root) {
  const CpuSet online = online_cpus(root);
  if (online.empty()) return "the online CPUs cannot be read";
  const CpuId first = online.members().front();
  const Result<std::optional<LatencyLimit>> limit = limit_of(root, first);
  if (!limit) return limit.error().message;
  return *limit ? "" : fmt::format("{} has no {}", text_of(first), kFile);
}

std::map<CpuId, LatencyLimit> observe_latency(const std::string& root, const CpuSet& cpus) {
  std::map<CpuId, LatencyLimit> observed;
  for (const CpuId cpu : cpus.members()) {
    Result<std::optional<LatencyLimit>> limit = limit_of(root, cpu);
    if (limit && *limit) observed.emplace(cpu, **std::move(limit));
  }
  return observed;
}

Result<void> converge_latency(const std::string& root, const std::map<CpuId, LatencyLimit>& wanted) {
  Result<void> done;
  for (const auto& [cpu, limit] : wanted) note_failure(done, converge(root, cpu, limit));
  return done;
}

}  // namespace nrd::cpuset
