// The types of values in the configuration: how each is parsed, and shown as it is written.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/cpu_set.h"
#include "base/joined.h"
#include "base/json/fields.h"
#include "base/json/value.h"
#include "base/log.h"

namespace nrd {
enum class Confinement;
enum class ForeignGroups;
}  // namespace nrd

namespace nrd::http {
enum class ClientAuth;
}

namespace nrd::rdt {
enum class MbaUnit;
}

namespace nrd::daemon {

struct LocalSocket;

// What is wrong with a value, without its position; empty: nothing.
using Problem = std::string;

template <typename T>
struct ValueType {
  std::function<Problem(const json::Value&, T&)> parse;
  std::function<json::Value(const T&)> show;  // null: none is configured
};

// Empty for a value of another type.
std::string text_in(const json::Value& value);
json::Value number(uint64_t value);
json::Value number(const std::optional<unsigned>& value);  // null: none
template <typename Rep, typename Period>
json::Value number(std::chrono::duration<Rep, Period> time) {
  return number(static_cast<uint64_t>(time.count()));
}

// Text that passes the check.
template <typename Test>
ValueType<std::string> text_that(const char* expected, Test is_good) {
  return {.parse = [=](const json::Value& value, std::string& target) -> Problem {
            if (!value.as_string() || !is_good(*value.as_string())) return expected;
            target = *value.as_string();
            return {};
          },
          .show = json::Value::string};
}

template <typename Items, typename Show>
json::Value array_of(const Items& items, Show show) {
  std::vector<json::Value> shown;
  for (const auto& item : items) shown.push_back(show(item));
  return json::Value::array(std::move(shown));
}

// One of a few words, which a problem lists.
template <typename T>
ValueType<T> one_of(std::vector<std::pair<T, const char*>> words, const char* before_last = " or ") {
  Problem expected;
  for (const auto& word : words) {
    const char* before = &word == &words.front() ? "expected " : &word == &words.back() ? before_last : ", ";
    expected += before + ("\"" + std::string(word.second) + "\"");
  }
  return {.parse = [=](const json::Value& value, T& target) -> Problem {
            const std::string text = text_in(value);
            const auto found = std::ranges::find(words, text, [](const auto& word) { return word.second; });
            if (found == words.end()) return expected;
            target = found->first;
            return {};
          },
          .show =
              [=](const T& value) {
                const auto found = std::ranges::find(words, value, [](const auto& word) { return word.first; });
                return found == words.end() ? json::Value::null() : json::Value::string(found->second);
              }};
}

// One of the words that the API has for it.
template <json::Named T>
ValueType<T> one_name(const char* before_last = " or ") {
  return one_of<T>({json::kNames<T>.begin(), json::kNames<T>.end()}, before_last);
}

// A key of a table, as of an entry of [[cpu.pools]], that fills a part of a T.
template <typename T>
struct TableKey {
  const char* name;
  std::function<Problem(const json::Value&, T&)> parse;
  std::function<json::Value(const T&)> show;  // null: the key is left out
  bool is_required = false;

  TableKey required() const {
    TableKey key = *this;
    key.is_required = true;
    return key;
  }
};

template <typename T, typename Member>
TableKey<T> table_key(const char* name, ValueType<std::type_identity_t<Member>> type, Member T::*member) {
  return {.name = name,
          .parse = [=](const json::Value& value, T& target) { return type.parse(value, target.*member); },
          .show = [=](const T& value) { return type.show(value.*member); }};
}

template <typename T>
Problem read_table(const json::Value& table, const std::vector<TableKey<T>>& keys, T& target) {
  for (const auto& [name, value] : table.members()) {
    const auto key =
        std::ranges::find(keys, name, [](const TableKey<T>& known) { return std::string_view(known.name); });
    if (key == keys.end()) {
      return "unknown key " + name + "; allowed: " + joined(keys, ", ", &TableKey<T>::name);
    }
    if (const Problem problem = key->parse(value, target); !problem.empty()) return name + ": " + problem;
  }
  for (const TableKey<T>& key : keys) {
    if (key.is_required && !table.find(key.name)) return std::string(key.name) + " is missing";
  }
  return {};
}

template <typename T>
json::Value show_table(const T& value, const std::vector<TableKey<T>>& keys) {
  std::vector<json::Member> members;
  for (const TableKey<T>& key : keys) {
    json::Value shown = key.show(value);
    if (!shown.is_null()) members.push_back({key.name, std::move(shown)});
  }
  return json::Value::object(std::move(members));
}

ValueType<bool> boolean();
ValueType<uint16_t> port();
ValueType<unsigned> count(unsigned most);
ValueType<size_t> limit(size_t most);
ValueType<std::optional<unsigned>> optional_count(unsigned least, unsigned most);
ValueType<std::chrono::seconds> interval(int64_t least, int64_t most);
ValueType<std::chrono::milliseconds> milliseconds(int64_t least, int64_t most);
ValueType<CpuSet> cpu_list();
ValueType<std::string> text();
ValueType<std::string> absolute_path();
ValueType<std::vector<std::string>> absolute_paths();
// ["OU=Admin", "CN=Alice"]: parts of certificate subjects.
ValueType<std::vector<std::string>> subject_parts();
// Command line patterns (base/task.h).
ValueType<std::vector<std::string>> patterns();
ValueType<std::vector<std::string>> user_names();
// A PAM service, a file in /etc/pam.d.
ValueType<std::string> service_name();
ValueType<log::Priority> level();
// Of the flag; nullopt for an unknown level.
std::optional<log::Priority> level_of(const std::string& word);
ValueType<std::optional<rdt::MbaUnit>> mba_mode();
ValueType<ForeignGroups> foreign_groups();
ValueType<Confinement> confinement();
ValueType<http::ClientAuth> client_auth();
// Octal permissions as for chmod(1): "0660". Never 0, because mode 0 marks closed device access.
ValueType<mode_t> file_mode();
ValueType<std::vector<LocalSocket>> local_sockets();

}  // namespace nrd::daemon
