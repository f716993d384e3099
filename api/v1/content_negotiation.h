// Content-Type and Accept: what the client sends and what it can read.
#pragma once

#include <optional>
#include <string_view>

namespace nrd::v1 {

enum class ErrorStyle {
  Text,  // one line of text/plain, which clients of RMD show to people
  Json,  // application/problem+json (RFC 9457)
};

// "application/json", with or without parameters.
bool is_json(std::string_view content_type);

// How this client wants to read errors: Json if it names application/json or application/problem+json, else Text.
// nullopt if it can read nothing that we write (406). No header means all is welcome.
std::optional<ErrorStyle> error_style(std::string_view accept);

}  // namespace nrd::v1
