#include "api/v1/media.h"

#include <algorithm>
#include <string>

namespace nrd::v1 {
namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });
  return out;
}

// The part before `separator`; `rest` is left with what follows it.
std::string_view next_part(std::string_view& rest, char separator) {
  const size_t end = rest.find(separator);
  const std::string_view part = rest.substr(0, end);
  rest = end == rest.npos ? std::string_view() : rest.substr(end + 1);
  return trimmed(part);
}

// ";q=0" and ";q=0.000" mean: not this one (RFC 9110, 12.4.2).
bool is_excluded(std::string_view parameters) {
  while (!parameters.empty()) {
    const std::string parameter = lower(next_part(parameters, ';'));
    if (parameter.starts_with("q=0") && parameter.find_first_not_of("0.", 2) == parameter.npos) return true;
  }
  return false;
}

}  // namespace

bool is_json(std::string_view content_type) { return lower(next_part(content_type, ';')) == "application/json"; }

std::optional<ErrorStyle> error_style(std::string_view accept) {
  if (trimmed(accept).empty()) return ErrorStyle::Text;
  std::optional<ErrorStyle> style;
  while (!accept.empty()) {
    std::string_view parameters = next_part(accept, ',');
    const std::string range = lower(next_part(parameters, ';'));
    if (is_excluded(parameters)) continue;
    if (range == "application/json" || range == "application/problem+json") return ErrorStyle::Json;
    if (range == "*/*" || range == "application/*" || range == "text/*" || range == "text/plain") {
      style = ErrorStyle::Text;
    }
  }
  return style;
}

}  // namespace nrd::v1
