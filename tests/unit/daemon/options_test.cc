#include "daemon/options.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <vector>

#include "tests/support/temporary_tree.h"
#include "tests/unit/daemon/parse_config.h"
#include "tests/unit/results.h"

namespace nrd::options_test {

using namespace nrd::testing;

using daemon::Options;

namespace {

class ConfigFile : public testing::TemporaryTree {
 public:
  explicit ConfigFile(const std::string& text) { put("nrd.toml", text); }
  std::string path() const { return TemporaryTree::path("nrd.toml"); }
};

Result<Options> parsed(std::vector<std::string> words, std::optional<int>& exit) {
  words.insert(words.begin(), "nrd");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  return daemon::parse_options(static_cast<int>(words.size()), argv.data(), exit);
}

Result<Options> parsed(std::vector<std::string> words) {
  std::optional<int> exit;
  Result<Options> options = parsed(std::move(words), exit);
  CHECK_FALSE(exit);
  return options;
}

constexpr const char* kText =
    "[server]\ndebug_port = 1001\ntls_port = 1002\naddress = \"127.0.0.2\"\nsockets = [{path = \"/file.sock\", run = "
    "[\"@games\"]}]\n"
    "[state]\ndirectory = \"/file\"\n[drift]\ninterval_seconds = 7\n";

// The one of kText.
std::vector<daemon::LocalSocket> socket_at(const char* path) {
  return {{.path = path, .name = {}, .admin = {}, .user = {}, .run = {"@games"}}};
}

}  // namespace

TEST_CASE("without flags the configuration file applies") {
  const ConfigFile file(kText);
  const auto options = value_of(parsed({"--config", file.path()}));
  CHECK(options.loaded.config == *daemon::parse_config(kText, "x"));
  CHECK(options.loaded.files == std::vector{file.path()});
  CHECK_FALSE(options.check_only);
}

TEST_CASE("a flag overrides the file and leaves other keys unchanged") {
  const ConfigFile file(kText);
  const auto all =
      value_of(parsed({"--debug", "--debug-port", "2001", "--tls-port=2002", "--address", "::1", "--unix-socket",
                       "/flag.sock", "--state-dir", "/flag", "--check-config", "--config", file.path()}));
  CHECK(all.check_only);
  CHECK(all.loaded.config.server == daemon::Config::Server{true, 2001, "::1", 2002, socket_at("/flag.sock")});
  CHECK(all.loaded.config.state_directory == "/flag");
  CHECK(all.loaded.config.drift_interval.count() == 7);

  const auto one = value_of(parsed({"--config", file.path(), "--debug-port", "2001"}));
  CHECK(one.loaded.config.server == daemon::Config::Server{false, 2001, "127.0.0.2", 1002, socket_at("/file.sock")});
}

TEST_CASE("supported RMD flags are accepted in RMD's spelling") {
  const ConfigFile file(kText);
  const auto all = value_of(
      parsed({"-d", "--debugport", "2001", "--tlsport=2002", "--unixsock", "/flag.sock", "--config", file.path()}));
  CHECK(all.loaded.config.server == daemon::Config::Server{true, 2001, "127.0.0.2", 2002, socket_at("/flag.sock")});
}

TEST_CASE("RMD's flags are accepted with the values of its defaults") {
  const ConfigFile file("");
  const auto defaults = parsed({"--address", "localhost", "--tlsport", "8443", "--debugport", "8081", "--unixsock", "",
                                "--config", file.path()});
  REQUIRE(defaults);
  CHECK(defaults->loaded.config.server == daemon::Config::Server{});
}

TEST_CASE("RMD's flags are accepted with underscores, as RMD took them") {
  const auto options = value_of(parsed({"--conf_dir", ConfigFile(kText).root(), "--force_config=true"}));
  CHECK(options.loaded.config.server.tls_port == 1002);
  CHECK(options.source.force_config);
}

TEST_CASE("--conf-dir reads the nrd.toml in that directory, which must exist") {
  const Error absent = error_of(parsed({"--conf-dir", "/nonexistent"}));
  CHECK(absent.message.find("/nonexistent/nrd.toml") != std::string::npos);
  const auto options = value_of(parsed({"--conf-dir", ConfigFile(kText).root()}));
  CHECK(options.loaded.config.server.tls_port == 1002);
}

TEST_CASE("a flag sets the log level") {
  const ConfigFile file("[log]\nlevel = \"error\"\n");
  const auto options = value_of(parsed({"--config", file.path(), "--log-level", "debug"}));
  CHECK(options.loaded.config.log_level == log::Priority::Debug);
  CHECK(parsed({"--config", file.path()})->loaded.config.log_level == log::Priority::Error);
}

TEST_CASE("an unsupported RMD flag is refused with its replacement") {
  CHECK(daemon::refused_flag_of_rmd({"--log_dir=/x"}) ==
        "--log_dir=/x is an RMD flag that nrd does not support: nrd logs to the journal (journalctl -u nrd); set the "
        "level with --log-level");
  for (const std::string flag : {"--clientauth", "--log-dir", "--logtostderr=true", "--alsologtostderr",
                                 "--stderrthreshold", "--log-backtrace-at", "--vmodule", "-v", "--v=2"}) {
    CAPTURE(flag);
    CHECK(daemon::refused_flag_of_rmd({"--debug", flag}));
    std::optional<int> exit;
    (void)parsed({flag, "1"}, exit);
    REQUIRE(exit);
    CHECK(*exit == 2);
  }
  CHECK_FALSE(daemon::refused_flag_of_rmd({"--debug", "--log-level", "debug", "--version"}));
}

TEST_CASE("an absent flag does not disable debug that the file enables") {
  const ConfigFile file("[server]\ndebug = true\n");
  const auto options = value_of(parsed({"--config", file.path()}));
  CHECK(options.loaded.config.server.debug);
}

TEST_CASE("a usage error exits with 2") {
  const ConfigFile file("");
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{{"--bogus"},
                                                                                     {"stray"},
                                                                                     {"--config"},
                                                                                     {"--debug-port"},
                                                                                     {"--debug-port", "0"},
                                                                                     {"--debug-port", "65536"},
                                                                                     {"--debug-port", "-1"},
                                                                                     {"--debug-port", "http"},
                                                                                     {"--log-level", "loud"},
                                                                                     {"--conf-dir", "/etc/nrd"},
                                                                                     {"--tls-port", "0"},
                                                                                     {"--tls-port", "65536"}}) {
    CAPTURE(words.back());
    std::vector<std::string> line{"--config", file.path()};
    line.insert(line.end(), words.begin(), words.end());
    std::optional<int> exit;
    (void)parsed(line, exit);
    REQUIRE(exit);
    CHECK(*exit == 2);
  }
}

