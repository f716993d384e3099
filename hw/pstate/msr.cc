#include "hw/pstate/msr.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/errno_text.h"
#include "base/hex.h"
#include "base/unique_fd.h"
#include "hw/pstate/amd.h"

namespace nrd::pstate {
namespace {

constexpr uint64_t kRatioBits = 0xFF;
constexpr uint64_t kHwpEnabled = 1;  // IA32_PM_ENABLE bit 0; once set, IA32_PERF_CTL does nothing until reset

// Intel CPUs of family 6 whose bus clock is not 100 MHz (SDM vol. 4, chapter 2: MSR_PLATFORM_INFO of each): 133.33 MHz
// on Nehalem and Westmere, the one in MSR_FSB_FREQ on Silvermont and Airmont.
constexpr std::array<unsigned, 13> kOtherBusClock = {0x1A, 0x1E, 0x1F, 0x2E, 0x25, 0x2C, 0x2F,
                                                     0x37, 0x4A, 0x4D, 0x5A, 0x5D, 0x4C};

std::string register_name(uint32_t address) { return "register 0x" + hex_number(address); }

uint64_t with_ratio(uint64_t word, unsigned lowest_bit, Ratio ratio) {
  return (word & ~(kRatioBits << lowest_bit)) | ((ratio.value & kRatioBits) << lowest_bit);
}

class MsrDevice final : public Registers {
 public:
  MsrDevice(CpuId cpu, std::string path, UniqueFd device)
      : cpu_(cpu), path_(std::move(path)), device_(std::move(device)) {}

  Result<std::optional<uint64_t>> read(uint32_t address) override {
    uint64_t word = 0;
    ssize_t got = -1;
    do {
      got = ::pread(device_.get(), &word, sizeof word, static_cast<off_t>(address));
    } while (got < 0 && errno == EINTR);
    if (got == sizeof word) return word;
    // The CPU raised #GP: it has no such register.
    if (got < 0 && errno == EIO) return std::nullopt;
    return failed("read", address, got);
  }

  Result<void> write(uint32_t address, uint64_t word) override {
    ssize_t put = -1;
    do {
      put = ::pwrite(device_.get(), &word, sizeof word, static_cast<off_t>(address));
    } while (put < 0 && errno == EINTR);
    if (put == sizeof word) return {};
    return failed("written", address, put);
  }

 private:
  Failure failed(const char* how, uint32_t address, ssize_t count) const {
    const std::string why = count < 0 ? errno_text() : fmt::format("{} bytes of 8", count);
    return fail(ErrorCode::Hardware, fmt::format("{}: a register could not be {}", text_of(cpu_), how),
                fmt::format("{}, {}: {}", path_, register_name(address), why));
  }

  CpuId cpu_;
  std::string path_;
  UniqueFd device_;
};

Result<uint64_t> read_existing(Registers& registers, uint32_t address) {
  const std::optional<uint64_t> word = TRY(registers.read(address));
  if (!word) return fail(ErrorCode::Hardware, "the CPU lacks a register", register_name(address));
  return *word;
}

// The register that sets the frequency.
uint32_t request_of(Interface way) { return way == Interface::HwpRequest ? kHwpRequest : kPerfCtl; }

std::optional<Cpu> settable(Interface way, CpuId cpu, Ratio min, Ratio base, Ratio max) {
  if (min == Ratio{0} || min > max) return std::nullopt;
  return Cpu{.way = way,
             .driver = "msr",
             .min = khz_of(min),
             .max = khz_of(max),
             .base = khz_of(base),
             .domain = {cpu.value},
             .hwp = way == Interface::HwpRequest};
}

}  // namespace

std::optional<RegisterSet> registers_of(const Part& part) {
  if (part.vendor == "GenuineIntel" && part.family == 6) {
    const bool is_other = std::ranges::find(kOtherBusClock, part.model) != kOtherBusClock.end();
    return is_other ? std::nullopt : std::optional(RegisterSet::Intel);
  }
  if (part.vendor != "AuthenticAMD" && part.vendor != "HygonGenuine") return std::nullopt;
  if (part.family >= 0x17 && part.family <= 0x19) return RegisterSet::Amd17h;
  if (part.family == 0x1A) return RegisterSet::Amd1Ah;
  return std::nullopt;
}

Result<std::unique_ptr<Registers>> open_registers(const std::string& root, CpuId cpu) {
  std::string path = fmt::format("{}/dev/cpu/{}/msr", root, cpu.value);
  UniqueFd device(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY));
  if (device.valid()) return std::make_unique<MsrDevice>(cpu, std::move(path), std::move(device));
  if (errno == ENOENT || errno == ENOTDIR || errno == ENXIO || errno == ENODEV) return nullptr;
  return fail(ErrorCode::Hardware, text_of(cpu) + ": cannot open its registers", errno_text(path));
}

