#include "daemon/config_files.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>

#include "base/file.h"
#include "daemon/config.h"
#include "daemon/config_keys.h"
#include "tests/support/temporary_tree.h"
#include "tests/unit/results.h"

namespace nrd::config_files_test {

using namespace nrd::testing;

using daemon::ConfigSource;
using daemon::load_config;
using daemon::LoadedConfig;
using daemon::Origin;

namespace {

// nrd.toml and nrd.toml.d in a folder of their own.
class Files : public testing::TemporaryTree {
 public:
  Files() { folder("nrd.toml.d"); }

  std::string main() const { return path("nrd.toml"); }
  std::string below(const std::string& name) const { return main() + ".d/" + name; }
  static void write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }
  Result<LoadedConfig> load() const { return load_config({.file = main(), .is_required = true}); }
};

Origin at(const std::string& file, size_t line) { return {.source = Origin::Source::File, .file = file, .line = line}; }

}  // namespace

TEST_CASE("files of the folder are read in the order of their names and replace keys of earlier ones") {
  const Files files;
  Files::write(files.main(), "[log]\nlevel = \"debug\"\n[drift]\ninterval_seconds = 7\n");
  Files::write(files.below("20-b.toml"), "[drift]\n\ninterval_seconds = 9\n");
  Files::write(files.below("10-a.toml"), "[drift]\ninterval_seconds = 8\n[tasks]\ninterval_seconds = 1\n");
  Files::write(files.below("README"), "not TOML");
  Files::write(files.below(".30.toml"), "not TOML");
  const auto loaded = value_of(files.load());
  CHECK(loaded.files == std::vector<std::string>{files.main(), files.below("10-a.toml"), files.below("20-b.toml")});
  CHECK(loaded.config.drift_interval.count() == 9);
  CHECK(loaded.config.tasks_interval.count() == 1);
  CHECK(loaded.config.log_level == log::Priority::Debug);
  CHECK(loaded.origins == std::map<std::string, Origin>{{"log.level", at(files.main(), 2)},
                                                        {"drift.interval_seconds", at(files.below("20-b.toml"), 3)},
                                                        {"tasks.interval_seconds", at(files.below("10-a.toml"), 4)}});
}

TEST_CASE("a list of a later file replaces the whole list") {
  const Files files;
  Files::write(files.main(), "[[server.sockets]]\npath = \"/a\"\n[[server.sockets]]\npath = \"/b\"\n");
  Files::write(files.below("1.toml"), "[[server.sockets]]\npath = \"/c\"\n[roles]\nadmin = []\n");
  const auto loaded = value_of(files.load());
  REQUIRE(loaded.config.server.sockets.size() == 1);
  CHECK(loaded.config.server.sockets.front().path == "/c");
  CHECK(loaded.config.admins.empty());
}

TEST_CASE("a key of [tls] in a later file leaves the others") {
  const Files files;
  Files::write(files.main(), "[tls]\ncertificate = \"/a\"\nkey = \"/b\"\nclient_ca = \"/c\"\n");
  Files::write(files.below("1.toml"), "[tls]\nkey = \"/d\"\n");
  const auto loaded = files.load();
  REQUIRE(loaded);
  CHECK(*loaded->config.tls == http::TlsFiles{.certificate = "/a", .key = "/d", .client_ca = "/c"});
}

TEST_CASE("errors name the file in the folder and the line") {
  const Files files;
  Files::write(files.main(), "");
  Files::write(files.below("1.toml"), "\n[drift]\ninterval_seconds = -1\n");
  const Error loaded = error_of(files.load());
  CHECK(loaded.message.starts_with(files.below("1.toml") + ":3: drift.interval_seconds: expected"));
}

TEST_CASE("errors between keys name the file and line of one of them") {
  const Files files;
  Files::write(files.main(), "[roles]\npam_admin = [\"a\"]\n");
  CHECK(files.load().error().message.starts_with(files.main() + ":2: access.acl, roles.pam_admin"));
  Files::write(files.main(), "[server]\naddress = \"0.0.0.0\"\n");
  Files::write(files.below("1.toml"), "[server]\ndebug = true\n");
  CHECK(files.load().error().message.starts_with(files.main() + ":2: server.address is 0.0.0.0"));
}

