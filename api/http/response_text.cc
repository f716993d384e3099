#include "api/http/response_text.h"

#include <pistache/http_defs.h>

namespace nrd::http {

// Written here because Pistache 0.0.5 writes no header of a name it does not know, says "Connection: Close" to clients
// that did not ask to keep it (and keeps it), and gives a HEAD a body.
std::string bytes_of(const Response& response, Framing framing) {
  constexpr size_t kHeadSize = 256;  // of nearly every answer
  std::string bytes;
  bytes.reserve(kHeadSize + response.body.size());
  bytes += "HTTP/1.1 " + std::to_string(response.status) + " " +
           Pistache::Http::codeString(static_cast<Pistache::Http::Code>(response.status)) + "\r\n";
  const auto header = [&bytes](std::string_view name, std::string_view value) {
    bytes.append(name).append(": ").append(value).append("\r\n");
  };
  if (!response.content_type.empty()) header("Content-Type", response.content_type);
  for (const auto& [name, value] : response.headers) header(name, value);
  if (framing.closes) header("Connection", "close");
  // That of a 304 would be the length of the 200 it stands for (RFC 9110, 8.6), so it says none.
  constexpr int kNotModified = 304;
  if (response.status != kNotModified) header("Content-Length", std::to_string(response.body.size()));
  bytes += "\r\n";
  if (framing.has_body) bytes += response.body;
  return bytes;
}

}  // namespace nrd::http
