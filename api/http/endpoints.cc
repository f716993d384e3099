#include "api/http/endpoints.h"

#include <arpa/inet.h>

namespace nrd::http {

bool is_address(const std::string& text) {
  in6_addr any{};
  return ::inet_pton(AF_INET, text.c_str(), &any) == 1 || ::inet_pton(AF_INET6, text.c_str(), &any) == 1;
}

bool is_loopback(const std::string& address) {
  in_addr v4{};
  if (::inet_pton(AF_INET, address.c_str(), &v4) == 1) return ntohl(v4.s_addr) >> 24 == IN_LOOPBACKNET;
  return address == "::1";
}

}  // namespace nrd::http
