#include "daemon/config.h"

#include <doctest/doctest.h>

#include <regex>
#include <tuple>
#include <vector>

#include "base/file.h"
#include "daemon/config_files.h"
#include "tests/unit/daemon/parse_config.h"
#include "tests/unit/results.h"

namespace nrd::config_test {

using namespace nrd::testing;

using daemon::Config;
using daemon::parse_config;
using daemon::problem_of;

namespace {

std::string shipped() {
  const auto text = value_of(read_file(NRD_SOURCE_DIR "/etc/nrd.toml"));
  REQUIRE(text);
  return *text;
}

}  // namespace

TEST_CASE("an empty file and the shipped one give the defaults") {
  CHECK(*parse_config("", "x") == Config{});
  CHECK(*parse_config(shipped(), "x") == Config{});
}

TEST_CASE("the shipped file contains every key with its default") {
  const std::string uncommented = std::regex_replace(shipped(), std::regex("\n#([a-z_]+ = )"), "\n$1");
  Config expected;
  expected.node.pools = {.os = 1, .guarantee = 5, .besteffort = 3, .shared = 2, .infra = 0};  // of an 11-way cache
  expected.node.max_shared = 10;
  expected.cpu_quotas =
      NamedCpuQuotas{{"alice", {.pools = {"fast"}, .count = 2}}, {"@quant", {.pools = {"fast"}, .count = 8}}};
  expected.kubernetes_reserve = Reserve{.ways = 5, .onload = 50};
  expected.kubernetes_reserve->pools.emplace();
  (*expected.kubernetes_reserve->pools)["fast"].listed = CpuSet{4, 5, 6, 7};
  (*expected.kubernetes_reserve->pools)["common"].of_share = 2;
  expected.tls = http::TlsFiles{.certificate = "/etc/nrd/tls/server.crt",
                                .key = "/etc/nrd/tls/server.key",
                                .client_ca = "/etc/nrd/tls/ca.crt"};  // as "nrdctl tls init" makes them
  expected.access.acl = "/etc/nrd/acl.csv";
  expected.access.admin_certificates = "/etc/nrd/access/admin";
  expected.access.user_certificates = "/etc/nrd/access/user";
  expected.policy = {.policies = "/etc/nrd/policy.toml", .cpu_map = "/etc/nrd/cpu_map.toml"};
  CHECK(*parse_config(uncommented, "x") == expected);
}

TEST_CASE("configured values are read") {
  const auto config =
      value_of(parse_config("[server]\ndebug = true\n[cache_pools]\nshrink = true\nguarantee = 7\n"
                            "[drift]\ninterval_seconds = 0\n[log]\nlevel = \"debug\"\n",
                            "x"));
  CHECK(config.server.debug);
  CHECK(config.node.shrink);
  CHECK(config.node.pools.guarantee == 7U);
  CHECK(config.drift_interval.count() == 0);
  CHECK(config.log_level == log::Priority::Debug);
}

TEST_CASE("CPU groups are parsed as CPU lists") {
  const auto config =
      value_of(parse_config("[cache_pools]\nmax_allowed_shared = 3\n[os]\ncpus = \"0-1,8\"\n[infra]\ncpus = \"2\"\n"
                            "processes = [\"ovs*\", \"*/dpdk *\"]\n",
                            "x"));
  CHECK(config.node.max_shared == 3U);
  CHECK(config.node.groups == ReservedCpus{.os = {0, 1, 8}, .infra = {2}, .infra_processes = {"ovs*", "*/dpdk *"}});
  CHECK(config.infra_users == std::vector<std::string>{"root"});
  CHECK(parse_config("[infra]\nusers = [\"openvswitch\"]\n", "x")->infra_users ==
        std::vector<std::string>{"openvswitch"});
  for (const char* wrong : {"0", "\"0-\"", "\"all\"", "[0]"}) {
    CAPTURE(wrong);
    const Error refused = error_of(parse_config(std::string("[os]\ncpus = ") + wrong + "\n", "x"));
    CHECK(refused.message == "x:2: os.cpus: expected a list of CPUs in quotes, such as \"0-1,8\"");
  }
  for (const std::string wrong : {"\"ovs*\"", "[\"\"]", "[1]"}) {
    CAPTURE(wrong);
    CHECK_FALSE(parse_config("[infra]\nprocesses = " + wrong + "\n", "x"));
  }
}

TEST_CASE("the onload section is read") {
  const auto config = value_of(
      parse_config("[onload]\nversions = \"/a\"\nimports = \"/b\"\nusers_policy = \"kill\"\nlook_interval_seconds = 1\n"
                   "at_start = \"observe\"\ndevice_user = \"u\"\ndevice_group = \"g\"\ndevice_mode = \"0660\"\n"
                   "protect_default_route = false\n",
                   "x"));
  CHECK(config.launch == daemon::LaunchConfig{.versions = "/a",
                                              .imports = "/b",
                                              .users_policy = onload::UsersPolicy::Kill,
                                              .refresh_interval = std::chrono::seconds(1),
                                              .at_start = onload::AtStart::Observe,
                                              .device_user = "u",
                                              .device_group = "g",
                                              .device_mode = 0660,
                                              .protect_default_route = false});
}

TEST_CASE("wrong keys, types and values are refused with file and line") {
  struct Row {
    const char* text;
    const char* says;
  };
  for (const Row& row :
       {Row{"[server]\ndebugg = true\n", "f:2: unknown key server.debugg; did you mean server.debug?"},
        Row{"[onload]\nusers_policy = \"murder\"\n",
            "f:2: onload.users_policy: expected one of fail, wait, term, kill"},
        Row{"[onload]\nusers_policy = 1\n", "f:2: onload.users_policy: expected one of"},
        Row{"[onload]\nat_start = \"sleep\"\n", "f:2: onload.at_start: expected"},
        Row{"[onload]\nlook_interval_seconds = 0\n", "f:2: onload.look_interval_seconds: expected"},
        Row{"[onload]\ndevice_mode = \"0\"\n", "f:2: onload.device_mode: expected permissions"},
        Row{"[onload]\ndevice_mode = \"1777\"\n", "f:2: onload.device_mode: expected permissions"},
        Row{"[onload]\ndevice_mode = \"0x6\"\n", "f:2: onload.device_mode: expected permissions"},
        Row{"[onload]\ndevice_mode = 0o660\n", "f:2: onload.device_mode: expected permissions"},
        Row{"[onload]\nversions = \"here\"\n", "f:2: onload.versions: expected an absolute path"},
        Row{"\n[servers]\n", "f:2: unknown section [servers]; did you mean [server]?"},
        Row{"debug = true\n", "f:1: unknown section [debug]"},
        Row{"server = 1\n", "f:1: server: expected a section"},
        Row{"[server]\ndebug = 1\n", "f:2: server.debug: expected true or false"},
        Row{"[server]\ndebug_port = 0\n", "from 1 to 65535, not 0"},
        Row{"[server]\ndebug_port = 65536\n", "from 1 to 65535, not 65536"},
        Row{"[[server.sockets]]\npath = \"nrd.sock\"\n", "server.sockets: path: expected an absolute path"},
        Row{"[[server.sockets]]\nadmin = []\n", "server.sockets: path is missing"},
        Row{"[[server.sockets]]\npath = \"/a\"\nusers = []\n", "unknown key users"},
        Row{"[[server.sockets]]\npath = \"/a\"\nrun = [\"@\"]\n", "server.sockets: run: expected a list"},
        Row{"[[server.sockets]]\npath = \"/a\"\n[[server.sockets]]\npath = \"/a\"\n", "duplicate /a"},
        Row{"[[server.sockets]]\npath = \"/a\"\norigin = \"REST\"\n", "server.sockets: origin: expected 1 to 32"},
        Row{"[[server.sockets]]\npath = \"/a\"\norigin = \"\"\n", "server.sockets: origin: expected 1 to 32"},
        Row{"[[server.sockets]]\npath = \"/a\"\nallow = []\n", "server.sockets: allow: expected a list of"},
        Row{"[[server.sockets]]\npath = \"/a\"\nallow = [\"onload\"]\n", "server.sockets: allow: expected a list of"},
        Row{"[[server.sockets]]\npath = \"/a\"\nallow = [\"node\", \"node\"]\n", "allow: expected a list of"},
        Row{"[cache_pools]\nos = -1\n", "from 0 to 32"},
        Row{"[cache_pools]\nos = 1.5\n", "from 0 to 32"},
        Row{"[drift]\ninterval_seconds = 86401\n", "from 0 to 86400"},
        Row{"[monitoring]\ninterval_seconds = 61\n", "from 0 to 60"},
        Row{"[cpu]\nsystemd_timeout_ms = 99\n", "from 100 to 20000"},
        Row{"[log]\nlevel = \"loud\"\n", "f:2: log.level"},
        Row{"[server]\ndebug = true\ndebug = true\n", "f:3:"},
        Row{"[server\n", "f:1:"}}) {
    CAPTURE(row.text);
    const Error config = error_of(parse_config(row.text, "f"));
    CHECK(config.message.find(row.says) != std::string::npos);
    CAPTURE(config.message);
  }
}

TEST_CASE("a socket path has at most the bytes that the kernel takes") {
  const auto with_path = [](size_t bytes) {
    return "[[server.sockets]]\npath = \"/a\"\n[[server.sockets]]\npath = \"/" + std::string(bytes - 1, 'a') + "\"\n";
  };
  CHECK(problem_of(with_path(107)) == "");
  const std::string longer = problem_of(with_path(108));
  CHECK(longer.starts_with("nrd.toml:3: the local socket is /aaa"));
  CHECK(longer.ends_with("expected at most 107 bytes, the kernel's limit"));
}

TEST_CASE("the debug port is limited to loopback addresses") {
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

TEST_CASE("a missing configuration file is an error") {
  CHECK_FALSE(daemon::load_config({.file = "/nonexistent/nrd.toml", .is_required = true}));
}

TEST_CASE("every key refuses a wrong type and reports its line") {
  for (const auto& [section, key, wrong] :
       std::vector<std::tuple<const char*, const char*, const char*>>{{"server", "debug", "\"true\""},
                                                                      {"server", "debug_port", "\"1\""},
                                                                      {"server", "debug_port", "true"},
                                                                      {"server", "tls_port", "1.0"},
                                                                      {"server", "tls_port", "0"},
                                                                      {"server", "tls_port", "65536"},
                                                                      {"server", "address", "1"},
                                                                      {"server", "sockets", "1"},
                                                                      {"server", "sockets", "[]"},
                                                                      {"server", "sockets", "[1]"},
                                                                      {"tls", "certificate", "1"},
                                                                      {"tls", "key", "\"key.pem\""},
                                                                      {"tls", "client_ca", "\"\""},
                                                                      {"tls", "client_auth", "true"},
                                                                      {"tls", "client_auth", "\"none\""},
                                                                      {"roles", "admin", "\"OU=Admin\""},
                                                                      {"roles", "admin", "[1]"},
                                                                      {"roles", "user", "[\"User\"]"},
                                                                      {"roles", "user", "[\"=User\"]"},
                                                                      {"roles", "user", "[\"OU=\"]"},
                                                                      {"roles", "pam_admin", "\"alice\""},
                                                                      {"roles", "pam_user", "[\"\"]"},
                                                                      {"access", "pam", "\"yes\""},
                                                                      {"access", "pam_service", "\"../login\""},
                                                                      {"access", "pam_service", "\"\""},
                                                                      {"access", "acl", "\"acl.csv\""},
                                                                      {"access", "admin_certificates", "[]"},
                                                                      {"access", "user_certificates", "1"},
                                                                      {"state", "directory", "1"},
                                                                      {"state", "directory", "\"rel\""},
                                                                      {"cache_pools", "os", "\"1\""},
                                                                      {"cache_pools", "os", "33"},
                                                                      {"cache_pools", "guarantee", "33"},
                                                                      {"cache_pools", "guarantee", "[1]"},
                                                                      {"cache_pools", "besteffort", "-1"},
                                                                      {"cache_pools", "shared", "33"},
                                                                      {"cache_pools", "infra", "-1"},
                                                                      {"cache_pools", "infra", "33"},
                                                                      {"cache_pools", "shrink", "1"},
                                                                      {"drift", "interval_seconds", "-1"},
                                                                      {"drift", "interval_seconds", "1e1"},
                                                                      {"log", "level", "6"},
                                                                      {"log", "level", "\"INFO\""}}) {
    const std::string text = "# one\n# two\n[" + std::string(section) + "]\n# four\n" + key + " = " + wrong + "\n";
    CAPTURE(text);
    const Error config = error_of(parse_config(text, "/etc/name.toml"));
    CAPTURE(config.message);
    CHECK(config.message.starts_with("/etc/name.toml:5: " + std::string(section) + "." + key + ": expected "));
    CHECK(config.message.find('\n') == std::string::npos);
  }
}

TEST_CASE("range limits are inclusive") {
  const auto least =
      value_of(parse_config("[server]\ndebug_port = 1\n[cache_pools]\nos = 0\n[drift]\ninterval_seconds = 0\n", "x"));
  CHECK(least.server.debug_port == 1);
  CHECK(least.node.pools.os == 0U);
  const auto most = value_of(
      parse_config("[server]\ndebug_port = 65535\n[cache_pools]\nos = 32\n[drift]\ninterval_seconds = 86400\n", "x"));
  CHECK(most.server.debug_port == 65535);
  CHECK(most.node.pools.os == 32U);
  CHECK(most.drift_interval.count() == 86400);
}

TEST_CASE("invalid TOML is refused with its line") {
  for (const auto& [text, line] : std::vector<std::pair<std::string, int>>{{"[log]\nlevel = \"info\n", 2},
                                                                           {"[log]\n\nlevel\n", 3},
                                                                           {"[log]\n[log]\n", 2},
                                                                           {"[log]\nlevel = \n", 2},
                                                                           {"\xff\n", 1},
                                                                           {std::string("[log]\n\0", 7), 2}}) {
    CAPTURE(text);
    const Error config = error_of(parse_config(text, "f"));
    CAPTURE(config.message);
    CHECK(config.message.starts_with("f:" + std::to_string(line) + ": "));
  }
}

TEST_CASE("a line too long to be read is refused") {
  std::string dots = "a";
  for (int i = 0; i < 100'000; ++i) dots += ".a";
  const Error config = error_of(parse_config("[log]\n" + dots + " = 1\n", "f"));
  CHECK(config.message == "f:2: more than 4096 bytes");
}

TEST_CASE("HTTPS requires all of its files") {
  const std::string certificate = "certificate = \"/c\"\n";
  const std::string key = "key = \"/k\"\n";
  const std::string authority = "client_ca = \"/a\"\n";
  for (const auto& [text, missing] :
       std::vector<std::pair<std::string, std::string>>{{certificate + key, "tls.client_ca"},
                                                        {certificate + authority, "tls.key"},
                                                        {key + authority, "tls.certificate"},
                                                        {"client_auth = \"optional\"\n", "tls.certificate"}}) {
    CAPTURE(text);
    const auto config = value_of(parse_config("[tls]\n" + text, "x"));
    const Error checked = error_of(daemon::check(config));
    CHECK(checked.message.starts_with(missing + " is missing"));
  }
  CHECK(daemon::check(*parse_config("[tls]\n" + certificate + key + authority, "x")));
  const std::string passwords = "client_auth = \"optional\"\n[access]\npam = true\n";
  CHECK(daemon::check(*parse_config("[tls]\n" + certificate + key + passwords, "x")));
  CHECK_FALSE(daemon::check(*parse_config("[tls]\n" + certificate + authority + passwords, "x")));
}

TEST_CASE("roles may be empty") {
  const auto config = value_of(parse_config("[roles]\nadmin = []\nuser = [\"CN=a=b\"]\n", "x"));
  CHECK(config.admins.empty());
  CHECK(config.users == std::vector<std::string>{"CN=a=b"});
}

TEST_CASE("without debug any address is allowed") {
  Config config;
  config.server.address = "0.0.0.0";
  CHECK(daemon::check(config));
}

TEST_CASE("an address is numeric, whether or not it is served") {
  for (const char* address : {"localhost", "127.0.0.1:8443", "", "::1%lo"}) {
    CAPTURE(address);
    const std::string problem = daemon::problem_of("[server]\naddress = \"" + std::string(address) + "\"\n");
    CHECK(problem.starts_with("nrd.toml:2: server.address is " + std::string(address) + ", expected a numeric IP"));
  }
}

TEST_CASE("keys that contradict each other on every node are refused without a node") {
  const std::string pools =
      "[[cpu.pools]]\nname = \"fast\"\ncpus = \"4-7\"\nkind = \"exclusive\"\n"
      "[[cpu.pools]]\nname = \"common\"\ncpus = \"rest\"\nkind = \"shared\"\n";
  struct Row {
    std::string text;
    const char* problem;
  };
  for (const auto& [text, problem] :
       {Row{"[infra]\ncpus = \"2\"\n", "nrd.toml:2: infra.cpus: the infrastructure has no ways"},
        Row{"[infra]\nprocesses = [\"ovs*\"]\n", "nrd.toml:2: infra.processes: the infrastructure has no ways"},
        Row{"[cache_pools]\ninfra = 1\n[infra]\ncpus = \"2\"\n[os]\ncpus = \"2\"\n",
            "nrd.toml:4: infra.cpus: CPU 2 is also in os.cpus"},
        Row{"[cpu]\nconfine = \"slices\"\n", "nrd.toml:2: cpu.confine: there are no CPU pools"},
        Row{pools + "[os]\ncpus = \"0,5\"\n", "nrd.toml:1: cpu.pools: pool fast: CPU 5 is also in os.cpus"},
        Row{pools + "[reserve.kubernetes]\npools = {fats = \"4\"}\n", "pools.fats: there is no such pool in cpu.pools"},
        Row{pools + "[reserve.kubernetes]\npools = {fast = \"3-4\"}\n", "pools.fast: CPU 3 is not in the pool"},
        Row{pools + "[reserve.kubernetes]\npools = {fast = 2}\n", "pools.fast: the pool is exclusive"},
        Row{pools + "[os]\ncpus = \"0\"\n[cpu]\nconfine = \"slices\"\n[reserve.kubernetes]\npools = {common = 40}\n",
            ""}}) {
    CAPTURE(text);
    const std::string found = daemon::problem_of(text);
    CHECK_MESSAGE(found.find(problem) != std::string::npos, found);
    CHECK(found.empty() == std::string(problem).empty());
  }
}

TEST_CASE("a path has no slash at its end and none twice, as the kernel names the files below it") {
  const auto config = value_of(parse_config(
      "[onload]\nversions = \"/opt//nrd/onload/\"\nimports = \"/opt/nrd/import//\"\n[state]\ndirectory = \"/\"\n",
      "f"));
  CHECK(config.launch.versions == "/opt/nrd/onload");
  CHECK(config.launch.imports == "/opt/nrd/import");
  CHECK(config.state_directory == "/");
}

TEST_CASE("profile folders are absolute paths, in order") {
  const auto config =
      value_of(parse_config("[onload]\nprofiles = [\"/a\", \"/b\"]\nmax_allocations = 7\n", "nrd.toml"));
  CHECK(config.launch.profiles == std::vector<std::string>{"/a", "/b"});
  CHECK(config.launch.max_allocations == 7);
  CHECK(parse_config("[onload]\nprofiles = []\n", "nrd.toml")->launch.profiles.empty());
  for (const char* value : {"\"/a\"", "[\"a\"]", "[1]", "[\"\"]"}) {
    CAPTURE(value);
    const Error refused = error_of(parse_config("[onload]\nprofiles = " + std::string(value) + "\n", "nrd.toml"));
    CHECK(refused.message == "nrd.toml:2: onload.profiles: expected a list of absolute paths in quotes");
  }
}

TEST_CASE("PAM settings without effect are refused") {
  const std::string tls = "[tls]\ncertificate = \"/c\"\nkey = \"/k\"\nclient_ca = \"/a\"\nclient_auth = \"optional\"\n";
  const auto checked = [](const std::string& text) {
    const auto config = value_of(parse_config(text, "x"));
    const auto result = daemon::check(config);
    return result ? "" : result.error().message;
  };
  CHECK(checked(tls + "[access]\npam = true\n[roles]\npam_admin = [\"alice\"]\n").empty());
  CHECK(checked(tls + "[access]\npam = true\nacl = \"/l\"\n").empty());
  CHECK(checked("[access]\npam = true\n").find("tls.client_auth") != std::string::npos);
  CHECK(checked("[roles]\npam_user = [\"bob\"]\n").find("access.pam = true") != std::string::npos);
  CHECK(checked("[access]\nacl = \"/l\"\n").find("access.pam = true") != std::string::npos);
  CHECK(
      checked(tls + "[access]\npam = true\nacl = \"/l\"\n[roles]\npam_user = [\"bob\"]\n").find("cannot be combined") !=
      std::string::npos);
}

}  // namespace nrd::config_test
