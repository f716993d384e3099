#include "daemon/config_values.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>
#include <utility>

#include "base/number.h"

namespace nrd::daemon {
using json::Value;

std::string text_in(const Value& value) {
  const std::string* text = value.as_string();
  return text == nullptr ? std::string() : *text;
}

Value number(uint64_t value) { return Value::number(std::to_string(value)); }

namespace {

constexpr size_t kMostNames = 64;
constexpr size_t kAnyNumber = std::numeric_limits<size_t>::max();

Value text_list(const std::vector<std::string>& texts) {
  std::vector<Value> items;
  for (const std::string& text : texts) items.push_back(Value::string(text));
  return Value::array(std::move(items));
}

// A whole number that `store` keeps.
template <typename Store>
Problem read_number(const Value& value, int64_t least, int64_t most, Store store) {
  const std::string range = "expected a whole number from " + std::to_string(least) + " to " + std::to_string(most);
  const auto found = value.literal() ? parse_number<int64_t>(*value.literal()) : std::nullopt;
  if (!found) return range;
  if (*found < least || *found > most) return range + ", not " + std::to_string(*found);
  store(*found);
  return {};
}

template <typename Number>
ValueType<Number> whole_number(int64_t least, int64_t most) {
  return {.parse =
              [=](const Value& value, Number& target) {
                return read_number(value, least, most,
                                   [&target](int64_t found) { target = static_cast<Number>(found); });
              },
          .show = [](const Number& value) { return number(value); }};
}

// A list of strings that each pass the check. Entries of other types count as empty strings.
template <typename Test>
Problem read_texts(const Value& value, const char* expected, size_t most, Test is_good,
                   std::vector<std::string>& target) {
  if (value.kind() != Value::Kind::Array || value.items().size() > most) return expected;
  std::vector<std::string> found;
  for (const Value& item : value.items()) {
    found.push_back(text_in(item));
    if (!is_good(found.back())) return expected;
  }
  target = std::move(found);
  return {};
}

template <typename Test>
ValueType<std::vector<std::string>> texts(const char* expected, size_t most, Test is_good) {
  return {.parse = [=](const Value& value,
                       std::vector<std::string>& target) { return read_texts(value, expected, most, is_good, target); },
          .show = text_list};
}

template <typename Duration>
ValueType<Duration> duration(int64_t least, int64_t most) {
  return {.parse =
              [=](const Value& value, Duration& target) {
                return read_number(value, least, most, [&target](int64_t found) { target = Duration(found); });
              },
          .show = [](const Duration& value) { return number(static_cast<uint64_t>(value.count())); }};
}

// One of a few words.
template <typename T, size_t N>
ValueType<T> one_of(const char* expected, std::array<std::pair<const char*, T>, N> words) {
  return {.parse = [=](const Value& value, T& target) -> Problem {
            const std::string text = text_in(value);
            const auto found = std::ranges::find(words, text, [](const auto& word) { return word.first; });
            if (found == words.end()) return expected;
            target = found->second;
            return {};
          },
          .show =
              [=](const T& value) {
                const auto found = std::ranges::find(words, value, [](const auto& word) { return word.second; });
                return found == words.end() ? Value::null() : Value::string(found->first);
              }};
}

Problem read_accounts(const Value& value, std::vector<std::string>& target) {
  return read_texts(
      value, "expected a list of at most 64 users and @groups, such as [\"root\", \"@nrd\"]", kMostNames,
      [](const std::string& name) { return !name.empty() && name != "@"; }, target);
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
    const auto permission = auth::permission_of(text_in(item));
    if (!permission || !allowed.insert(*permission).second) return expected;
  }
  target = std::move(allowed);
  return {};
}

Problem read_local_socket(const Value& table, LocalSocket& socket) {
  socket = {.path = {}, .name = {}, .admin = {}, .user = {}, .run = {}};
  for (const auto& [key, value] : table.members()) {
    Problem problem = "unknown key " + key + "; allowed: path, name, admin, user, run, origin, allow";
    if (key == "path") problem = absolute_path().parse(value, socket.path);
    if (key == "name") problem = text().parse(value, socket.name);
    if (key == "admin") problem = read_accounts(value, socket.admin);
    if (key == "user") problem = read_accounts(value, socket.user);
    if (key == "run") problem = read_accounts(value, socket.run);
    if (key == "origin") problem = read_origin(value, socket.origin);
    if (key == "allow") problem = read_allow(value, socket.allow);
    if (!problem.empty()) return problem.starts_with("unknown") ? problem : key + ": " + problem;
  }
  if (socket.path.empty()) return "path is missing";
  return {};
}

// As it is written: without the keys that have their default.
Value shown(const LocalSocket& socket) {
  std::vector<json::Member> members{{"path", Value::string(socket.path)},
                                    {"name", Value::string(socket.name)},
                                    {"admin", text_list(socket.admin)},
                                    {"user", text_list(socket.user)},
                                    {"run", text_list(socket.run)}};
  if (socket.origin != kOriginRest) members.push_back({"origin", Value::string(socket.origin)});
  std::vector<std::string> allowed;
  for (const auth::Permission each : socket.allow.value_or(auth::Permissions())) allowed.emplace_back(to_string(each));
  if (socket.allow) members.push_back({"allow", text_list(allowed)});
  return Value::object(std::move(members));
}

Problem read_local_sockets(const Value& value, std::vector<LocalSocket>& target) {
  constexpr size_t kMost = 16;
  constexpr const char* kExpected = "expected 1 to 16 sections [[server.sockets]]";
  if (value.items().empty() || value.items().size() > kMost) return kExpected;
  std::vector<LocalSocket> found;
  for (const Value& item : value.items()) {
    if (!item.is_object()) return kExpected;
    const Problem problem = read_local_socket(item, found.emplace_back());
    if (!problem.empty()) return problem;
    const std::string& path = found.back().path;
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
  return {.parse =
              [=](const Value& value, std::optional<unsigned>& target) {
                return read_number(value, least, most,
                                   [&target](int64_t found) { target = static_cast<unsigned>(found); });
              },
          .show = [](const std::optional<unsigned>& value) { return value ? number(*value) : Value::null(); }};
}

ValueType<std::chrono::seconds> interval(int64_t least, int64_t most) {
  return duration<std::chrono::seconds>(least, most);
}

ValueType<std::chrono::milliseconds> milliseconds(int64_t least, int64_t most) {
  return duration<std::chrono::milliseconds>(least, most);
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
  return {.parse = [](const Value& value, std::string& target) -> Problem {
            if (!value.as_string()) return "expected text in quotes";
            target = *value.as_string();
            return {};
          },
          .show = [](const std::string& text) { return Value::string(text); }};
}

ValueType<std::string> absolute_path() {
  return {.parse = [](const Value& value, std::string& target) -> Problem {
            if (!text_in(value).starts_with('/')) return "expected an absolute path in quotes";
            target = text_in(value);
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
  return {.parse = [](const Value& value, std::string& target) -> Problem {
            const std::string name = text_in(value);
            const bool is_plain = name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-_") == name.npos;
            if (name.empty() || !is_plain) return "expected a PAM service name: lower-case letters, digits, - and _";
            target = name;
            return {};
          },
          .show = [](const std::string& name) { return Value::string(name); }};
}

ValueType<log::Priority> level() {
  return one_of<log::Priority, 5>("expected \"error\", \"warning\", \"notice\", \"info\" or \"debug\"",
                                  {{{"error", log::Priority::Error},
                                    {"warning", log::Priority::Warning},
                                    {"notice", log::Priority::Notice},
                                    {"info", log::Priority::Info},
                                    {"debug", log::Priority::Debug}}});
}

ValueType<std::optional<rdt::MbaUnit>> mba_mode() {
  return one_of<std::optional<rdt::MbaUnit>, 3>(
      "expected \"as-mounted\", \"percentage\" or \"mbps\"",
      {{{"as-mounted", std::nullopt}, {"percentage", rdt::MbaUnit::Percent}, {"mbps", rdt::MbaUnit::Mbps}}});
}

ValueType<ForeignGroups> foreign_groups() {
  return one_of<ForeignGroups, 2>("expected \"report\" or \"refuse\"",
                                  {{{"report", ForeignGroups::Report}, {"refuse", ForeignGroups::Refuse}}});
}

ValueType<Confinement> confinement() {
  return one_of<Confinement, 3>(
      "expected \"none\", \"slices\" or \"partition\"",
      {{{"none", Confinement::None}, {"slices", Confinement::Slices}, {"partition", Confinement::Partition}}});
}

ValueType<http::ClientAuth> client_auth() {
  return one_of<http::ClientAuth, 2>(
      "expected \"require\" or \"optional\"",
      {{{"require", http::ClientAuth::Require}, {"optional", http::ClientAuth::Optional}}});
}

ValueType<mode_t> file_mode() {
  return {.parse = [](const Value& value, mode_t& target) -> Problem {
            const auto mode = parse_number<mode_t>(text_in(value), 8);
            if (!mode || *mode == 0 || *mode > 0777) return "expected permissions in quotes, \"0001\" to \"0777\"";
            target = *mode;
            return {};
          },
          .show =
              [](const mode_t& mode) {
                std::array<char, 8> octal{};
                std::snprintf(octal.data(), octal.size(), "%04o", mode & 0777U);
                return Value::string(octal.data());
              }};
}

ValueType<std::vector<LocalSocket>> local_sockets() {
  return {.parse = read_local_sockets, .show = [](const std::vector<LocalSocket>& sockets) {
            std::vector<Value> items;
            for (const LocalSocket& socket : sockets) items.push_back(shown(socket));
            return Value::array(std::move(items));
          }};
}

}  // namespace nrd::daemon
