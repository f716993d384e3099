#include "hw/onload/devices.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cerrno>

#include "base/errno_text.h"
#include "base/number.h"
#include "base/split.h"
#include "base/unique_fd.h"
#include "hw/onload/kernel_file.h"

namespace nrd::onload {
namespace {

constexpr mode_t kPermissions = 07777;

std::string path_of(const std::string& root, const std::string& name) { return root + "/dev/" + name; }

Failure failed(const std::string& path, int error) {
  return fail(ErrorCode::Hardware, "cannot access device node " + std::string(name_in(path)), errno_text(path, error));
}

// A handle of the node itself, which may be a link. nullopt: it does not exist.
Result<std::optional<UniqueFd>> open_node(const std::string& root, const std::string& name) {
  const std::string dev = root + "/dev";
  const UniqueFd directory(::open(dev.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!directory.valid()) return failed(dev, errno);
  UniqueFd node(::openat(directory.get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (node.valid()) return node;
  if (errno == ENOENT) return std::nullopt;
  return failed(path_of(root, name), errno);
}

Result<NodeFile> status_of(const UniqueFd& node, const std::string& path) {
  struct stat status {};
  if (::fstat(node.get(), &status) != 0) return failed(path, errno);
  NodeFile file{.number = std::nullopt,
                .access = {.uid = status.st_uid, .gid = status.st_gid, .mode = status.st_mode & kPermissions}};
  if (S_ISCHR(status.st_mode)) file.number = DeviceNumber{::major(status.st_rdev), ::minor(status.st_rdev)};
  return file;
}

Result<DeviceNode> read_device(const std::string& root, const std::string& name) {
  const std::optional<DeviceNumber> number = TRY(read_device_number(root, name));
  const std::optional<UniqueFd> node = TRY(open_node(root, name));
  DeviceNode device{.name = name, .number = number, .node = std::nullopt};
  if (!node) return device;
  device.node = TRY(status_of(*node, path_of(root, name)));
  return device;
}

Result<void> change(const UniqueFd& node, const std::string& path, const Access& before, const Access& after) {
  // chmod(2) does not accept an O_PATH descriptor, but its path in /proc.
  const std::string self = fmt::format("/proc/self/fd/{}", node.get());
  mode_t mode = before.mode;
  if (before.uid != after.uid || before.gid != after.gid) {
    // Mode 0 meanwhile: a mix of old mode and new owner could admit others.
    if (::chmod(self.c_str(), 0) != 0) return failed(path, errno);
    if (::fchownat(node.get(), "", after.uid, after.gid, AT_EMPTY_PATH) != 0) return failed(path, errno);
    mode = 0;
  }
  if (mode != after.mode && ::chmod(self.c_str(), after.mode) != 0) return failed(path, errno);
  return {};
}

}  // namespace

std::optional<DeviceNumber> parse_device_number(std::string_view text, int base) {
  const auto major = parse_number<uint32_t>(take_until(text, ':'), base);
  const auto minor = parse_number<uint32_t>(text, base);
  if (!major || !minor) return std::nullopt;
  return DeviceNumber{*major, *minor};
}

Result<std::optional<DeviceNumber>> read_device_number(const std::string& root, const std::string& name) {
  const std::string path = root + "/sys/class/" + name + "/" + name + "/dev";
  const std::optional<std::string> line = TRY(read_line(path));
  if (!line) return std::nullopt;
  const std::optional<DeviceNumber> number = parse_device_number(*line);
  if (!number) return unexpected("the device number", path, *line);
  return number;
}

Result<std::vector<DeviceNode>> read_devices(const std::string& root) {
  std::vector<DeviceNode> devices;
  for (const char* name : kDevices) {
    DeviceNode device = TRY(read_device(root, name));
    devices.push_back(std::move(device));
  }
  return devices;
}

Result<void> set_access(const std::string& root, const std::string& name, const Access& access) {
  if (std::ranges::find(kDevices, name) == kDevices.end() || (access.mode & ~mode_t{0777}) != 0) {
    return fail(ErrorCode::BadRequest, "not an Onload device node, or invalid permissions");
  }
  const std::string path = path_of(root, name);
  const std::optional<DeviceNumber> number = TRY(read_device_number(root, name));
  const std::optional<UniqueFd> node = TRY(open_node(root, name));
  if (!number || !node) {
    return fail(ErrorCode::NotFound,
                fmt::format("device {}{}", name, number ? " has no device node" : " does not exist"), path);
  }
  const NodeFile before = TRY(status_of(*node, path));
  if (before.number != *number) {
    return fail(ErrorCode::Hardware, fmt::format("device node {} does not refer to the device; not changed", name),
                path);
  }
  TRY(change(*node, path, before.access, access));
  const NodeFile after = TRY(status_of(*node, path));
  if (after.access != access)
    return fail(ErrorCode::Hardware, fmt::format("owner and mode of device node {} did not take effect", name), path);
  return {};
}

}  // namespace nrd::onload
