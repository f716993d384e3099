#include "hw/rdt/resctrl.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/errno_text.h"
#include "base/file.h"
#include "base/number.h"
#include "base/split.h"
#include "base/unique_fd.h"
#include "hw/rdt/capabilities.h"
#include "hw/rdt/locks.h"

namespace nrd::rdt {
namespace {

Failure unexpected(const std::string& path, std::string_view text) {
  return fail(ErrorCode::Hardware, "unexpected content in a resctrl file",
              fmt::format("{}: \"{}\"", path, text.substr(0, 80)));
}

std::string path_of(const std::string& directory, const char* file) { return kResctrl + directory + "/" + file; }

// Of a file of the group. nullopt: the group does not exist.
template <typename T>
Result<std::optional<T>> parsed(const std::string& directory, Result<std::optional<std::string>> read,
                                Result<T> (*parse)(std::string_view)) {
  const std::optional<std::string> text = TRY(std::move(read));
  if (!text) return std::nullopt;
  return parse(*text).map([](T value) { return std::optional(std::move(value)); }).map_error([&directory](Error error) {
    error.detail = kResctrl + directory + "/" + error.detail;
    return error;
  });
}

// The line of one resource, without its name and padding: at the start, after a line end, or after the
// kernel's padding. nullopt: there is none.
std::optional<std::string_view> find_line(std::string_view schemata, std::string_view name) {
  for (size_t at = schemata.find(name); at != std::string_view::npos; at = schemata.find(name, at + 1)) {
    if (at != 0 && schemata[at - 1] != ' ' && schemata[at - 1] != '\n') continue;
    const std::string_view line = schemata.substr(at + name.size());
    return trimmed(line.substr(0, line.find('\n')));
  }
  return std::nullopt;
}

// "0=7ff;1=7ff". nullopt: not such a list.
std::optional<std::map<CacheId, uint32_t>> parse_values(unsigned level, std::string_view rest, int base) {
  std::map<CacheId, uint32_t> values;
  for (;;) {
    const std::string_view item = rest.substr(0, rest.find(';'));
    const size_t equals = item.find('=');
    if (equals == std::string_view::npos) return std::nullopt;
    const auto cache = parse_number<uint32_t>(trimmed(item.substr(0, equals)));
    const auto value = parse_number<uint32_t>(trimmed(item.substr(equals + 1)), base);
    if (!cache || !value || !values.emplace(CacheId{level, *cache}, *value).second) return std::nullopt;
    if (item.size() == rest.size()) return values;
    rest.remove_prefix(item.size() + 1);
  }
}

}  // namespace

std::string why_no_cat() {
  const std::string known = read_file("/proc/filesystems").value_or(std::nullopt).value_or("");
  if (std::ranges::count(split(known, " \t\n"), std::string_view("resctrl")) == 0) {
    return "L3 CAT: the kernel has no resctrl file system; it needs CONFIG_X86_CPU_RESCTRL and a CPU with RDT";
  }
  const Capabilities flags = read_flags().value_or(Capabilities());
  if (!flags.l3_cat && !flags.l2_cat) {
    return "L3 CAT: the CPU has none (no cat_l3 or cat_l2 in /proc/cpuinfo)";
  }
  return "L3 CAT: resctrl has no info/L3; check the kernel command line for rdt=!l3cat";
}

namespace {

Result<std::map<CacheId, WayMask>> parse_line(unsigned level, std::string_view line) {
  const auto masks = parse_values(level, line, 16);
  if (!masks) return unexpected("schemata", line);
  std::map<CacheId, WayMask> ways;
  for (const auto& [cache, mask] : *masks) ways.emplace(cache, WayMask(mask));
  return ways;
}

Result<void> add_cdp(unsigned level, std::string_view code_line, std::string_view data_line, Masks& masks) {
  const std::map<CacheId, WayMask> code = TRY(parse_line(level, code_line));
  const std::map<CacheId, WayMask> data = TRY(parse_line(level, data_line));
  for (const auto& [cache, ways] : code) {
    const WayMask* of_data = find_in(data, cache);
    if (of_data == nullptr || code.size() != data.size()) return unexpected("schemata", data_line);
    masks.ways.emplace(cache, ways | *of_data);
    if (ways != *of_data) masks.split.emplace(cache, Split{.code = ways, .data = *of_data});
  }
  return {};
}

}  // namespace

Result<Masks> parse_masks(std::string_view schemata) {
  if (!schemata.ends_with('\n')) return unexpected("schemata", schemata);
  Masks masks;
  for (const unsigned level : {3U, 2U}) {
    const std::string name = fmt::format("L{}", level);
    const auto code = find_line(schemata, name + "CODE:");
    const auto data = find_line(schemata, name + "DATA:");
    if (const auto line = find_line(schemata, name + ":")) {
      std::map<CacheId, WayMask> ways = TRY(parse_line(level, *line));
      masks.ways.merge(ways);
    } else if (code && data) {
      TRY(add_cdp(level, *code, *data, masks));
    }
  }
  if (masks.ways.empty()) return unexpected("schemata", schemata);
  return masks;
}

Result<std::map<CacheId, uint32_t>> parse_mb(std::string_view schemata) {
  const std::optional<std::string_view> line = find_line(schemata, "MB:");
  if (!line) return std::map<CacheId, uint32_t>();
  auto limits = schemata.ends_with('\n') ? parse_values(3, *line, 10) : std::nullopt;
  if (!limits) return unexpected("schemata", "MB:" + std::string(*line));
  for (auto& [cache, limit] : *limits) limit = std::min(limit, kUnlimitedMbps);
  return *std::move(limits);
}

Result<CpuSet> parse_cpus(std::string_view cpus_list) {
  if (!cpus_list.ends_with('\n')) return unexpected("cpus_list", cpus_list);
  const std::string_view list = trimmed(cpus_list);
  if (list.empty()) return CpuSet{};
  Result<CpuSet> cpus = CpuSet::parse(list);
  if (!cpus) return unexpected("cpus_list", cpus_list);
  return cpus;
}

Result<std::vector<pid_t>> parse_tasks(std::string_view tasks) {
  if (!tasks.empty() && !tasks.ends_with('\n')) return unexpected("tasks", tasks.substr(tasks.rfind('\n') + 1));
  std::vector<pid_t> found;
  while (!tasks.empty()) {
    const std::string_view line = take_until(tasks, '\n');
    const auto number = parse_number<pid_t>(line);
    if (!number) return unexpected("tasks", line);
    found.push_back(*number);
  }
  std::ranges::sort(found);
  return found;
}

Result<std::optional<Cat>> parse_cat_info(const std::string& folder, const std::optional<std::string>& cbm_mask,
                                          const std::optional<std::string>& min_cbm_bits,
                                          const std::optional<std::string>& shareable_bits) {
  const auto cbm = TRY(parse_info(folder + "/cbm_mask", cbm_mask, 16));
  const auto min_ways = TRY(parse_info(folder + "/min_cbm_bits", min_cbm_bits));
  const auto shareable = TRY(parse_info(folder + "/shareable_bits", shareable_bits, 16));
  if (!cbm || !min_ways) return std::nullopt;
  return Cat{.classes = 0,
             .ways = WayMask(*cbm).count(),
             .min_ways = std::max(*min_ways, 1U),
             .shareable = WayMask(shareable.value_or(0))};
}

bool is_mounted() { return has_info(""); }

std::string info_path(const std::string& file) { return std::string(kResctrl) + "/info/" + file; }

bool has_info(const std::string& file) { return ::access(info_path(file).c_str(), F_OK) == 0; }

Result<std::optional<uint32_t>> parse_info(const std::string& file, const std::optional<std::string>& text, int base) {
  if (!text) return std::nullopt;
  const std::optional<uint32_t> value = parse_number<uint32_t>(trimmed(*text), base);
  if (!value || !text->ends_with('\n')) return unexpected(info_path(file), *text);
  return value;
}

namespace {

// A resource that the mount allocates: a directory below info.
struct Allocated {
  const char* folder;
  unsigned level;
  bool cdp;
};
constexpr std::array kAllocated = {Allocated{"L3", 3, false}, Allocated{"L3CODE", 3, true}, Allocated{"L2", 2, false},
                                   Allocated{"L2CODE", 2, true}};

// The first of these levels.
const Allocated* find_allocated(std::initializer_list<unsigned> levels) {
  for (const unsigned level : levels) {
    for (const Allocated& allocated : kAllocated) {
      if (allocated.level == level && has_info(allocated.folder)) return &allocated;
    }
  }
  return nullptr;
}

Result<std::optional<Cat>> read_cat_info(const Allocated& allocated) {
  const std::string folder = std::string("/info/") + allocated.folder;
  std::vector<std::optional<std::string>> texts;
  for (const char* file : {"cbm_mask", "min_cbm_bits", "shareable_bits"}) {
    std::optional<std::string> text = TRY(read_file(path_of(folder, file)));
    texts.push_back(std::move(text));
  }
  Result<std::optional<Cat>> cat = parse_cat_info(allocated.folder, texts[0], texts[1], texts[2]);
  if (!cat || !*cat) return cat;
  (*cat)->cdp = allocated.cdp;
  const std::optional<std::string> sparse_masks = TRY(read_file(path_of(folder, "sparse_masks")));
  (*cat)->sparse_masks = sparse_masks && trimmed(*sparse_masks) == "1";
  return cat;
}

}  // namespace

unsigned read_level(const Capabilities& flags) {
  if (const Allocated* allocated = find_allocated({3, 2})) return allocated->level;
  return flags.l2_cat && !flags.l3_cat ? 2 : 3;
}

Result<std::optional<Cat>> read_cat_info(unsigned level) {
  const Allocated* allocated = find_allocated({level});
  return allocated == nullptr ? std::optional<Cat>() : read_cat_info(*allocated);
}

Result<std::map<CacheId, WayMask>> parse_io_alloc(const std::optional<std::string>& io_alloc,
                                                  const std::optional<std::string>& io_alloc_cbm) {
  if (!io_alloc || trimmed(*io_alloc) != "enabled" || !io_alloc_cbm) return std::map<CacheId, WayMask>();
  if (!io_alloc_cbm->ends_with('\n')) return unexpected("io_alloc_cbm", *io_alloc_cbm);
  return parse_line(3, trimmed(*io_alloc_cbm));
}

Result<std::map<CacheId, WayMask>> read_io_ways() {
  const Allocated* l3 = find_allocated({3});
  if (l3 == nullptr) return std::map<CacheId, WayMask>();
  const std::string folder = std::string("/info/") + l3->folder;
  const std::optional<std::string> state = TRY(read_file(path_of(folder, "io_alloc")));
  const Result<std::optional<std::string>> masks = read_file(path_of(folder, "io_alloc_cbm"));
  return parse_io_alloc(state, masks.value_or(std::nullopt));
}

Result<unsigned> read_classes() {
  std::optional<uint32_t> least;
  for (const char* folder : {"L3", "L3CODE", "L3DATA", "L2", "L2CODE", "L2DATA", "MB"}) {
    const std::string name = folder + std::string("/num_closids");
    const std::optional<std::string> text = TRY(read_file(path_of("/info", name.c_str())));
    const std::optional<uint32_t> classes = TRY(parse_info(name, text));
    if (classes) least = std::min(least.value_or(*classes), *classes);
  }
  if (!least) return fail(ErrorCode::Hardware, "cannot read the number of classes of service from resctrl");
  return *least;
}

Result<std::optional<Masks>> read_masks(const std::string& directory) {
  return parsed(directory, read_file(path_of(directory, "schemata")), parse_masks);
}

Result<std::optional<CpuSet>> read_cpus(const std::string& directory) {
  return parsed(directory, read_one_line(path_of(directory, "cpus_list")), parse_cpus);
}

Result<std::optional<std::vector<pid_t>>> read_tasks(const std::string& directory) {
  constexpr size_t kLimit = size_t{64} << 20;  // of 4,194,304 tasks, which is all that a kernel has (PID_MAX_LIMIT)
  return parsed(directory, read_file(path_of(directory, "tasks"), kLimit), parse_tasks);
}

Result<std::optional<std::map<CacheId, uint32_t>>> read_limits(const std::string& directory) {
  return parsed(directory, read_file(path_of(directory, "schemata")), parse_mb);
}

Result<void> add_cpus(const std::string& directory, const CpuSet& cpus) {
  const UniqueFd lock = TRY(lock_tree());
  const std::optional<CpuSet> members = TRY(read_cpus(directory));
  return write_line(directory, "cpus_list", (members.value_or(CpuSet{}) | cpus).to_string() + "\n");
}

Result<void> write_line(const std::string& directory, const char* file, const std::string& lines) {
  const std::string path = path_of(directory, file);
  const tl::expected<void, int> written = write_value(path, lines);
  if (written) return {};
  return fail(ErrorCode::Hardware, "the kernel rejected a change to a class of service",
              fmt::format("{} {}: {}", path, lines.substr(0, lines.size() - 1), errno_text(written.error())));
}

Result<bool> write_task(const std::string& directory, pid_t thread) {
  const std::string path = path_of(directory, "tasks");
  const tl::expected<void, int> written = write_value(path, fmt::format("{}\n", thread));
  if (written) return true;
  if (written.error() == ESRCH) return false;
  return fail(ErrorCode::Hardware, "the kernel rejected moving a task",
              fmt::format("{} {}: {}", path, thread, errno_text(written.error())));
}

std::string last_cmd_status() {
  const Result<std::optional<std::string>> text = read_file(path_of("/info", "last_cmd_status"));
  if (!text || !*text || trimmed(**text) == "ok") return {};
  return std::string(trimmed(**text));
}

Error refused_write(Error error, std::string message) {
  error.message = std::move(message);
  if (const std::string refusal = last_cmd_status(); !refusal.empty()) error.detail += "; kernel: " + refusal;
  return error;
}

}  // namespace nrd::rdt
