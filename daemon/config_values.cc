#include "daemon/config_values.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "api/auth/access.h"
#include "base/number.h"
#include "base/split.h"
#include "daemon/config.h"
#include "engine/model/node_config.h"
#include "engine/model/workload_fields.h"
#include "hw/rdt/types.h"

namespace nrd::daemon {
using json::Value;

std::string text_in(const Value& value) {
  const std::string* text = value.as_string();
  return text == nullptr ? std::string() : *text;
}

Value number(uint64_t value) { return Value::number(std::to_string(value)); }

Value number(const std::optional<unsigned>& value) { return value ? number(uint64_t{*value}) : Value::null(); }

namespace {

constexpr size_t kMostNames = 64;
constexpr size_t kAnyNumber = std::numeric_limits<size_t>::max();

template <typename Number>
ValueType<Number> whole_number(int64_t least, int64_t most) {
  const std::string range = fmt::format("expected a whole number from {} to {}", least, most);
  return {.parse = [=](const Value& value, Number& target) -> Problem {
            const auto found = value.literal() ? parse_number<int64_t>(*value.literal()) : std::nullopt;
            if (!found) return range;
            if (*found < least || *found > most) return fmt::format("{}, not {}", range, *found);
            target = static_cast<Number>(*found);
            return {};
          },
          .show = [](const Number& value) { return number(value); }};
}

// A list of strings that each pass the check. Entries of other types count as empty strings.
template <typename Test>
ValueType<std::vector<std::string>> texts(const char* expected, size_t most, Test is_good) {
  return {.parse = [=](const Value& value, std::vector<std::string>& target) -> Problem {
            if (value.kind() != Value::Kind::Array || value.items().size() > most) return expected;
            std::vector<std::string> found;
            for (const Value& item : value.items()) {
              found.push_back(text_in(item));
              if (!is_good(found.back())) return expected;
            }
            target = std::move(found);
            return {};
          },
          .show = [](const std::vector<std::string>& texts) { return array_of(texts, Value::string); }};
}

// Without repeated slashes and without one at the end, as the kernel reports the files in use below it.
std::string plain_path(std::string_view path) { return "/" + joined(split(path, "/"), "/"); }

ValueType<std::vector<std::string>> accounts() {
  return texts("expected a list of at most 64 users and @groups, such as [\"root\", \"@nrd\"]", kMostNames,
               [](const std::string& name) { return !name.empty() && name != "@"; });
}

// Not the names that nrd itself gives, which are in capitals.
Problem read_origin(const Value& value, std::string& target) {
  constexpr size_t kLongest = 32;
  const std::string name = text_in(value);
  const bool is_plain =
      std::ranges::all_of(name, [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; });
  if (name.empty() || name.size() > kLongest || !is_plain)
    return "expected 1 to 32 lower-case letters, digits and hyphens, such as \"kubernetes\"";
  target = name;
  return {};
}

Problem read_allow(const Value& value, std::optional<auth::Permissions>& target) {
  const std::string expected = "expected a list of " + auth::all_permissions();
  if (value.kind() != Value::Kind::Array || value.items().empty()) return expected;
  auth::Permissions allowed;
  for (const Value& item : value.items()) {
    const auto permission = json::parse_name<auth::Permission>(text_in(item));
    if (!permission || !allowed.insert(*permission).second) return expected;
  }
  target = std::move(allowed);
  return {};
}

Value shown_origin(const std::string& origin) { return origin == kOriginRest ? Value::null() : Value::string(origin); }

Value shown_allow(const std::optional<auth::Permissions>& allowed) {
  if (!allowed) return Value::null();
  return array_of(*allowed, [](auth::Permission each) { return Value::string(std::string(json::name_of(each))); });
}

const std::vector<TableKey<LocalSocket>>& socket_keys() {
  static const std::vector<TableKey<LocalSocket>> kKeys{
      table_key("path", absolute_path(), &LocalSocket::path).required(),
      table_key("name", text(), &LocalSocket::name),
      table_key("admin", accounts(), &LocalSocket::admin),
      table_key("user", accounts(), &LocalSocket::user),
      table_key("run", accounts(), &LocalSocket::run),
      table_key("origin", {read_origin, shown_origin}, &LocalSocket::origin),
      table_key("allow", {read_allow, shown_allow}, &LocalSocket::allow)};
  return kKeys;
}

Problem read_local_sockets(const Value& value, std::vector<LocalSocket>& target) {
  constexpr size_t kMost = 16;
  constexpr const char* kExpected = "expected 1 to 16 sections [[server.sockets]]";
  if (value.items().empty() || value.items().size() > kMost) return kExpected;
  std::vector<LocalSocket> found;
  for (const Value& item : value.items()) {
    if (!item.is_object()) return kExpected;
    LocalSocket& socket = found.emplace_back();
    socket = {.path = {}, .name = {}, .admin = {}, .user = {}, .run = {}};
    if (const Problem problem = read_table(item, socket_keys(), socket); !problem.empty()) return problem;
    const std::string& path = socket.path;
    if (std::ranges::count(found, path, &LocalSocket::path) > 1) return "path: duplicate " + path;
  }
  target = std::move(found);
  return {};
}

}  // namespace

ValueType<bool> boolean() {
  return {.parse = [](const Value& value, bool& target) -> Problem {
            if (!value.as_bool()) return "expected true or false";
            target = *value.as_bool();
            return {};
          },
          .show = [](const bool& value) { return Value::boolean(value); }};
}

ValueType<uint16_t> port() { return whole_number<uint16_t>(1, 65535); }

ValueType<unsigned> count(unsigned most) { return whole_number<unsigned>(0, most); }

ValueType<size_t> limit(size_t most) { return whole_number<size_t>(0, static_cast<int64_t>(most)); }

ValueType<std::optional<unsigned>> optional_count(unsigned least, unsigned most) {
  return whole_number<std::optional<unsigned>>(least, most);
}

ValueType<std::chrono::seconds> interval(int64_t least, int64_t most) {
  return whole_number<std::chrono::seconds>(least, most);
}

ValueType<std::chrono::milliseconds> milliseconds(int64_t least, int64_t most) {
  return whole_number<std::chrono::milliseconds>(least, most);
}

ValueType<CpuSet> cpu_list() {
  return {.parse = [](const Value& value, CpuSet& target) -> Problem {
            const std::string list = value.as_string() ? *value.as_string() : "?";
            const Result<CpuSet> cpus = list.empty() ? CpuSet() : CpuSet::parse(list);
            if (!cpus) return "expected a list of CPUs in quotes, such as \"0-1,8\"";
            target = *cpus;
            return {};
          },
          .show = [](const CpuSet& cpus) { return Value::string(cpus.to_string()); }};
}

ValueType<std::string> text() {
  return text_that("expected text in quotes", [](const std::string&) { return true; });
}

ValueType<std::string> absolute_path() {
  return {.parse = [](const Value& value, std::string& target) -> Problem {
            if (!text_in(value).starts_with('/')) return "expected an absolute path in quotes";
            target = plain_path(text_in(value));
            return {};
          },
          .show = [](const std::string& path) { return path.empty() ? Value::null() : Value::string(path); }};
}

ValueType<std::vector<std::string>> absolute_paths() {
  return texts("expected a list of absolute paths in quotes", kAnyNumber,
               [](const std::string& path) { return path.starts_with('/'); });
}

ValueType<std::vector<std::string>> subject_parts() {
  return texts("expected a list of parts of a subject, such as [\"OU=Admin\"]", kAnyNumber,
               [](const std::string& part) {
                 const size_t equals = part.find('=');
                 return equals != 0 && equals != part.npos && equals + 1 != part.size();
               });
}

ValueType<std::vector<std::string>> patterns() {
  constexpr size_t kLongest = 256;
  return texts("expected a list of at most 64 patterns of 1 to 256 bytes, such as [\"ovs*\"]", kMostNames,
               [](const std::string& pattern) { return !pattern.empty() && pattern.size() <= kLongest; });
}

ValueType<std::vector<std::string>> user_names() {
  return texts("expected a list of users, such as [\"alice\"]", kAnyNumber,
               [](const std::string& name) { return !name.empty(); });
}

ValueType<std::string> service_name() {
  return text_that("expected a PAM service name: lower-case letters, digits, - and _", [](const std::string& name) {
    return !name.empty() && name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-_") == name.npos;
  });
}

ValueType<log::Priority> level() {
  return one_of<log::Priority>({{log::Priority::Error, "error"},
                                {log::Priority::Warning, "warning"},
                                {log::Priority::Notice, "notice"},
                                {log::Priority::Info, "info"},
                                {log::Priority::Debug, "debug"}});
}

std::optional<log::Priority> level_of(const std::string& word) {
  log::Priority found{};
  return level().parse(Value::string(word), found).empty() ? std::optional(found) : std::nullopt;
}

ValueType<std::optional<rdt::MbaUnit>> mba_mode() {
  return one_of<std::optional<rdt::MbaUnit>>(
      {{std::nullopt, "as-mounted"}, {rdt::MbaUnit::Percent, "percentage"}, {rdt::MbaUnit::Mbps, "mbps"}});
}

ValueType<ForeignGroups> foreign_groups() {
  return one_of<ForeignGroups>({{ForeignGroups::Report, "report"}, {ForeignGroups::Refuse, "refuse"}});
}

ValueType<Confinement> confinement() { return one_name<Confinement>(); }

ValueType<http::ClientAuth> client_auth() {
  return one_of<http::ClientAuth>({{http::ClientAuth::Require, "require"}, {http::ClientAuth::Optional, "optional"}});
}

ValueType<mode_t> file_mode() {
  return {.parse = [](const Value& value, mode_t& target) -> Problem {
            const auto mode = parse_number<mode_t>(text_in(value), 8);
            if (!mode || *mode == 0 || *mode > 0777) return "expected permissions in quotes, \"0001\" to \"0777\"";
            target = *mode;
            return {};
          },
          .show = [](const mode_t& mode) { return Value::string(fmt::format("{:04o}", mode & 0777U)); }};
}

ValueType<std::vector<LocalSocket>> local_sockets() {
  return {.parse = read_local_sockets, .show = [](const std::vector<LocalSocket>& sockets) {
            return array_of(sockets, [](const LocalSocket& socket) { return show_table(socket, socket_keys()); });
          }};
}

}  // namespace nrd::daemon
