#include "hw/cpuset/kernel_facts.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/directory.h"
#include "base/file.h"
#include "base/number.h"

namespace nrd::cpuset {
namespace {

constexpr size_t kMostNames = 4096;

// The number between `prefix` and `suffix`, if `name` is of that form.
std::optional<uint32_t> number_in(std::string_view name, std::string_view prefix, std::string_view suffix) {
  if (!name.starts_with(prefix) || !name.ends_with(suffix) || name.size() < prefix.size() + suffix.size()) return {};
  return parse_number<uint32_t>(name.substr(prefix.size(), name.size() - prefix.size() - suffix.size()));
}

// Some kernels have "(null)" without CPUs.
CpuSet cpus_in(const std::string& path) { return read_cpu_list(path).value_or(std::nullopt).value_or(CpuSet()); }

}  // namespace

std::string line_of(const std::string& path) {
  return std::string(trimmed(read_one_line(path).value_or(std::nullopt).value_or("")));
}

CpuSet online_cpus(const std::string& root) { return cpus_in(root + "/sys/devices/system/cpu/online"); }

CpuSet read_nohz_full(const std::string& root) { return cpus_in(root + "/sys/devices/system/cpu/nohz_full"); }

// Of the PMUs of hybrid CPUs (Documentation/admin-guide/perf/intel-hybrid.rst).
CoreKinds read_core_kinds(const std::string& root) {
  CoreKinds kinds;
  for (const char* kind : {"core", "atom", "lowpower"}) {
    CpuSet cpus = cpus_in(root + "/sys/devices/cpu_" + kind + "/cpus");
    if (!cpus.empty()) kinds[kind] = std::move(cpus);
  }
  return kinds;
}

// Documentation/admin-guide/mm/hugetlbpage.rst
FreeHugePages read_free_huge_pages(const std::string& root) {
  const std::string nodes = root + "/sys/devices/system/node";
  FreeHugePages free;
  for (const std::string& name : names_in(nodes, kMostNames)) {
    const std::optional<uint32_t> node = number_in(name, "node", "");
    if (!node) continue;
    const std::string sizes = nodes + "/" + name + "/hugepages";
    for (const std::string& size : names_in(sizes, kMostNames)) {
      const std::optional<uint32_t> kib = number_in(size, "hugepages-", "kB");
      const auto count = parse_number<uint64_t>(line_of(sizes + "/" + size + "/free_hugepages"));
      if (kib && count) free[{.node = *node, .bytes = uint64_t{*kib} * 1024}] = *count;
    }
  }
  return free;
}

}  // namespace nrd::cpuset