TEST_CASE("number and size of the files are bounded") {
  const Files files;
  Files::write(files.main(), "");
  for (int i = 0; i < 256; ++i) Files::write(files.below(std::to_string(i) + ".toml"), "");
  CHECK(files.load());
  Files::write(files.below("256.toml"), "");
  CHECK(files.load().error().message == files.main() + ".d: 257 files *.toml; allowed: at most 256");

  const Files large;
  Files::write(large.main(), "");
  for (int i = 0; i < 5; ++i) Files::write(large.below(std::to_string(i) + ".toml"), std::string(1 << 20, '\n'));
  CHECK(large.load().error().message.find("4.toml: the files of the configuration exceed") != std::string::npos);
  Files::write(large.below("0.toml"), std::string((1 << 20) + 1, '\n'));
  CHECK(large.load().error().message.starts_with(large.below("0.toml") + ": cannot read file"));
}

TEST_CASE("a pipe in the folder is refused and does not block") {
  const Files files;
  Files::write(files.main(), "");
  REQUIRE(::mkfifo(files.below("1.toml").c_str(), 0600) == 0);
  CHECK(files.load().error().message == files.below("1.toml") + ": not a regular file");
}

TEST_CASE("an absent default file does not hide its folder") {
  const Files files;
  Files::write(files.below("1.toml"), "[drift]\ninterval_seconds = 3\n");
  const auto loaded = value_of(load_config({.file = files.main()}));
  CHECK(loaded.config.drift_interval.count() == 3);
  CHECK(loaded.files == std::vector<std::string>{files.below("1.toml")});
  CHECK_FALSE(load_config({.file = files.main(), .is_required = true}));
}

TEST_CASE("flags override the files and say so") {
  const Files files;
  Files::write(files.main(), "[server]\ndebug_port = 1\n[log]\nlevel = \"debug\"\n");
  ConfigSource source{.file = files.main(), .is_required = true};
  source.debug_port = 2;
  source.log_level = "error";
  const auto loaded = value_of(load_config(source));
  CHECK(loaded.config.server.debug_port == 2);
  CHECK(loaded.config.log_level == log::Priority::Error);
  CHECK(loaded.origins.at("server.debug_port").source == Origin::Source::CommandLine);
  CHECK(loaded.origins.at("log.level").source == Origin::Source::CommandLine);
}

TEST_CASE("a wrong flag is not blamed on a file") {
  const Files files;
  Files::write(files.main(), "[server]\ndebug_port = 1\n");
  ConfigSource source{.file = files.main(), .is_required = true};
  source.address = "example.org";
  CHECK(error_of(load_config(source)).message.starts_with("server.address is example.org"));
}

TEST_CASE("every key is listed once, with its default") {
  std::set<std::string> names;
  for (const daemon::ConfigKey& key : daemon::config_keys()) {
    CHECK(names.insert(key.name).second);
    CHECK(daemon::find_key(key.name) == &key);
  }
  const auto manual = value_of(read_file(NRD_SOURCE_DIR "/docs/configuration.md"));
  const std::regex row("\n\\| `([a-z_]+\\.[a-z0-9_]+)` \\|");
  std::set<std::string> documented;
  for (std::sregex_iterator it(manual->begin(), manual->end(), row), end; it != end; ++it) documented.insert((*it)[1]);
  CHECK(names == documented);
}

TEST_CASE("each key shows what it has parsed, and copies it") {
  for (const daemon::ConfigKey& key : daemon::config_keys()) {
    CAPTURE(key.name);
    daemon::Config config;
    const json::Value shown = key.show(config);
    if (shown.is_null()) continue;  // none by default
    daemon::Config again;
    CHECK(key.parse(shown, again) == "");
    CHECK(key.show(again) == shown);
    daemon::Config copied;
    key.copy(again, copied);
    CHECK(key.show(copied) == shown);
  }
}

TEST_CASE("an unknown name suggests the nearest one, unless that is far") {
  CHECK(daemon::unknown_section("network") == "unknown section [network]");
  CHECK(daemon::unknown_key("server", "colour") == "unknown key server.colour");
  CHECK(daemon::unknown_section("cachepool") == "unknown section [cachepool]; did you mean [cache_pools]?");
  CHECK(daemon::unknown_section("onload").empty());
  CHECK(daemon::unknown_key("server", "Debug") == "unknown key server.Debug; did you mean server.debug?");
  CHECK(daemon::unknown_key("cache_pools", "guarante") ==
        "unknown key cache_pools.guarante; did you mean cache_pools.guarantee?");
}

}  // namespace nrd::config_files_test
