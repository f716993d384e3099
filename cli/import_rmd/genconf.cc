#include "cli/import_rmd/genconf.h"

#include <cstdio>
#include <filesystem>

#include "cli/answer.h"
#include "cli/import_rmd/pool_fit.h"
#include "cli/new_files.h"

namespace nrd::cli {
namespace {

constexpr mode_t kPublic = 0644;

constexpr const char* kServer =
    "# Configuration of nrd(8), made by nrdctl genconf for this node. What is not here has its default: nrd.toml(5).\n"
    "\n"
    "[server]\n"
    "# Clients on this node use the socket. HTTPS is served beyond it if [tls] names its files.\n"
    "sockets = [{path = \"/run/nrd/nrd.sock\", admin = [\"root\", \"@nrd\"]}]\n"
    "address = \"127.0.0.1\"\n"
    "tls_port = 8443\n"
    "\n"
    "# HTTPS: run \"nrdctl tls init\", which makes these files, and take the signs away.\n"
    "#[tls]\n"
    "#certificate = \"/etc/nrd/tls/server.crt\"\n"
    "#key = \"/etc/nrd/tls/server.key\"\n"
    "#client_ca = \"/etc/nrd/tls/ca.crt\"\n"
    "#client_auth = \"require\"\n"
    "\n";

std::string pools_of(const CacheWays& cache) {
  const Pools pools = fit_pools(cache);
  const auto key = [](const char* name, unsigned ways) {
    return std::string(name) + " = " + std::to_string(ways) + "\n";
  };
  return "# The L3 caches of this node have " + std::to_string(cache.ways) + " ways each, masks at least " +
         std::to_string(cache.min_ways) + ". They are divided so:\n#\n#   way 0  " + drawing(pools, cache) + "  way " +
         std::to_string(cache.ways - 1) + "\n#\n" +
         "# O the OS at least, G guarantee (max = min), B best effort (max > min), S shared (0/0)\n[cache_pools]\n" +
         key("os", pools.os) + key("guarantee", pools.guarantee) + key("besteffort", pools.besteffort) +
         key("shared", pools.shared);
}

constexpr const char* kNoPools =
    "# Nothing is known of this node's L3 ways: it has no cache allocation, or resctrl is not mounted "
    "(systemctl start sys-fs-resctrl.mount).\n"
    "# Without these keys the pools follow the cache.\n"
    "#[cache_pools]\n"
    "#os = 1\n"
    "#guarantee = 5\n"
    "#besteffort = 3\n"
    "#shared = 2\n";

}  // namespace

std::string configuration_for(const std::optional<CacheWays>& cache, const std::string& isolated) {
  std::string text = kServer;
  text += cache ? pools_of(*cache) : kNoPools;
  if (!isolated.empty()) {
    text += "\n# The kernel keeps its scheduler off CPUs " + isolated + " (isolcpus): the ones to give to workloads.\n";
  }
  return text;
}

int generate_configuration(const Genconf& wanted) {
  const std::string text = configuration_for(read_cache_ways(), read_isolated_cpus());
  if (wanted.output.empty()) {
    print(text);
    return kDone;
  }
  std::error_code ignored;  // only if the current directory is gone, and then no file can be made either
  const std::filesystem::path path = std::filesystem::absolute(wanted.output, ignored).lexically_normal();
  if (!path.has_filename()) return report_failure(wanted.output + " names no file");
  const Result<void> written = write_new_files(path.parent_path(), {{path.filename(), text, kPublic}},
                                               wanted.force ? Existing::Replace : Existing::Refuse);
  if (!written) return report_failure(written.error().message);
  print_format("Made %s. Try it: nrd --config %s --check-config\n", path.c_str(), path.c_str());
  return kDone;
}

}  // namespace nrd::cli
