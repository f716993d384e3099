#include "hw/onload/interface_settings.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "hw/onload/kernel_file.h"
#include "hw/onload/parameter_text.h"

namespace nrd::onload {
namespace {

// The setting is a file of the device or, in later releases, of its child on the auxiliary bus.
std::optional<std::string> find_setting(const std::string& interface_path) {
  const std::string device = interface_path + "/device/";
  constexpr const char* kFile = "/sfc_resource/enable";
  if (exists(device + kFile)) return device + kFile;
  const Result<std::vector<std::string>> below = list_directory(device);
  if (!below) return std::nullopt;
  for (const std::string& name : *below) {
    if (name.find(".onload.") != std::string::npos && exists(device + name + kFile)) return device + name + kFile;
  }
  return std::nullopt;
}

// A card of Solarflare that sfc_resource does not serve natively.
bool is_left_to_afxdp(const std::string& root, const std::string& interface) {
  const auto attaches = read_line(root + "/sys/module/sfc_resource/parameters/enable_driverlink");
  return attaches && *attaches && says_same("0", **attaches) && !find_setting(interface_path(root, interface));
}

Result<void> check_name(const std::string& root, const std::string& interface) {
  if (!is_interface_name(interface)) return fail(ErrorCode::BadRequest, "invalid network interface name");
  if (exists(interface_path(root, interface))) return {};
  return fail(ErrorCode::NotFound, fmt::format("network interface {} not found", interface));
}

}  // namespace

bool is_interface_name(std::string_view name) {
  return !name.empty() && name.size() < 16 && name != "." && name != ".." &&
         std::ranges::none_of(name, [](char c) { return c <= ' ' || c == '/' || c == ':' || c == '\x7f'; });
}

bool is_solarflare(const std::string& root, const std::string& interface) {
  const Result<std::optional<std::string>> vendor = read_line(interface_path(root, interface) + "/device/vendor");
  return vendor && *vendor == "0x1924";
}

std::optional<bool> read_acceleration(const std::string& root, const std::string& interface) {
  const std::optional<std::string> path = find_setting(interface_path(root, interface));
  if (!path) return std::nullopt;
  const Result<std::optional<std::string>> line = read_line(*path);
  if (!line || !*line) return std::nullopt;
  if (**line == "1" || **line == "Y") return true;
  if (**line == "0" || **line == "N") return false;
  return std::nullopt;
}

bool is_registered(const std::string& root, const std::string& interface) {
  // There is no list, but the devices of sfc_resource, which also have Solarflare's own. A map that is pinned as
  // /sys/fs/bpf/onload_xdp_xsk_IF does not tell: administrators make it before the registration.
  return exists(root + "/proc/driver/sfc_resource/devices/" + interface) &&
         (!is_solarflare(root, interface) || is_left_to_afxdp(root, interface));
}

Result<void> write_acceleration(const std::string& root, const std::string& interface, SwitchState to) {
  const bool is_on = to == SwitchState::On;
  TRY(check_name(root, interface));
  const std::optional<std::string> path = find_setting(interface_path(root, interface));
  if (!path)
    return fail(ErrorCode::NotFound, fmt::format("network interface {} has no acceleration setting", interface));
  const std::string refused = "cannot change the acceleration of network interface " + interface;
  TRY(write_text(*path, is_on ? "1\n" : "0\n", refused));
  if (read_acceleration(root, interface) == is_on) return {};
  return fail(ErrorCode::Hardware, refused, *path);
}

Result<void> write_registration(const std::string& root, const std::string& interface, SwitchState to) {
  const bool is_on = to == SwitchState::On;
  TRY(check_name(root, interface));
  const std::string verb = is_on ? "register" : "unregister";
  const std::string refused =
      fmt::format("cannot {} network interface {}{}", verb, interface, is_on ? " with Onload" : " from Onload");
  const std::string path = root + "/sys/module/sfc_resource/afxdp/" + verb;
  // The module requires the line feed.
  TRY(write_text(path, interface + "\n", refused));
  if (is_registered(root, interface) == is_on) return {};
  return fail(ErrorCode::Hardware, refused, path + ": the write succeeded, but the interface did not change");
}

}  // namespace nrd::onload