TEST_CASE("--help and --version exit with 0") {
  for (const std::string flag : {"--help", "--version"}) {
    CAPTURE(flag);
    std::optional<int> exit;
    (void)parsed({flag}, exit);
    REQUIRE(exit);
    CHECK(*exit == 0);
  }
}

TEST_CASE("a missing configuration file is an error with its path") {
  const Error options = error_of(parsed({"--config", "/nonexistent/nrd.toml"}));
  CHECK(options.message.find("/nonexistent/nrd.toml") != std::string::npos);
}

TEST_CASE("an error in the file is reported with path and line") {
  const ConfigFile file("[server]\n\ndebug_port = 0\n");
  const Error options = error_of(parsed({"--config", file.path()}));
  CHECK(options.message.starts_with(file.path() + ":3: "));
}

TEST_CASE("flags and file together cannot expose the debug port to a network") {
  const ConfigFile debug("[server]\ndebug = true\n");
  CHECK_FALSE(parsed({"--config", debug.path(), "--address", "0.0.0.0"}));
  const ConfigFile open("[server]\naddress = \"0.0.0.0\"\n");
  CHECK_FALSE(parsed({"--config", open.path(), "--debug"}));
  CHECK(parsed({"--config", open.path(), "--debug", "--address", "127.0.0.1"}));
  CHECK(parsed({"--config", open.path()}));
}

TEST_CASE("paths in flags must be absolute, like those in the file") {
  const ConfigFile file("");
  for (const std::string flag : {"--unix-socket", "--state-dir"}) {
    CAPTURE(flag);
    CHECK(error_of(parsed({"--config", file.path(), flag, "relative"})).message.ends_with("expected an absolute path"));
  }
}

}  // namespace nrd::options_test
