// The types of values in the configuration: how each is parsed, and shown as it is written.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/cpu_set.h"
#include "base/json/value.h"
#include "daemon/config.h"

namespace nrd::daemon {

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
ValueType<std::optional<rdt::MbaUnit>> mba_mode();
ValueType<ForeignGroups> foreign_groups();
ValueType<Confinement> confinement();
ValueType<http::ClientAuth> client_auth();
// Octal permissions as for chmod(1): "0660". Never 0, because mode 0 marks closed device access.
ValueType<mode_t> file_mode();
ValueType<std::vector<LocalSocket>> local_sockets();

}  // namespace nrd::daemon
