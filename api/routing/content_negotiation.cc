#include "api/routing/content_negotiation.h"

#include <string>

#include "base/ascii.h"
#include "base/file.h"
#include "base/split.h"

namespace nrd::routing {
namespace {

// Trimmed.
std::string_view next_part(std::string_view& rest, char separator) { return trimmed(take_until(rest, separator)); }

// ";q=0" and ";q=0.000" mean not acceptable (RFC 9110, 12.4.2).
bool is_excluded(std::string_view parameters) {
  while (!parameters.empty()) {
    const std::string parameter = lower_case(next_part(parameters, ';'));
    if (parameter.starts_with("q=0") && parameter.find_first_not_of("0.", 2) == parameter.npos) return true;
  }
  return false;
}

}  // namespace

// Of a list, which proxies make of repeated headers, the first. Web pages cannot send such a one without asking first.
bool is_json(std::string_view content_type) {
  std::string_view first = next_part(content_type, ',');
  return lower_case(next_part(first, ';')) == "application/json";
}

std::optional<ErrorStyle> error_style(std::string_view accept) {
  if (trimmed(accept).empty()) return ErrorStyle::Text;
  std::optional<ErrorStyle> style;
  while (!accept.empty()) {
    std::string_view parameters = next_part(accept, ',');
    const std::string range = lower_case(next_part(parameters, ';'));
    if (is_excluded(parameters)) continue;
    if (range == "application/json" || range == "application/problem+json") return ErrorStyle::Json;
    if (range == "*/*" || range == "application/*" || range == "text/*" || range == "text/plain") {
      style = ErrorStyle::Text;
    }
  }
  return style;
}

bool accepts(std::string_view accept, std::string_view type) {
  while (!accept.empty()) {
    std::string_view parameters = next_part(accept, ',');
    if (lower_case(next_part(parameters, ';')) == type && !is_excluded(parameters)) return true;
  }
  return false;
}

}  // namespace nrd::routing
