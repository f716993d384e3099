#include "daemon/reload.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "engine/transaction/engine.h"

namespace nrd::reload_test {

using daemon::difference_of;
using daemon::LoadedConfig;
using daemon::view_of;

namespace {

LoadedConfig loaded(const std::string& text, const std::string& name = "f") {
  LoadedConfig config;
  REQUIRE(daemon::parse_onto(config, text, name));
  return config;
}

std::vector<std::string> keys_of(const std::vector<v1::ConfigChange>& changes) {
  std::vector<std::string> keys;
  for (const v1::ConfigChange& change : changes) keys.push_back(change.key);
  return keys;
}

const v1::ConfigSetting& setting(const v1::ConfigView& view, const std::string& key) {
  const auto found = std::ranges::find(view.settings, key, &v1::ConfigSetting::key);
  REQUIRE(found != view.settings.end());
  return *found;
}

}  // namespace

TEST_CASE("a difference has the old and the new value of each changed key") {
  const auto found = difference_of(loaded("[log]\nlevel = \"info\"\n[cache_pools]\nos = 2\n"),
                                   loaded("[log]\nlevel = \"debug\"\n[roles]\nadmin = [\"CN=A\"]\n"));
  REQUIRE(keys_of(found.changed) == std::vector<std::string>{"roles.admin", "cache_pools.os", "log.level"});
  CHECK(found.changed[1].from == json::Value::number("2"));
  CHECK(found.changed[1].to.is_null());
  CHECK(found.changed[2].from == json::Value::string("info"));
  CHECK(found.changed[2].to == json::Value::string("debug"));
  CHECK(found.restart_required.empty());
  CHECK(found.effective.config.log_level == log::Priority::Debug);
}

TEST_CASE("a key that needs a restart keeps its value and where it came from") {
  const LoadedConfig present = loaded("[server]\ntls_port = 1\n", "old");
  const auto found = difference_of(present, loaded("[server]\n\ntls_port = 2\n[drift]\ninterval_seconds = 9\n", "new"));
  CHECK(keys_of(found.changed) == std::vector<std::string>{"drift.interval_seconds"});
  CHECK(keys_of(found.restart_required) == std::vector<std::string>{"server.tls_port"});
  CHECK(found.effective.config.server.tls_port == 1);
  CHECK(found.effective.origins.at("server.tls_port").file == "old");
  CHECK(found.effective.origins.at("drift.interval_seconds").file == "new");
  const auto back = difference_of(present, loaded("", "new"));
  CHECK(back.effective.config.server.tls_port == 1);
  CHECK(back.effective.origins.contains("server.tls_port"));
}

TEST_CASE("the users of a socket are reloaded, its path is not") {
  const LoadedConfig present = loaded("[[server.sockets]]\npath = \"/a\"\nadmin = [\"root\"]\n");
  const auto users = difference_of(present, loaded("[[server.sockets]]\npath = \"/a\"\nuser = [\"@x\"]\n"));
  CHECK(keys_of(users.changed) == std::vector<std::string>{"server.sockets"});
  const auto origin = difference_of(present, loaded("[[server.sockets]]\npath = \"/a\"\norigin = \"x\"\n"));
  CHECK(keys_of(origin.changed) == std::vector<std::string>{"server.sockets"});
  const auto limit = difference_of(present, loaded("[[server.sockets]]\npath = \"/a\"\nallow = [\"node\"]\n"));
  CHECK(keys_of(limit.restart_required) == std::vector<std::string>{"server.sockets"});
  const auto path = difference_of(present, loaded("[[server.sockets]]\npath = \"/b\"\nadmin = [\"root\"]\n"));
  CHECK(keys_of(path.restart_required) == std::vector<std::string>{"server.sockets"});
  CHECK(path.effective.config == present.config);
}

TEST_CASE("TLS files are reloaded, and TLS is switched by a restart") {
  const std::string tls = "[tls]\ncertificate = \"/a\"\nkey = \"/b\"\nclient_ca = \"/c\"\n";
  const auto other = difference_of(loaded(tls), loaded(tls + "client_auth = \"optional\"\n"));
  CHECK(keys_of(other.changed) == std::vector<std::string>{"tls.client_auth"});
  const auto on = difference_of(loaded(""), loaded(tls));
  CHECK(keys_of(on.restart_required) == std::vector<std::string>{"tls.certificate", "tls.key", "tls.client_ca"});
  CHECK_FALSE(on.effective.config.tls);
}

TEST_CASE("keys that are invalid without a restart wait for the restart") {
  const LoadedConfig next = loaded(
      "[tls]\ncertificate = \"/a\"\nkey = \"/b\"\nclient_ca = \"/c\"\nclient_auth = \"optional\"\n"
      "[access]\npam = true\n[log]\nlevel = \"debug\"\n");
  REQUIRE(daemon::check(next));
  const auto found = difference_of(loaded(""), next);
  CHECK(found.changed.empty());
  CHECK(found.restart_required.size() == 6);
  CHECK(found.effective.config == daemon::Config{});
}

TEST_CASE("a view has every key with value and origin") {
  const v1::ConfigView view = view_of(loaded("[log]\nlevel = \"debug\"\n", "/etc/x.toml"));
  CHECK(view.settings.size() > 50);
  const v1::ConfigSetting level = setting(view, "log.level");
  CHECK(level.value == json::Value::string("debug"));
  CHECK(level.source == "file");
  CHECK(level.file == "/etc/x.toml");
  CHECK(level.line == 2);
  CHECK(level.reload);
  const v1::ConfigSetting port = setting(view, "server.tls_port");
  CHECK(port.source == "default");
  CHECK(port.value == json::Value::number("8443"));
  CHECK(port.file.empty());
  CHECK_FALSE(port.reload);
}

}  // namespace nrd::reload_test
