#include "api/v1/onload/control_plane_args.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/joined.h"

namespace nrd::v1 {
namespace {

constexpr std::array<std::string_view, 4> kFlags = {"-K", "--log-to-kmsg", "--no-listen", "--verify-routes"};
// Options with a number: after "=" for long names, or as the next argument.
constexpr std::array<std::string_view, 26> kNumbers = {
    "-s",
    "--dump",
    "--fwd-refresh",
    "-t",
    "--time-to-live",
    "--affinity",
    "-h",
    "--hwport-max",
    "-l",
    "--llap-max",
    "-i",
    "--ipif-max",
    "--service-arrays-max",
    "--service-endpoints-max",
    "-b",
    "--bond-max",
    "-m",
    "--mac-max",
    "-f",
    "--fwd-max",
    "-r",
    "--fwd-req-max",
    "--bond-base-period",
    "--bond-peak-period",
    "--bond-peak-polls",
    "--bond-3ad-period",
};

bool is_one_of(const auto& options, std::string_view word) { return std::ranges::find(options, word) != options.end(); }

// 64 bits: CPU masks are the longest values.
bool is_number(std::string_view text) {
  const bool is_hex = text.starts_with("0x");
  if (is_hex) text.remove_prefix(2);
  const std::string_view digits = is_hex ? "0123456789abcdefABCDEF" : "0123456789";
  return !text.empty() && text.size() <= (is_hex ? 16U : 20U) && text.find_first_not_of(digits) == text.npos;
}

}  // namespace

std::string server_options() {
  return fmt::format("{}, and these with a number: {}", joined(kFlags, ", "), joined(kNumbers, ", "));
}

std::optional<size_t> first_unknown_argument(const std::vector<std::string>& words) {
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (is_one_of(kFlags, word)) continue;
    const size_t equals = word.starts_with("--") ? word.find('=') : word.npos;
    if (!is_one_of(kNumbers, word.substr(0, equals))) return i;
    if (equals != word.npos) {
      if (!is_number(word.substr(equals + 1))) return i;
      continue;
    }
    if (i + 1 == words.size()) return i;
    if (!is_number(words[++i])) return i;
  }
  return std::nullopt;
}

}  // namespace nrd::v1
