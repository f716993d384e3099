#include "cli/environment.h"

#include <fmt/core.h>
#include <unistd.h>

#include <string_view>

#include "base/ascii.h"

namespace nrd::cli {

namespace {

bool is_variable_name(std::string_view name) {
  constexpr size_t kLongest = 128;
  return name.size() <= kLongest && is_word(name, "_") && (name.front() < '0' || name.front() > '9');
}

}  // namespace

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

Result<void> add_variables(Environment& environment, const std::vector<std::string>& lines) {
  for (const std::string& line : lines) {
    const size_t equals = line.find('=');
    const std::string name = line.substr(0, equals);
    if (equals == std::string::npos || !is_variable_name(name)) {
      return fail(ErrorCode::BadRequest, fmt::format("-e {}: expected NAME=VALUE", line));
    }
    environment[name] = line.substr(equals + 1);
  }
  return {};
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

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace nrd::cli
