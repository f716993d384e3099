#include "cli/environment.h"

#include <unistd.h>

#include <algorithm>
#include <string_view>

namespace nrd::cli {

bool is_variable_name(std::string_view name) {
  constexpr size_t kLongest = 128;
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const auto is_rest = [&is_letter](char c) { return is_letter(c) || (c >= '0' && c <= '9'); };
  return !name.empty() && name.size() <= kLongest && is_letter(name.front()) && std::ranges::all_of(name, is_rest);
}

Environment own_environment() {
  Environment environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view line = *entry;
    const size_t equals = line.find('=');
    if (equals == 0 || equals == std::string_view::npos) continue;
    environment.emplace(line.substr(0, equals), line.substr(equals + 1));  // of two, getenv(3) finds the first
  }
  return environment;
}

std::string value_in(const Environment& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() ? "" : found->second;
}

std::vector<std::string> lines_of(const Environment& environment) {
  std::vector<std::string> lines;
  for (const auto& [name, value] : environment) lines.push_back(name + "=" + value);
  return lines;
}

}  // namespace nrd::cli
