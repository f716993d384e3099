#include "api/http/inflate.h"

#include <fmt/core.h>
#include <zlib.h>

#include <utility>

#include "api/http/limits.h"
#include "base/ascii.h"

namespace nrd::http {
namespace {

using Refused = tl::unexpected<RefusedRequest>;

Refused refuse(int status, std::string line) { return Refused({.status = status, .line = std::move(line)}); }

struct Stream {
  z_stream zlib{};
  bool is_open = false;
  explicit Stream(int window_bits) { is_open = ::inflateInit2(&zlib, window_bits) == Z_OK; }
  ~Stream() {
    if (is_open) ::inflateEnd(&zlib);
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
};

// zlib's manual, inflateInit2: 15 is the largest window, in zlib's format (RFC 1950, HTTP's "deflate"); 16 more mean
// gzip's (RFC 1952).
constexpr int kDeflate = 15;
constexpr int kGzip = 15 + 16;

tl::expected<std::string, RefusedRequest> inflate_all(std::string body, int window_bits) {
  Stream stream(window_bits);
  if (!stream.is_open) return refuse(503, "Out of memory while decompressing the body; try again.");
  std::string out(kBodyLimit + 1, '\0');
  stream.zlib.next_in = reinterpret_cast<Bytef*>(body.data());
  stream.zlib.avail_in = static_cast<uInt>(body.size());
  stream.zlib.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.zlib.avail_out = static_cast<uInt>(out.size());
  const int result = ::inflate(&stream.zlib, Z_FINISH);
  if (stream.zlib.avail_out == 0) {
    return refuse(413, fmt::format("The decompressed body exceeds {} bytes.", kBodyLimit));
  }
  if (result != Z_STREAM_END || stream.zlib.avail_in > 0) {
    return refuse(400, "The body is truncated or does not match Content-Encoding.");
  }
  out.resize(stream.zlib.total_out);
  return out;
}

}  // namespace

tl::expected<std::string, RefusedRequest> inflated(std::string body, std::string_view encoding) {
  const std::string name = lower_case(encoding);
  if (name.empty() || name == "identity" || body.empty()) return body;
  if (name == "gzip" || name == "x-gzip") return inflate_all(std::move(body), kGzip);
  if (name == "deflate") return inflate_all(std::move(body), kDeflate);
  return refuse(415, "Unsupported Content-Encoding; supported: gzip, deflate, identity.");
}

}  // namespace nrd::http