Ratio ratio_at(uint64_t word, unsigned lowest_bit) {
  return {static_cast<uint32_t>((word >> lowest_bit) & kRatioBits)};
}

uint64_t hwp_request(uint64_t word, Ratio min, Ratio max) { return with_ratio(with_ratio(word, 0, min), 8, max); }

uint64_t perf_ctl(uint64_t word, Ratio ratio) { return with_ratio(word, 8, ratio); }

namespace {

Result<std::optional<Cpu>> discover_intel(Registers& registers, CpuId cpu) {
  const std::optional<uint64_t> enable = TRY(registers.read(kPmEnable));
  if (enable && (*enable & kHwpEnabled) != 0) {
    // Highest 7:0, guaranteed 15:8, most efficient 23:16, lowest 31:24.
    const std::optional<uint64_t> able = TRY(registers.read(kHwpCapabilities));
    if (!able) return std::nullopt;
    return settable(Interface::HwpRequest, cpu, ratio_at(*able, 24), ratio_at(*able, 8), ratio_at(*able, 0));
  }
  // Highest without turbo 15:8, lowest 47:40.
  const std::optional<uint64_t> platform = TRY(registers.read(kPlatformInfo));
  if (!platform) return std::nullopt;
  // With one core active 7:0. Absent: no turbo.
  const std::optional<uint64_t> turbo = TRY(registers.read(kTurboRatioLimit));
  const Ratio base = ratio_at(*platform, 8);
  return settable(Interface::PerfCtl, cpu, ratio_at(*platform, 40), base,
                  std::max(base, ratio_at(turbo.value_or(0), 0)));
}

}  // namespace

Result<std::optional<Cpu>> discover_registers(Registers& registers, RegisterSet set, CpuId cpu) {
  switch (set) {
    case RegisterSet::Intel: return discover_intel(registers, cpu);
    case RegisterSet::Amd17h: return discover_amd(registers, cpu, Interface::Amd17h);
    case RegisterSet::Amd1Ah: return discover_amd(registers, cpu, Interface::Amd1Ah);
  }
  return std::nullopt;
}

Result<FrequencySetting> observe_registers(Registers& registers, Interface way) {
  if (is_amd(way)) return observe_amd(registers, way);
  const uint64_t word = TRY(read_existing(registers, request_of(way)));
  const KHz max = khz_of(ratio_at(word, 8));
  return FrequencySetting{.min = way == Interface::HwpRequest ? khz_of(ratio_at(word, 0)) : max, .max = max};
}

std::optional<KHz> current_of_registers(Registers& registers, Interface way) {
  if (is_amd(way)) return current_of_amd(registers, way);
  const Result<std::optional<uint64_t>> status = registers.read(kPerfStatus);
  if (!status || !*status) return std::nullopt;
  const Ratio ratio = ratio_at(**status, 8);
  if (ratio == Ratio{0}) return std::nullopt;
  return khz_of(ratio);
}

Result<void> write_registers(Registers& registers, Interface way, const FrequencySetting& wanted) {
  if (is_amd(way)) return write_amd(registers, way, wanted.max);
  const uint32_t address = request_of(way);
  const uint64_t word = TRY(read_existing(registers, address));
  const Ratio min = ratio_of(wanted.min);
  const Ratio max = ratio_of(wanted.max);
  return registers.write(address, way == Interface::HwpRequest ? hwp_request(word, min, max) : perf_ctl(word, max));
}

}  // namespace nrd::pstate
