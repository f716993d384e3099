#include "daemon/options.h"

#include <CLI/CLI.hpp>
#include <cstdio>

#include "base/version.h"
#include "daemon/rmd_flags.h"

namespace nrd::daemon {
namespace {

struct Flags {
  ConfigSource source;
  bool check_only = false;
  bool resets = false;
  bool unconfines = false;
  std::optional<std::string> directory;
};

void declare(CLI::App& app, Flags& flags) {
  const auto port = CLI::Range(1, 65535);
  app.set_version_flag("--version", std::string("nrd ") + kVersion);
  CLI::Option* file = app.add_option("--config", flags.source.file, "configuration file (TOML)")->capture_default_str();
  app.add_option("--conf-dir", flags.directory, "directory that contains nrd.toml, instead of --config")
      ->excludes(file);
  app.add_flag("-d,--debug", flags.source.debug, "also serve plain HTTP without authentication on loopback");
  app.add_option("--debug-port,--debugport", flags.source.debug_port, "plain HTTP port (8081)")->check(port);
  app.add_option("--address", flags.source.address, "listen address (127.0.0.1)");
  app.add_option("--tls-port,--tlsport", flags.source.tls_port, "HTTPS port (8443)")->check(port);
  app.add_option("--unix-socket,--unixsock", flags.source.unix_socket, "path of the Unix socket (/run/nrd/nrd.sock)");
  app.add_option("--state-dir", flags.source.state_directory, "directory for nrd.db (/var/lib/nrd)");
  app.add_option("--log-level", flags.source.log_level, "log level: error, warning, notice, info or debug (info)")
      ->check(CLI::IsMember({"error", "warning", "notice", "info", "debug"}));
  app.add_flag("--force-config", flags.source.force_config,
               "remount resctrl if its options do not match rdt.mba_mode; clears every class first");
  app.add_flag("--reset", flags.resets, "delete all stored workloads, release all resources, and exit");
  app.add_flag("--unconfine", flags.unconfines,
               "let the rest of the host use all CPUs again (cpu.confine) until nrd starts, and exit");
  app.add_flag("--check-config", flags.check_only, "check the configuration and exit");
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
  options.unconfines = flags.unconfines;
  if (flags.directory) flags.source.file = *flags.directory + "/nrd.toml";
  flags.source.is_required = app.count("--config") > 0 || flags.directory;
  options.source = flags.source;
  LoadedConfig loaded = TRY(load_config(options.source));
  options.loaded = std::move(loaded);
  options.config = options.loaded.config;
  if (!options.loaded.files.empty()) options.config_file = options.loaded.files.front();
  return options;
}

}  // namespace nrd::daemon
