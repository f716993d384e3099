#include "hw/rdt/topology.h"

#include <charconv>
#include <string>

#include "base/file.h"

namespace nrd::rdt {
namespace {

constexpr const char* kCpus = "/sys/devices/system/cpu";
constexpr int kCacheIndexes = 8;  // L1d, L1i, L2, L3 and room for more

std::string cpu_path(CpuId cpu, const std::string& file) {
  return std::string(kCpus) + "/cpu" + std::to_string(cpu.value) + "/" + file;
}

Result<CpuSet> read_list(const std::string& path) {
  const Result<std::optional<std::string>> text = read_file(path);
  if (!text) return Failure(text.error());
  const std::string_view list = *text ? trimmed(**text) : std::string_view();
  if (list.empty()) return CpuSet{};
  return CpuSet::parse(list).map_error([&](Error error) {
    return Error{ErrorCode::Hardware, {}, "the kernel's list of CPUs is not as expected", path + ": " + error.message};
  });
}

std::optional<uint32_t> read_number(const std::string& path) {
  const Result<std::optional<std::string>> text = read_file(path);
  if (!text || !*text) return std::nullopt;
  const std::string_view digits = trimmed(**text);
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

// Index of the L3 cache below cache/; a CPU without one, or one that just went offline, has none.
std::optional<std::string> l3_directory(CpuId cpu) {
  for (int index = 0; index < kCacheIndexes; ++index) {
    std::string directory = "cache/index" + std::to_string(index) + "/";
    if (read_number(cpu_path(cpu, directory + "level")) == 3U) return directory;
  }
  return std::nullopt;
}

}  // namespace

Result<Node> read_topology() {
  Node node;
  Result<CpuSet> possible = read_list(std::string(kCpus) + "/possible");
  if (!possible) return Failure(possible.error());
  Result<CpuSet> online = read_list(std::string(kCpus) + "/online");
  if (!online) return Failure(online.error());
  node.possible = *std::move(possible);
  node.online = *std::move(online);

  // One CPU speaks for all that share its cache: on 1,024 CPUs that is a few files and not some thousand.
  CpuSet left = node.online;
  while (!left.empty()) {
    const CpuId cpu = left.members().front();
    left.remove(cpu);
    const std::optional<std::string> l3 = l3_directory(cpu);
    if (!l3) continue;
    const std::optional<uint32_t> id = read_number(cpu_path(cpu, *l3 + "id"));
    const Result<CpuSet> sharing = read_list(cpu_path(cpu, *l3 + "shared_cpu_list"));
    if (!id || !sharing) continue;
    CpuSet& cpus = node.caches[CacheId{*id}];
    cpus |= *sharing & node.online;
    cpus.add(cpu);
    left -= cpus;
    const std::optional<uint32_t> socket = read_number(cpu_path(cpu, "topology/physical_package_id"));
    node.sockets[CacheId{*id}] = static_cast<int>(socket.value_or(0));
  }
  return node;
}

}  // namespace nrd::rdt
