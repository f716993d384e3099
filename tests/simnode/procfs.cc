#include "procfs.h"

#include <fstream>
#include <sstream>

namespace nrd::simnode {
namespace {

constexpr const char* kMonitoringFlags = " cqm cqm_llc cqm_occup_llc cqm_mbm_total cqm_mbm_local";
constexpr const char* kRdtFlagNames[] = {"rdt_a", "mba", "cat_l2", "cat_l3", "cdp_l2", "cdp_l3", "cqm"};

std::string allocation_flags(const Machine& machine) {
  std::string flags = " rdt_a";
  for (const CacheLevel& level : machine.allocated_levels()) {
    const std::string number = std::to_string(level.number);
    flags += " cat_l" + number + " cdp_l" + number;
  }
  return flags;
}

bool speaks_of_rdt(const std::string& flag) {
  if (flag.starts_with("cqm_")) return true;
  for (const char* name : kRdtFlagNames) {
    if (flag == name) return true;
  }
  return false;
}

bool speaks_of_hwp(const std::string& flag) { return flag == "hwp" || flag.starts_with("hwp_"); }

std::string flags_of(const Machine& machine, const std::string& host_flags) {
  const MsrPart part = machine.shape().freq.msr;
  std::string flags;
  std::istringstream words(host_flags);
  for (std::string flag; words >> flag;) {
    const bool replaced = speaks_of_rdt(flag) || (part != MsrPart::None && speaks_of_hwp(flag));
    if (!replaced) flags += " " + flag;
  }
  if (machine.shape().rdt) flags += allocation_flags(machine);
  if (machine.shape().rdt && machine.shape().monitoring) flags += kMonitoringFlags;
  if (machine.shape().rdt && machine.shape().mb) flags += " mba";
  if (part == MsrPart::Hwp || part == MsrPart::HwpOff) flags += " hwp hwp_epp";
  return flags;
}

const char* vendor_name(Vendor vendor) {
  switch (vendor) {
    case Vendor::Amd: return "AuthenticAMD";
    case Vendor::Hygon: return "HygonGenuine";
    case Vendor::Intel:
    case Vendor::Host:
    case Vendor::Arm: break;
  }
  return "GenuineIntel";
}

std::string value_for(const Machine& machine, int cpu, const std::string& key, const std::string& host_value) {
  const int per_socket = machine.cpus_per_socket();
  if (key == "processor") return " " + std::to_string(cpu);
  if (key == "physical id") return " " + std::to_string(machine.socket_of(cpu));
  if (key == "siblings" || key == "cpu cores") return " " + std::to_string(per_socket);
  if (key == "core id") return " " + std::to_string(cpu % per_socket);
  if (key == "apicid" || key == "initial apicid") return " " + std::to_string(cpu);
  // The registers are of that part, whatever the host is.
  if (const MsrPart part = machine.shape().freq.msr; part != MsrPart::None) {
    const bool is_amd = part == MsrPart::Amd;
    if (key == "vendor_id") return is_amd ? " AuthenticAMD" : " GenuineIntel";
    if (key == "cpu family") return is_amd ? " 25" : " 6";
    if (key == "model") return is_amd ? " 17" : " 85";
  }
  if (key == "vendor_id") return std::string(" ") + vendor_name(machine.vendor());
  // Ice Lake, Milan, Dhyana: where the host is by another vendor.
  const bool is_hosts = machine.host_cpuinfo().find(vendor_name(machine.vendor())) != std::string::npos;
  if (!is_hosts && key == "cpu family")
    return machine.vendor() == Vendor::Intel ? " 6" : machine.vendor() == Vendor::Amd ? " 25" : " 24";
  if (!is_hosts && key == "model") return machine.vendor() == Vendor::Intel ? " 106" : " 1";
  if (key == "flags") return flags_of(machine, host_value);
  return host_value;
}

// As arch/arm64/kernel/cpuinfo.c writes it: a Neoverse V2. Nothing in it mentions MPAM.
std::string arm_processor(int cpu) {
  return "processor\t: " + std::to_string(cpu) +
         "\nBogoMIPS\t: 2000.00\nFeatures\t: fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics\n"
         "CPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x0\nCPU part\t: 0xd4f\n"
         "CPU revision\t: 0\n\n";
}

std::string processor(const Machine& machine, int cpu) {
  if (machine.vendor() == Vendor::Arm) return arm_processor(cpu);
  std::ostringstream block;
  std::istringstream host(machine.host_cpuinfo());
  for (std::string line; std::getline(host, line);) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::string key(trimmed(std::string_view(line).substr(0, colon)));
    block << line.substr(0, colon + 1) << value_for(machine, cpu, key, line.substr(colon + 1)) << '\n';
  }
  return block.str() + "\n";
}

}  // namespace

std::string new_boot_id() {
  std::ifstream file("/proc/sys/kernel/random/uuid");
  std::string uuid;
  std::getline(file, uuid);
  return uuid + "\n";
}

std::string host_filesystems() {
  std::ifstream file("/proc/filesystems");
  std::string text;
  for (std::string line; std::getline(file, line);) {
    if (line.find("resctrl") == std::string::npos) text += line + "\n";
  }
  return text;
}

void add_procfs(const Machine& machine, const std::string& filesystems, const std::string& boot_id, FileMap& files) {
  std::string cpuinfo;
  for (const int cpu : machine.online()) cpuinfo += processor(machine, cpu);
  files.add("proc/cpuinfo", cpuinfo);
  files.add("proc/filesystems", filesystems + (machine.shape().rdt ? "nodev\tresctrl\n" : ""));
  files.add("proc/boot_id", boot_id);
}

}  // namespace nrd::simnode
