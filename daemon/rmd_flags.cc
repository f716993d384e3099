#include "daemon/rmd_flags.h"

#include <algorithm>
#include <array>
#include <string_view>

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
};

// RMD accepted "--log_dir=/x" as well as "--log-dir".
std::string name_of(const std::string& word) {
  std::string name = word.substr(0, word.find('='));
  std::ranges::replace(name, '_', '-');
  return name;
}

}  // namespace

std::optional<std::string> refused_flag_of_rmd(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    const auto* found = std::ranges::find(kRefused, name_of(word), &Refused::flag);
    if (found == kRefused.end()) continue;
    return word + " is an RMD flag that nrd does not support: " + std::string(found->instead);
  }
  return std::nullopt;
}

}  // namespace nrd::daemon
