// The keys of the configuration. One entry for each: its place in Config, its type, and how a reload takes it. The
// table drives parsing, GET /v1/config and POST /v1/config/reload.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/json/value.h"
#include "daemon/config_values.h"

namespace nrd::daemon {

struct Config;

struct ConfigKey {
  const char* name;  // "server.debug"
  enum class Takes { Reload, Restart } takes;
  std::function<Problem(const json::Value&, Config&)> parse;
  std::function<json::Value(const Config&)> show;
  std::function<void(const Config& from, Config& to)> copy;
  // Reload with an exception: false for a change that needs a restart nevertheless.
  std::function<bool(const Config& from, const Config& to)> can_reload = [](const Config&, const Config&) {
    return true;
  };

  std::string_view section() const;  // "server"
};

// `path`: the members that lead from a Config to the value.
template <typename T, typename... Members>
ConfigKey key(const char* name, ConfigKey::Takes takes, ValueType<T> type, Members... path) {
  // A fold: config.*server.*debug.
  const auto place = [=](auto& config) -> auto& { return (config.*....*path); };
  return {.name = name,
          .takes = takes,
          .parse = [=](const json::Value& value, Config& config) { return type.parse(value, place(config)); },
          .show = [=](const Config& config) { return type.show(place(config)); },
          .copy = [=](const Config& from, Config& to) { place(to) = place(from); }};
}

// In the order of docs/configuration.md.
std::span<const ConfigKey> config_keys();

// Null: there is none.
const ConfigKey* find_key(std::string_view name);

// "unknown section [servers]; did you mean [server]?"; empty: it is known.
Problem unknown_section(const std::string& name);
// "unknown key server.debugg; did you mean server.debug?"
Problem unknown_key(const std::string& section, const std::string& key);

}  // namespace nrd::daemon
