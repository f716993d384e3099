#include "cli/import_rmd/rmd_pam.h"

#include <algorithm>
#include <string_view>

#include "base/file.h"

namespace nrd::cli {
namespace {

constexpr std::string_view kAuth = "auth";
constexpr std::string_view kAccount = "account";
constexpr std::string_view kCommonAuth = "@include common-auth";

// The account line that corresponds to an auth line; "" for other lines.
std::string account_line_of(std::string_view line) {
  if (line == kCommonAuth) return "@include common-account";
  const bool may_be_absent = line.starts_with('-');  // the module, see pam.d(5)
  const std::string_view typed = may_be_absent ? line.substr(1) : line;
  const size_t end = std::min(typed.find_first_of(" \t"), typed.size());
  if (typed.substr(0, end) != kAuth) return {};
  return std::string(may_be_absent ? "-" : "") + std::string(kAccount) + std::string(typed.substr(end));
}

bool is_about_accounts(std::string_view line) {
  if (line.starts_with("@include") && line != kCommonAuth) return true;  // the included file may contain account lines
  return line.starts_with(kAccount) || line.starts_with("-account");
}

}  // namespace

std::string with_account_lines(const std::string& stack) {
  std::string whole = stack;
  if (!whole.empty() && !whole.ends_with('\n')) whole += '\n';
  std::string accounts;
  for (size_t begin = 0; begin < whole.size();) {
    const size_t end = whole.find('\n', begin);
    const std::string_view line = trimmed(std::string_view(whole).substr(begin, end - begin));
    if (is_about_accounts(line)) return stack;
    if (const std::string account = account_line_of(line); !account.empty()) accounts += account + "\n";
    begin = end + 1;
  }
  return whole + accounts;
}

}  // namespace nrd::cli
