#include "api/http/response_text.h"

#include <fmt/core.h>
#include <pistache/http_defs.h>

namespace nrd::http {

// Not left to Pistache 0.0.5: it omits headers with unknown names, sends "Connection: Close" to clients without
// keep-alive but does not close, and sends a body for HEAD.
std::string bytes_of(const Response& response, Framing framing) {
  constexpr size_t kHeadSize = 256;  // enough for nearly every response
  std::string bytes;
  bytes.reserve(kHeadSize + response.body.size());
  bytes += fmt::format("HTTP/1.1 {} {}\r\n", response.status,
                       Pistache::Http::codeString(static_cast<Pistache::Http::Code>(response.status)));
  const auto header = [&bytes](std::string_view name, std::string_view value) {
    bytes.append(name).append(": ").append(value).append("\r\n");
  };
  if (!response.content_type.empty()) header("Content-Type", response.content_type);
  for (const auto& [name, value] : response.headers) header(name, value);
  if (framing.closes) header("Connection", "close");
  // In a 304 it would be the length of the corresponding 200 (RFC 9110, 8.6), so it is omitted.
  constexpr int kNotModified = 304;
  if (response.status != kNotModified) header("Content-Length", std::to_string(response.body.size()));
  bytes += "\r\n";
  if (framing.has_body) bytes += response.body;
  return bytes;
}

}  // namespace nrd::http
