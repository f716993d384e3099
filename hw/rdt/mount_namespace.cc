#include "hw/rdt/mount_namespace.h"

#include <optional>
#include <string>

#include "base/file.h"
#include "base/split.h"
#include "hw/rdt/resctrl.h"

namespace nrd::rdt {
namespace {

// The mount that contains a path.
struct Mount {
  std::string_view id;     // unique across namespaces
  std::string_view peers;  // "shared:7", the peer group that receives its mounts; empty: none
};

bool is_above(std::string_view mount_point, std::string_view path) {
  if (mount_point == "/") return true;
  return path.size() > mount_point.size() && path.starts_with(mount_point) && path[mount_point.size()] == '/';
}

struct Line {
  std::string_view mount_point;
  Mount mount;
};

// nullopt: the line was truncated, since "-" ends the optional fields of each.
std::optional<Line> parse_line(std::string_view text) {
  Line line;
  line.mount.id = take_until(text, ' ');
  for (int skipped = 0; skipped < 3; ++skipped) take_until(text, ' ');  // parent, device, root
  line.mount_point = take_until(text, ' ');
  take_until(text, ' ');  // options
  while (!text.empty()) {
    const std::string_view field = take_until(text, ' ');
    if (field == "-") return line;
    if (field.starts_with("shared:")) line.mount.peers = field;
  }
  return std::nullopt;
}

// If several are on one mount point the last line is the topmost.
Mount mount_above(std::string_view mountinfo, std::string_view path) {
  Line found;
  while (!mountinfo.empty()) {
    const std::optional<Line> line = parse_line(take_until(mountinfo, '\n'));
    if (!line || !is_above(line->mount_point, path)) continue;
    if (line->mount_point.size() >= found.mount_point.size()) found = *line;
  }
  return found.mount;
}

}  // namespace

bool propagates(std::string_view own, std::string_view init, std::string_view path) {
  const Mount here = mount_above(own, path);
  const Mount there = mount_above(init, path);
  if (here.id.empty()) return false;
  return here.id == there.id || (!here.peers.empty() && here.peers == there.peers);
}

bool is_mount_visible_to_host() {
  constexpr size_t kLimit = size_t{4} << 20;
  const auto own = read_file("/proc/self/mountinfo", kLimit);
  const auto init = read_file("/proc/1/mountinfo", kLimit);  // hidden with hidepid=, but not from full root
  return own && *own && init && *init && propagates(**own, **init, kResctrl);
}

}  // namespace nrd::rdt
