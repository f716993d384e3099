#include "daemon/config.h"

#include <doctest/doctest.h>

#include <regex>

#include "base/file.h"

using namespace nrd;
using daemon::Config;
using daemon::parse_config;

namespace {

std::string shipped() {
  const auto text = read_file(NRD_SOURCE_DIR "/etc/nrd.toml");
  REQUIRE(text);
  REQUIRE(*text);
  return **text;
}

}  // namespace

TEST_CASE("an empty file and the shipped one give the defaults") {
  CHECK(*parse_config("", "x") == Config{});
  CHECK(*parse_config(shipped(), "x") == Config{});
}

TEST_CASE("the shipped file names every key with its default") {
  const std::string uncommented = std::regex_replace(shipped(), std::regex("\n#([a-z_]+ = )"), "\n$1");
  Config expected;
  expected.pools = {.os = 1, .guarantee = 5, .besteffort = 3, .shared = 2, .infra = 0};  // of an 11-way cache
  CHECK(*parse_config(uncommented, "x") == expected);
}

TEST_CASE("what is set is taken") {
  const auto config = parse_config("[server]\ndebug = true\n[cache_pools]\nshrink = true\nguarantee = 7\n"
                                   "[drift]\ninterval_seconds = 0\n[log]\nlevel = \"debug\"\n",
                                   "x");
  REQUIRE(config);
  CHECK(config->server.debug);
  CHECK(config->shrink);
  CHECK(config->pools.guarantee == 7U);
  CHECK(config->drift_interval.count() == 0);
  CHECK(config->log_level == log::Priority::Debug);
}

TEST_CASE("a wrong key, type or value is refused with file and line") {
  struct Row {
    const char* text;
    const char* says;
  };
  for (const Row& row : {Row{"[server]\ndebugg = true\n", "f:2: unknown key server.debugg"},
                         Row{"\n[servers]\n", "f:2: unknown section [servers]"},
                         Row{"debug = true\n", "f:1: unknown section [debug]"},
                         Row{"server = 1\n", "f:1: server: expected a section"},
                         Row{"[server]\ndebug = 1\n", "f:2: server.debug: expected true or false"},
                         Row{"[server]\ndebug_port = 0\n", "from 1 to 65535, not 0"},
                         Row{"[server]\ndebug_port = 65536\n", "from 1 to 65535, not 65536"},
                         Row{"[server]\nunix_socket = \"nrd.sock\"\n", "absolute path"},
                         Row{"[cache_pools]\nos = -1\n", "from 0 to 32"},
                         Row{"[cache_pools]\nos = 1.5\n", "from 0 to 32"},
                         Row{"[drift]\ninterval_seconds = 86401\n", "from 0 to 86400"},
                         Row{"[log]\nlevel = \"loud\"\n", "f:2: log.level"},
                         Row{"[server]\ndebug = true\ndebug = true\n", "f:3:"},
                         Row{"[server\n", "f:1:"}}) {
    CAPTURE(row.text);
    const auto config = parse_config(row.text, "f");
    REQUIRE_FALSE(config);
    CHECK(config.error().message.find(row.says) != std::string::npos);
    CAPTURE(config.error().message);
  }
}

TEST_CASE("the debug port never faces a network") {
  Config config;
  config.server.debug = true;
  for (const char* address : {"0.0.0.0", "::", "192.168.0.1", "example.org", "127.example.org", "localhost"}) {
    config.server.address = address;
    CHECK_FALSE(daemon::check(config));
  }
  for (const char* address : {"127.0.0.1", "127.1.2.3", "::1"}) {
    config.server.address = address;
    CHECK(daemon::check(config));
  }
}

TEST_CASE("a file that is named must be there") { CHECK_FALSE(daemon::load_config("/nonexistent/nrd.toml")); }
