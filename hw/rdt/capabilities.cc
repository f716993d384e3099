#include "hw/rdt/capabilities.h"

#include "base/cpuinfo.h"
#include "base/file.h"
#include "hw/rdt/bandwidth.h"
#include "hw/rdt/resctrl.h"

namespace nrd::rdt {

Capabilities flags_in(std::string_view cpuinfo) {
  Capabilities flags;
  flags.rdt = has_flag(cpuinfo, "rdt_a");
  flags.l2_cat = has_flag(cpuinfo, "cat_l2");
  flags.l3_cat = has_flag(cpuinfo, "cat_l3");
  flags.l2_cdp = has_flag(cpuinfo, "cdp_l2");
  flags.l3_cdp = has_flag(cpuinfo, "cdp_l3");
  flags.monitoring = has_flag(cpuinfo, "cqm");
  flags.mba = has_flag(cpuinfo, "mba");
  flags.is_amd =
      cpuinfo.find("AuthenticAMD") != std::string_view::npos || cpuinfo.find("HygonGenuine") != std::string_view::npos;
  return flags;
}

Result<std::optional<MbaInfo>> parse_mba_info(const std::optional<std::string>& bandwidth_gran,
                                              const std::optional<std::string>& min_bandwidth) {
  const auto step = TRY(parse_info("MB/bandwidth_gran", bandwidth_gran));
  const auto least = TRY(parse_info("MB/min_bandwidth", min_bandwidth));
  if (!step || !least) return std::nullopt;
  return MbaInfo{.step = *step, .least = *least, .unit = MbaUnit::Percent, .most = 100};
}

Result<Capabilities> read_flags() {
  const std::optional<std::string> cpuinfo = TRY(read_file("/proc/cpuinfo", kCpuinfoLimit));
  return flags_in(cpuinfo.value_or(""));
}

Result<Capabilities> with_mount(Capabilities flags) {
  flags.is_mounted = is_mounted();
  flags.is_mounted_with_cdp = has_info("L3CODE") || has_info("L2CODE");
  const std::optional<std::string> step = TRY(read_file(info_path("MB/bandwidth_gran")));
  const std::optional<std::string> least = TRY(read_file(info_path("MB/min_bandwidth")));
  flags.mba_info = TRY(parse_mba_info(step, least));
  if (!flags.mba_info) return flags;
  flags.mba_info = TRY(with_unit(*flags.mba_info, flags.is_amd));
  return flags;
}

std::string read_throttle_mode() {
  const Result<std::optional<std::string>> mode = read_file(info_path("MB/thread_throttle_mode"));
  return mode && *mode && (*mode)->ends_with('\n') ? std::string(trimmed(**mode)) : "";
}

}  // namespace nrd::rdt
