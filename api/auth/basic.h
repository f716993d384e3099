// Parses the header of HTTP Basic authentication (RFC 7617): "Basic " and USER:PASSWORD in base64 (RFC 4648).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/secret.h"

namespace nrd::auth {

struct Credentials {
  std::string user;
  Secret password;
};

// nullopt: another scheme, bad base64, no colon, an empty or overlong user, an overlong password, a control character.
std::optional<Credentials> parse_basic(std::string_view header);

}  // namespace nrd::auth
