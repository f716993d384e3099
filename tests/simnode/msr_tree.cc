#include "msr_tree.h"

#include <sys/stat.h>

#include <cerrno>
#include <charconv>
#include <cstdio>

namespace nrd::simnode {
namespace {

// "3", "3/msr" or "3/msr/0x199"
struct MsrPlace {
  enum class Kind { Cpu, Registers, Register };
  Kind kind;
  int cpu;
  std::uint32_t number = 0;
};

std::optional<std::uint64_t> hex_in(std::string_view text) {
  if (!text.starts_with("0x")) return std::nullopt;
  text.remove_prefix(2);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

std::optional<MsrPlace> msr_place(const Machine& machine, const std::string& path) {
  std::optional<std::string_view> rest = path;
  const auto cpu = parse_number(*cut(rest, '/'));
  if (machine.shape().freq.msr == MsrPart::None) return std::nullopt;
  if (!cpu || *cpu < 0 || *cpu >= machine.shape().cpus) return std::nullopt;
  MsrPlace place{MsrPlace::Kind::Cpu, static_cast<int>(*cpu)};
  if (!rest) return place;
  if (*cut(rest, '/') != "msr") return std::nullopt;
  place.kind = MsrPlace::Kind::Registers;
  if (!rest) return place;
  const auto number = hex_in(*rest);
  if (!number || *number > UINT32_MAX) return std::nullopt;
  return MsrPlace{MsrPlace::Kind::Register, place.cpu, static_cast<std::uint32_t>(*number)};
}

}  // namespace

std::optional<mode_t> MsrTree::mode(const std::string& path) {
  if (path.empty()) return S_IFDIR | 0755;
  const auto place = msr_place(machine_, path);
  if (!place) return std::nullopt;
  return place->kind == MsrPlace::Kind::Cpu ? S_IFDIR | 0755 : S_IFREG | 0600;
}

std::vector<std::string> MsrTree::list(const std::string& folder) {
  if (!folder.empty()) return {"msr"};
  std::vector<std::string> names;
  if (machine_.shape().freq.msr == MsrPart::None) return names;
  for (const int cpu : machine_.all()) names.push_back(std::to_string(cpu));
  return names;
}

bool MsrTree::has_registers(const std::string& path) {
  const auto place = msr_place(machine_, path);
  return place && place->kind == MsrPlace::Kind::Registers;
}

int MsrTree::open(const std::string& path) {
  const auto place = msr_place(machine_, path);
  return place && machine_.is_online(place->cpu) ? 0 : ENXIO;
}

int MsrTree::read(const std::string& path, std::string& content) {
  const auto place = msr_place(machine_, path);
  if (!place || place->kind != MsrPlace::Kind::Register) return EINVAL;
  if (!machine_.is_online(place->cpu)) return ENXIO;
  std::uint64_t value = 0;
  if (const int error = msr_.read(place->cpu, place->number, value)) return error;
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  content = text;
  return 0;
}

int MsrTree::write(const std::string& path, std::string_view text, pid_t) {
  const auto place = msr_place(machine_, path);
  const auto value = hex_in(text);
  if (!place || place->kind != MsrPlace::Kind::Register || !value) return EINVAL;
  return machine_.is_online(place->cpu) ? msr_.write(place->cpu, place->number, *value) : ENXIO;
}

}  // namespace nrd::simnode
