#include "daemon/options.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>

#include "base/version.h"
#include "daemon/config_files.h"

namespace nrd::daemon {
namespace {

struct Refused {
  std::string_view flag;
  std::string_view instead;
};

constexpr std::string_view kJournal = "nrd logs to the journal (journalctl -u nrd); set the level with --log-level";
constexpr std::array kRefused = {
    Refused{"--clientauth", "use tls.client_auth in nrd.toml, and access.pam for clientauth=no"},
    Refused{"--log-dir", kJournal},
    Refused{"--logtostderr", kJournal},
    Refused{"--alsologtostderr", kJournal},
    Refused{"--stderrthreshold", kJournal},
    Refused{"--log-backtrace-at", kJournal},
    Refused{"--vmodule", kJournal},
    Refused{"-v", kJournal},
    Refused{"--v", kJournal},
};

// RMD accepted "--log_dir=/x" as well as "--log-dir".
std::string name_of(const std::string& word) {
  std::string name = word.substr(0, word.find('='));
  std::ranges::replace(name, '_', '-');
  return name;
}

// Values with which RMD's flags said its defaults.
void take_defaults_of_rmd(ConfigSource& source) {
  if (source.address == "localhost") source.address = "127.0.0.1";
  if (source.unix_socket == "") source.unix_socket.reset();
}

void declare(CLI::App& app, Options& options, std::optional<std::string>& directory) {
  const auto port = CLI::Range(1, 65535);
  ConfigSource& source = options.source;
  app.set_version_flag("--version", std::string("nrd ") + kVersion);
  CLI::Option* file = app.add_option("--config", source.file, "configuration file (TOML)")->capture_default_str();
  app.add_option("--conf-dir,--conf_dir", directory, "directory that contains nrd.toml, instead of --config")
      ->excludes(file);
  app.add_flag("-d,--debug", source.debug, "also serve plain HTTP without authentication on loopback");
  app.add_option("--debug-port,--debugport", source.debug_port, "plain HTTP port (8081)")->check(port);
  app.add_option("--address", source.address, "listen address (127.0.0.1)");
  app.add_option("--tls-port,--tlsport", source.tls_port, "HTTPS port (8443)")->check(port);
  app.add_option("--unix-socket,--unixsock", source.unix_socket, "path of the Unix socket (/run/nrd/nrd.sock)");
  app.add_option("--state-dir", source.state_directory, "directory for nrd.db (/var/lib/nrd)");
  app.add_option("--log-level", source.log_level, "log level: error, warning, notice, info or debug (info)")
      ->check(CLI::IsMember({"error", "warning", "notice", "info", "debug"}));
  app.add_flag("--force-config,--force_config", source.force_config,
               "remount resctrl if its options do not match rdt.mba_mode; clears every class first");
  app.add_flag("--reset", options.resets, "delete all stored workloads, release all resources, and exit");
  app.add_flag("--unconfine", options.unconfines,
               "let the rest of the host use all CPUs again (cpu.confine) until nrd starts, and exit");
  app.add_flag("--check-config", options.check_only, "check the configuration and exit");
}

}  // namespace

std::optional<std::string> refused_flag_of_rmd(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    const auto* found = std::ranges::find(kRefused, name_of(word), &Refused::flag);
    if (found == kRefused.end()) continue;
    return fmt::format("{} is an RMD flag that nrd does not support: {}", word, found->instead);
  }
  return std::nullopt;
}

Result<Options> parse_options(int argc, char** argv, std::optional<int>& exit_code) {
  CLI::App app{"nrd, the node resource daemon: cache ways, bandwidth and frequencies for workloads, over REST"};
  if (const auto refused = refused_flag_of_rmd({argv + 1, argv + argc})) {
    std::fprintf(stderr, "nrd: %s\n", refused->c_str());
    exit_code = 2;
    return Options{};
  }
  Options options;
  std::optional<std::string> directory;
  declare(app, options, directory);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    exit_code = app.exit(error) == 0 ? 0 : 2;
    return Options{};
  }
  take_defaults_of_rmd(options.source);
  if (directory) options.source.file = *directory + "/nrd.toml";
  options.source.is_required = app.count("--config") > 0 || directory;
  options.loaded = TRY(load_config(options.source));
  return options;
}

}  // namespace nrd::daemon
