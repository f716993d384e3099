// nrd: the node resource daemon.
#include <fmt/core.h>
#include <sysexits.h>

#include <cstdio>

#include "base/log.h"
#include "daemon/access_policy.h"
#include "daemon/app.h"
#include "daemon/config.h"
#include "daemon/http_frontend.h"
#include "daemon/node_config.h"
#include "daemon/options.h"
#include "daemon/reset.h"

namespace {

int fail_with(const nrd::Error& error) {
  if (nrd::log::goes_to_journal()) {  // which takes plain text for priority info
    nrd::log::error("START_FAILED", error.message, {{"DETAIL", error.detail}});
  } else {
    const std::string detail = error.detail.empty() ? "" : fmt::format(" ({})", error.detail);
    std::fprintf(stderr, "nrd: %s%s\n", error.message.c_str(), detail.c_str());
  }
  // A bad configuration: the next start would end in the same way (RestartPreventExitStatus= of nrd.service).
  return error.code == nrd::ErrorCode::BadRequest ? EX_CONFIG : 1;
}

}  // namespace

int main(int argc, char** argv) {
  std::optional<int> exit_code;
  const nrd::Result<nrd::daemon::Options> options = nrd::daemon::parse_options(argc, argv, exit_code);
  if (exit_code) return *exit_code;
  if (!options) return fail_with(options.error());
  const nrd::daemon::Config& config = options->loaded.config;
  if (options->check_only) {
    if (const auto node = nrd::daemon::resolve_node(options->loaded); !node) return fail_with(node.error());
    if (const auto acl = nrd::daemon::load_acl(config.access); !acl) return fail_with(acl.error());
    if (const auto tls = nrd::daemon::check_tls(config); !tls) return fail_with(tls.error());
    const std::vector<std::string>& files = options->loaded.files;
    std::printf("%s: ok\n", files.empty() ? "defaults" : files.front().c_str());
    return 0;
  }
  if (options->resets) {
    const nrd::Result<size_t> workloads = nrd::daemon::reset(config);
    if (!workloads) return fail_with(workloads.error());
    std::printf("%zu workloads deleted; all resources released\n", *workloads);
    return 0;
  }
  if (options->unconfines) {
    const nrd::Result<void> ended = nrd::daemon::unconfine(config);
    return ended ? 0 : fail_with(ended.error());
  }
  const nrd::Result<void> ran = nrd::daemon::run(*options);
  return ran ? 0 : fail_with(ran.error());
}
