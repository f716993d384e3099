#include "control.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

namespace nrd::simnode {
namespace {

using Words = std::vector<std::string>;

constexpr std::array kErrors = {
    std::pair{"E2BIG", E2BIG},   std::pair{"EACCES", EACCES}, std::pair{"EAGAIN", EAGAIN}, std::pair{"EBUSY", EBUSY},
    std::pair{"EEXIST", EEXIST}, std::pair{"EINTR", EINTR},   std::pair{"EINVAL", EINVAL}, std::pair{"EIO", EIO},
    std::pair{"ENODEV", ENODEV}, std::pair{"ENOENT", ENOENT}, std::pair{"ENOMEM", ENOMEM}, std::pair{"ENOSPC", ENOSPC},
    std::pair{"EPERM", EPERM},   std::pair{"EROFS", EROFS},   std::pair{"ENXIO", ENXIO},   std::pair{"ESRCH", ESRCH}};

std::optional<int> errno_named(const std::string& name) {
  for (const auto& [known, error] : kErrors) {
    if (name == known) return error;
  }
  return std::nullopt;
}

Words words_of(std::string_view text) {
  Words words;
  std::optional<std::string_view> rest = trimmed(text);
  while (const auto word = cut(rest, ' ')) {
    if (!word->empty()) words.emplace_back(*word);
  }
  return words;
}

std::string json_string(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    char escaped[8];
    const bool plain = static_cast<unsigned char>(c) >= 0x20 && c != '"' && c != '\\';
    std::snprintf(escaped, sizeof escaped, plain ? "%c" : "\\u%04x", plain ? c : static_cast<unsigned char>(c));
    quoted += escaped;
  }
  return quoted + "\"";
}

template <typename Items, typename Format>
std::string json_joined(const char* open, const Items& items, const char* close, Format format) {
  std::string text;
  for (const auto& item : items) text += (text.empty() ? "" : ", ") + format(item);
  return open + text + close;
}

// The masks of the last level are "L3" and "code" whatever its number, those of the second beside it "L2" and
// "l2_code".
std::string json_masks(const Machine& machine, const Group& group) {
  if (const auto& region = group.region) {
    char text[64];
    std::snprintf(text, sizeof text, ", \"L%d\": {\"%d\": \"%lx\"}", region->level, region->cache, region->ways);
    return text;
  }
  const auto ways = [](const auto& setting) {
    char text[48];
    std::snprintf(text, sizeof text, "\"%d\": \"%lx\"", setting.first, setting.second);
    return std::string(text);
  };
  std::string text;
  for (const auto& [level, masks] : group.masks) {
    const bool is_last = level == machine.last_level().number;
    text += json_joined(is_last ? ", \"L3\": {" : ", \"L2\": {", masks.ways, "}", ways);
    if (!masks.code.empty()) text += json_joined(is_last ? ", \"code\": {" : ", \"l2_code\": {", masks.code, "}", ways);
  }
  return text;
}

std::string json_group(const Node& node, const std::string& name, const Group& group) {
  const auto share = [](const auto& setting) {
    return "\"" + std::to_string(setting.first) + "\": \"" + std::to_string(setting.second) + "\"";
  };
  const auto tasks = name.empty() ? std::set<pid_t>{} : node.resctrl().tasks_of(name);
  return json_string(name.empty() ? "/" : name) + ": {\"closid\": " + std::to_string(group.closid) +
         ", \"mode\": " + json_string(mode_name(group.mode)) + json_masks(node.machine(), group) +
         ", \"MB\": " + json_joined("{", group.bandwidth, "}", share) +
         ", \"cpus\": " + json_string(list_of(group.cpus)) +
         ", \"tasks\": " + json_joined("[", tasks, "]", [](pid_t task) { return std::to_string(task); }) + "}";
}

std::string dump(const Node& node) {
  return json_joined("ok {", node.resctrl().groups(), "}",
                     [&node](const auto& group) { return json_group(node, group.first, group.second); });
}

std::string json_policy(const Cpufreq& cpufreq, const Policy& policy) {
  return "\"min\": " + std::to_string(cpufreq.min(policy)) + ", \"max\": " + std::to_string(cpufreq.max(policy)) +
         ", \"governor\": " + json_string(policy.governor) +
         (cpufreq.driver()->epp ? ", \"epp\": " + json_string(cpufreq.epp(policy)) : "");
}

std::string json_register(std::uint32_t number, std::uint64_t value) {
  char text[64];
  std::snprintf(text, sizeof text, "\"0x%x\": %llu", number, static_cast<unsigned long long>(value));
  return text;
}

std::string json_frequency(const Node& node, int cpu) {
  const Policy* policy = node.cpufreq().policy_of(cpu);
  std::string text = policy == nullptr ? "" : json_policy(node.cpufreq(), *policy);
  if (const auto registers = node.msr().readable(cpu); !registers.empty()) {
    const auto each = [](const auto& entry) { return json_register(entry.first, entry.second); };
    text += (text.empty() ? "" : ", ") + json_joined("\"msr\": {", registers, "}", each);
  }
  return json_string(std::to_string(cpu)) + ": {" + text + "}";
}

std::string frequencies(const Node& node) {
  return json_joined("ok {", node.machine().online(), "}", [&node](int cpu) { return json_frequency(node, cpu); });
}

std::string done(int error) { return error == 0 ? "ok" : std::string("error ") + std::strerror(error); }

std::string not_understood(const Words& words) {
  return "error not understood: \"" + (words.empty() ? "" : words[0]) + "\" with " +
         std::to_string(words.empty() ? 0 : words.size() - 1) + " arguments; see control.h";
}

std::optional<Fault> parse_fault(const Words& words) {
  const std::string& kind = words[3];
  if (words.size() == 4) {
    if (kind == "lie") return Fault{Fault::Kind::Lie, 0, {}};
    if (kind == "kill-before") return Fault{Fault::Kind::KillBefore, 0, {}};
    if (kind == "kill-after") return Fault{Fault::Kind::KillAfter, 0, {}};
  }
  if (words.size() != 5) return std::nullopt;
  if (kind == "errno") {
    const auto error = errno_named(words[4]);
    return error ? std::optional(Fault{Fault::Kind::Errno, *error, {}}) : std::nullopt;
  }
  const auto milliseconds = parse_number(words[4]);
  if (kind != "delay" || !milliseconds || *milliseconds < 0) return std::nullopt;
  return Fault{Fault::Kind::Delay, 0, std::chrono::milliseconds(*milliseconds)};
}

std::string plant_fault(Node& node, const Words& words) {
  if (words.size() < 4) return not_understood(words);
  Faults& faults = node.faults();
  if (words[1] == "read") {
    const auto error = words.size() == 5 && words[3] == "errno" ? errno_named(words[4]) : std::nullopt;
    if (!error) return not_understood(words);
    // A fault that can never happen would make a test that cannot fail.
    if (words[2].starts_with("/") && !node.has_hardware_file(words[2])) return "error no such file: " + words[2];
    faults.fail_read(words[2], *error);
    return "ok";
  }
  const auto nth = parse_number(words[2]);
  const auto fault = parse_fault(words);
  if (words[1] != "write" || !nth || *nth < 1 || !fault) return not_understood(words);
  faults.fail_write(*nth, *fault);
  return "ok";
}

std::string hotplug(Node& node, const Words& words) {
  const auto cpu = parse_number(words[1]);
  return cpu ? done(node.set_online(static_cast<int>(*cpu), words[0] == "online")) : not_understood(words);
}

std::string use(Node& node, const Words& words) {
  const auto cache = words.size() == 5 ? parse_number(words[2]) : std::nullopt;
  if (!cache) return not_understood(words);
  const std::string group = words[1] == "/" ? "" : words[1].substr(words[1].starts_with("/") ? 1 : 0);
  const bool moved = node.monitoring().move(group, static_cast<int>(*cache), words[3], words[4]);
  return moved ? "ok" : "error no such group, cache or counter, or no number: " + words[1] + " " + words[3];
}

std::string act_on_one(Node& node, const Words& words) {
  if (words[0] == "vanish") return done(node.vanish(words[1]));
  if (words[0] == "offline" || words[0] == "online") return hotplug(node, words);
  if (words[0] == "remount" && (words[1] == "percent" || words[1] == "mbps" || words[1] == "cdp")) {
    node.remount(words[1] == "mbps" ? MbUnit::Mbps : MbUnit::Percent, words[1] == "cdp");
    return "ok";
  }
  return not_understood(words);
}

}  // namespace

std::string answer_control(Node& node, pid_t command, std::string_view request) {
  const Words words = words_of(request);
  if (words.empty()) return not_understood(words);
  if (words[0] == "fault") return plant_fault(node, words);
  if (words[0] == "use") return use(node, words);
  if (words.size() == 2) return act_on_one(node, words);
  if (words.size() > 2) return not_understood(words);
  if (words[0] == "pid") return "ok pid=" + std::to_string(command);
  if (words[0] == "count") return "ok writes=" + std::to_string(node.faults().writes());
  if (words[0] == "log") return json_joined("ok [", node.faults().log(), "]", json_string);
  if (words[0] == "dump") return dump(node);
  if (words[0] == "freq") return frequencies(node);
  if (words[0] == "reset") {
    node.faults().reset();
    return "ok";
  }
  if (words[0] == "wipe") {
    node.reboot();
    return "ok";
  }
  return not_understood(words);
}

}  // namespace nrd::simnode
