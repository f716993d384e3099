// Percent-encoding in paths and queries (RFC 3986, section 2.1).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace nrd::http {

// Decoded once: "%2541" is "%41". nullopt for a '%' without two hexadecimal digits, and for a control character,
// encoded or not: no path or parameter of the API has one.
std::optional<std::string> percent_decoded(std::string_view text);

}  // namespace nrd::http
