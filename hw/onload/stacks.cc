#include "hw/onload/stacks.h"

#include <algorithm>

#include "base/file.h"
#include "base/number.h"
#include "hw/onload/kernel_file.h"

namespace nrd::onload {
namespace {

constexpr size_t kStacksLimit = size_t{16} << 20;  // 65,536 lines with every counter at its longest

std::string path_of(const std::string& root, const char* file) { return root + "/proc/driver/onload/" + file; }

// The module prints it as a signed number: -2 is 4294967294.
std::optional<uid_t> parse_uid(std::string_view text) {
  const auto number = parse_number<int64_t>(text);
  if (!number || *number < INT32_MIN || *number > UINT32_MAX) return std::nullopt;
  return static_cast<uid_t>(*number);
}

std::optional<Stack> parse_stack(std::string_view line, bool orphan) {
  const std::vector<std::string_view> fields = fields_of(line);
  if (fields.size() < 3 || !fields[0].ends_with(':')) return std::nullopt;
  const auto id = parse_number<uint32_t>(fields[0].substr(0, fields[0].size() - 1));
  const auto creator = parse_number<pid_t>(fields[1]);
  const auto uid = parse_uid(fields[2]);
  if (!id || !creator || *creator < 0 || !uid) return std::nullopt;
  for (size_t i = 3; i < fields.size(); ++i) {
    if (!parse_number<uint64_t>(fields[i])) return std::nullopt;
  }
  return Stack{.id = *id, .creator = *creator, .uid = *uid, .orphan = orphan};
}

Result<std::vector<Stack>> read_list(const std::string& path, bool orphans) {
  const auto parse = [orphans](std::string_view text) { return parse_stacks(text, orphans); };
  return TRY(read_parsed(path, kStacksLimit, "Onload's list of stacks", parse)).value_or(std::vector<Stack>{});
}

}  // namespace

std::optional<InterfaceVersion> parse_interface_version(std::string_view text) {
  const std::optional<std::vector<std::string_view>> lines = lines_of(text);
  if (!lines) return std::nullopt;
  InterfaceVersion version;
  for (const std::string_view line : *lines) {
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) return std::nullopt;
    const std::string_view key = line.substr(0, colon);
    const std::string value(trimmed(line.substr(colon + 1)));
    // Ignore keys of later releases.
    if (key == "onload_product") version.product = value;
    if (key == "onload_version") version.version = value;
    if (key == "uk_intf_ver") version.user_kernel = value;
  }
  if (version.product.empty() || version.version.empty() || version.user_kernel.empty()) return std::nullopt;
  return version;
}

std::optional<std::vector<Stack>> parse_stacks(std::string_view text, bool orphans) {
  const std::optional<std::vector<std::string_view>> lines = lines_of(text);
  if (!lines) return std::nullopt;
  std::vector<Stack> stacks;
  for (const std::string_view line : *lines) {
    const std::optional<Stack> stack = parse_stack(line, orphans);
    if (!stack) return std::nullopt;
    stacks.push_back(*stack);
  }
  return stacks;
}

Result<std::optional<InterfaceVersion>> read_interface_version(const std::string& root) {
  return read_parsed(path_of(root, "version"), kLineLimit, "Onload's version", parse_interface_version);
}

Result<std::vector<Stack>> read_stacks(const std::string& root) {
  // In this order a stack that is orphaned meanwhile is in both lists (the first one counts), never in none.
  Result<std::vector<Stack>> stacks = read_list(path_of(root, "stacks_ul"), false);
  if (!stacks) return stacks;
  const Result<std::vector<Stack>> orphans = read_list(path_of(root, "stacks_k"), true);
  if (!orphans) return orphans;
  stacks->insert(stacks->end(), orphans->begin(), orphans->end());
  std::ranges::stable_sort(*stacks, {}, &Stack::id);
  const auto duplicates = std::ranges::unique(*stacks, {}, &Stack::id);
  stacks->erase(duplicates.begin(), duplicates.end());
  return stacks;
}

}  // namespace nrd::onload
