// Content-Type and Accept.
#pragma once

#include <optional>
#include <string_view>

namespace nrd::routing {

enum class ErrorStyle {
  Text,  // one line of text/plain, which RMD's clients display
  Json,  // application/problem+json (RFC 9457)
};

// "application/json", with or without parameters.
bool is_json(std::string_view content_type);

// The format for errors: Json if Accept names application/json or application/problem+json, else Text. nullopt if no
// representation is acceptable (406). Without the header every representation is acceptable.
std::optional<ErrorStyle> error_style(std::string_view accept);

// True if Accept names `type`.
bool accepts(std::string_view accept, std::string_view type);

}  // namespace nrd::routing
