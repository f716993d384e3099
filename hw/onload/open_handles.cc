#include "hw/onload/open_handles.h"

#include <algorithm>

#include "base/find_in.h"
#include "base/number.h"
#include "base/split.h"
#include "hw/onload/devices.h"
#include "hw/onload/kernel_file.h"

namespace nrd::onload {
namespace {

constexpr std::string_view kLinkPrefix = "onload:[";
constexpr size_t kFdinfoLimit = 1 << 20;   // lists every watched file of an epoll
constexpr unsigned kPathOnly = 010000000;  // O_PATH in the octal flags of fdinfo

// Two hexadecimal numbers, "5-a".
bool is_range(std::string_view text) {
  const size_t dash = text.find('-');
  return dash != std::string_view::npos && parse_number<uint64_t>(text.substr(0, dash), 16) &&
         parse_number<uint64_t>(text.substr(dash + 1), 16);
}

// Files that cannot be devices: "socket:[1]", "pipe:[1]", "anon_inode:[eventpoll]".
bool is_pseudo_link(std::string_view link) {
  return link.starts_with("socket:[") || link.starts_with("pipe:[") || link.starts_with("anon_inode:");
}

// An O_PATH descriptor holds no reference to the module.
Result<bool> is_path_only(const ProcessDir& process, const std::string& fd) {
  const std::optional<std::string> text = TRY(process.read("fdinfo/" + fd, kFdinfoLimit));
  if (!text) return false;
  for (const std::string_view line : lines_of(*text).value_or(std::vector<std::string_view>{})) {
    const std::vector<std::string_view> fields = fields_of(line);
    if (fields.size() != 2 || fields[0] != "flags:") continue;
    const auto flags = parse_number<unsigned>(fields[1], 8);
    return flags && (*flags & kPathOnly) != 0;
  }
  return false;
}

}  // namespace

std::optional<Mapping> parse_mapping(std::string_view line) {
  std::string_view rest = line;
  const std::string_view range = take_until(rest, ' ');
  const std::string_view permissions = take_until(rest, ' ');
  const std::string_view offset = take_until(rest, ' ');
  const std::optional<DeviceNumber> file_system = parse_device_number(take_until(rest, ' '), 16);
  const auto inode = parse_number<uint64_t>(take_until(rest, ' '));
  if (!is_range(range) || permissions.size() != 4 || !parse_number<uint64_t>(offset, 16)) return std::nullopt;
  if (!file_system || !inode) return std::nullopt;
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  return Mapping{.range = std::string(range), .file = {*file_system, *inode}, .path = std::string(rest)};
}

bool is_onload_link(std::string_view link) { return link.starts_with(kLinkPrefix); }

std::optional<uint32_t> parse_stack_link(std::string_view link) {
  if (!is_onload_link(link) || !link.ends_with(']')) return std::nullopt;
  link.remove_prefix(kLinkPrefix.size());
  link.remove_suffix(1);
  const size_t colon = link.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::string_view rest = link.substr(colon + 1);
  return parse_number<uint32_t>(rest.substr(0, rest.find(':')));
}

bool is_library(std::string_view path) {
  const std::string_view name = name_in(path);
  return name.starts_with("libonload.so") || name.starts_with("libcitransport0.so");
}

Result<std::optional<HandleKind>> HandleScanner::kind_of_file(const ProcessDir& process, const std::string& fd,
                                                              OpenHandles& handles) {
  const std::string file = "fd/" + fd;
  const std::optional<std::string> link = TRY(process.link(file));
  if (!link || is_pseudo_link(*link)) return std::nullopt;
  if (is_onload_link(*link)) {
    if (const std::optional<uint32_t> stack = parse_stack_link(*link)) handles.stacks.insert(*stack);
    return HandleKind::Socket;
  }
  const std::optional<LinkTarget> target = TRY(process.target(file));
  if (!target || !target->character_device) return std::nullopt;
  const HandleKind* device = find_in(devices_, *target->character_device);
  if (device == nullptr) return std::nullopt;
  const bool path_only = TRY(is_path_only(process, fd));
  if (path_only) return std::nullopt;
  return *device;
}

Result<void> HandleScanner::scan_files(const ProcessDir& process, pid_t pid, OpenHandles& handles) {
  const std::vector<std::string> fds = TRY(process.list("fd", files_left_));
  files_left_ -= fds.size();
  for (const std::string& fd : fds) {
    const std::optional<HandleKind> kind = TRY(kind_of_file(process, fd, handles));
    if (!kind) continue;
    const std::optional<int> number = parse_number<int>(fd);
    if (!number) return unexpected("the open files of a process", std::to_string(pid), fd);
    handles.files.push_back({.pid = pid, .fd = *number, .kind = *kind});
  }
  return {};
}

Result<std::optional<HandleKind>> HandleScanner::kind_of_mapping(const ProcessDir& process, const Mapping& mapping) {
  constexpr size_t kFileLimit = 16384;
  constexpr size_t kNameLimit = 512;
  if (mapping.file.inode == 0) return std::nullopt;
  if (is_onload_link(mapping.path)) return HandleKind::Socket;
  const std::pair key(mapping.file, mapping.path);
  if (other_files_.contains(key)) return std::nullopt;
  const std::optional<LinkTarget> target = TRY(process.target("map_files/" + mapping.range));
  // The mapping changed meanwhile, or belongs to a thread, which has no map_files.
  const HandleKind* kind = !target                    ? find_in(known_.nodes, mapping.file)
                           : target->character_device ? find_in(devices_, *target->character_device)
                                                      : nullptr;
  if (kind) return *kind;
  if (target && other_files_.size() < kFileLimit && mapping.path.size() <= kNameLimit) other_files_.insert(key);
  return std::nullopt;
}

Result<bool> HandleScanner::is_root_library(const ProcessDir& process, const Mapping& mapping) const {
  if (mapping.file.inode == 0 || !is_library(mapping.path)) return false;
  if (known_.library == mapping.file) return true;
  const std::optional<LinkTarget> target = TRY(process.target("map_files/" + mapping.range));
  return target && target->owner == uid_t{0};
}

Result<void> HandleScanner::scan_mapping(const ProcessDir& process, Mapping mapping, OpenHandles& handles) {
  const std::optional<HandleKind> kind = TRY(kind_of_mapping(process, mapping));
  if (kind) handles.mapped.insert(*kind);
  if (handles.library) return {};
  const bool deleted = mapping.path.ends_with(kDeleted);
  if (deleted) mapping.path.resize(mapping.path.size() - kDeleted.size());
  const bool is_ours = TRY(is_root_library(process, mapping));
  if (is_ours) handles.library = Library{mapping.path, deleted, mapping.file};
  return {};
}

Result<OpenHandles> HandleScanner::scan(const ProcessDir& process, pid_t pid) {
  OpenHandles handles;
  TRY(scan_files(process, pid, handles));
  TRY(process.each_line("maps", [&](std::string_view line) -> Result<void> {
    std::optional<Mapping> mapping = parse_mapping(line);
    if (!mapping) return unexpected("the mappings of a process", "maps", line);
    return scan_mapping(process, *std::move(mapping), handles);
  }));
  return handles;
}

}  // namespace nrd::onload
