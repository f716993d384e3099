#include "daemon/options.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "daemon/rmd_flags.h"
#include "daemon/version.h"

namespace nrd::daemon {
namespace {

constexpr const char* kDefaultFile = "/etc/nrd/nrd.toml";

// Unset flags keep the file's values.
struct Flags {
  std::string file = kDefaultFile;
  bool debug = false;
  bool check_only = false;
  bool resets = false;
  bool force_config = false;
  std::optional<uint16_t> debug_port, tls_port;
  std::optional<std::string> address, unix_socket, state_directory, directory, log_level;
};

void declare(CLI::App& app, Flags& flags) {
  const auto port = CLI::Range(1, 65535);
  app.set_version_flag("--version", std::string("nrd ") + kVersion);
  CLI::Option* file = app.add_option("--config", flags.file, "configuration file (TOML)")->capture_default_str();
  app.add_option("--conf-dir", flags.directory, "directory that contains nrd.toml, instead of --config")
      ->excludes(file);
  app.add_flag("-d,--debug", flags.debug, "also serve plain HTTP without authentication on loopback");
  app.add_option("--debug-port,--debugport", flags.debug_port, "plain HTTP port (8081)")->check(port);
  app.add_option("--address", flags.address, "listen address (127.0.0.1)");
  app.add_option("--tls-port,--tlsport", flags.tls_port, "HTTPS port (8443)")->check(port);
  app.add_option("--unix-socket,--unixsock", flags.unix_socket, "path of the Unix socket (/run/nrd/nrd.sock)");
  app.add_option("--state-dir", flags.state_directory, "directory for nrd.db (/var/lib/nrd)");
  app.add_option("--log-level", flags.log_level, "log level: error, warning, notice, info or debug (info)")
      ->check(CLI::IsMember({"error", "warning", "notice", "info", "debug"}));
  app.add_flag("--force-config", flags.force_config,
               "remount resctrl if its options do not match rdt.mba_mode; clears every class first");
  app.add_flag("--reset", flags.resets, "delete all stored workloads, release all resources, and exit");
  app.add_flag("--check-config", flags.check_only, "check the configuration and exit");
}

void override_with(const Flags& flags, Config& config) {
  config.server.debug = config.server.debug || flags.debug;
  config.mount.may_remount = flags.force_config;
  config.server.debug_port = flags.debug_port.value_or(config.server.debug_port);
  config.server.tls_port = flags.tls_port.value_or(config.server.tls_port);
  config.server.address = flags.address.value_or(config.server.address);
  if (flags.unix_socket) config.server.sockets.front().path = *flags.unix_socket;
  if (flags.log_level) config.log_level = level_of(*flags.log_level).value_or(config.log_level);
  config.state_directory = flags.state_directory.value_or(config.state_directory);
}

}  // namespace

Result<Options> parse_options(int argc, char** argv, std::optional<Exit>& exit) {
  CLI::App app{"nrd, the node resource daemon: cache ways, bandwidth and frequencies for workloads, over REST"};
  if (const auto refused = refused_flag_of_rmd({argv + 1, argv + argc})) {
    std::fprintf(stderr, "nrd: %s\n", refused->c_str());
    exit = Exit{2};
    return Options{};
  }
  Flags flags;
  declare(app, flags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    exit = Exit{app.exit(error) == 0 ? 0 : 2};
    return Options{};
  }
  Options options;
  options.check_only = flags.check_only;
  options.resets = flags.resets;
  // The default file may be absent, because every key has a default.
  if (flags.directory) flags.file = *flags.directory + "/nrd.toml";
  const bool is_named = app.count("--config") > 0 || flags.directory;
  if (is_named || ::access(kDefaultFile, F_OK) == 0) {
    Config config = TRY(load_config(flags.file));
    options.config = std::move(config);
    options.config_file = flags.file;
  }
  override_with(flags, options.config);
  TRY(check(options.config));
  return options;
}

}  // namespace nrd::daemon
