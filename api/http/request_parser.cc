#include "api/http/request_parser.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "api/http/endpoints.h"
#include "api/http/limits.h"
#include "base/ascii.h"
#include "base/control.h"
#include "base/file.h"
#include "base/number.h"
#include "base/split.h"

namespace nrd::http {
namespace {

constexpr std::string_view kLineEnd = "\r\n";
constexpr std::string_view kHeadEnd = "\r\n\r\n";
constexpr std::array<std::string_view, 7> kMethods = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"};

// RFC 9110, section 5.6.2.
bool is_token(std::string_view text) { return is_word(text, "!#$%&'*+-.^_`|~"); }

// RFC 3986: characters of an encoded path and query. No fragment, which clients do not send.
bool is_target(std::string_view text) { return is_made_of(text, "/?%-._~!$&'()*+,;=:@"); }

bool is_host(std::string_view text) { return is_made_of(text, "-._~:[]%"); }

// "localhost", "127.0.0.1:8081", "[::1]". Only these need no DNS server: the name that RFC 6761 reserves
// for loopback, and numeric addresses.
bool means_loopback(std::string_view host) {
  const size_t bracket = host.starts_with('[') ? host.find(']') : 0;
  const std::string name = lower_case(host.substr(0, host.find(':', bracket == host.npos ? 0 : bracket)));
  return name == "localhost" || name == "[::1]" || is_loopback(name);
}

bool has_control(std::string_view text) {
  return std::ranges::any_of(text, [](char c) { return is_control(c) && c != '\t'; });
}

bool has_bare_line_feed(std::string_view text, size_t from) {
  for (size_t at = text.find('\n', from); at != text.npos; at = text.find('\n', at + 1)) {
    if (at == 0 || text[at - 1] != '\r') return true;
  }
  return false;
}

// True if the list `value` ("close, Upgrade") contains `token`.
bool names(std::string_view value, std::string_view token) {
  while (!value.empty()) {
    if (lower_case(trimmed(take_until(value, ','))) == token) return true;
  }
  return false;
}

std::string over_limit(const char* what, size_t limit) { return fmt::format("{} larger than {} bytes.", what, limit); }

// Joins the values of a repeated header to one list.
void append(std::string& list, std::string_view value) { (list += list.empty() ? "" : ", ") += value; }

}  // namespace

RequestParser::ReadResult RequestParser::read(std::string& input) {
  std::string_view rest = input;
  while (state_ != State::Complete && state_ != State::Refused && step(rest)) {
  }
  const size_t used = input.size() - rest.size();
  if (std::exchange(has_secret_, false)) wipe(std::span(input).first(state_ == State::Refused ? input.size() : used));
  input.erase(0, used);
  if (state_ == State::Complete) return ReadResult::Complete;
  return state_ == State::Refused ? ReadResult::Refused : ReadResult::NeedsMore;
}

RawRequest RequestParser::take() {
  RawRequest request = std::move(request_);
  *this = RequestParser(host_policy_);
  return request;
}

bool RequestParser::take_continue() {
  const bool waits = state_ == State::Body || state_ == State::ChunkSize;
  return waits && std::exchange(expects_continue_, false);
}

bool RequestParser::refuse(int status, std::string line) {
  refusal_ = {.status = status, .line = std::move(line)};
  state_ = State::Refused;
  return false;
}

bool RequestParser::step(std::string_view& rest) {
  switch (state_) {
    case State::Head: return read_head(rest);
    case State::Body:
    case State::ChunkData: return read_body(rest);
    case State::ChunkSize: return read_chunk_size(rest);
    case State::ChunkEnd: return read_line_end(rest, State::ChunkSize);
    case State::LastChunkEnd: return read_line_end(rest, State::Complete);
    case State::Complete:
    case State::Refused: break;
  }
  return false;
}

bool RequestParser::read_head(std::string_view& rest) {
  // The last three bytes may be the start of the end marker.
  const size_t from = searched_ < kHeadEnd.size() ? 0 : searched_ - kHeadEnd.size() + 1;
  const size_t end = rest.find(kHeadEnd, from);
  const size_t size = end == rest.npos ? rest.size() : end + kHeadEnd.size();
  constexpr size_t kLongestLine = kTargetLimit + 32;  // includes method and version
  const size_t first_line = rest.substr(0, size).find(kLineEnd);
  if (std::min(first_line, size) > kLongestLine) return refuse(414, over_limit("The path and query are", kTargetLimit));
  if (size > kHeadLimit) return refuse(431, over_limit("The headers are", kHeadLimit));
  if (end == rest.npos) {
    // Refuse at once: such a client considers its request complete and waits for a response.
    if (has_bare_line_feed(rest, from)) return refuse(400, "Lines must end with CR LF.");
    searched_ = rest.size();
    return false;
  }
  if (!accept_head(rest.substr(0, end + kLineEnd.size()))) return false;
  rest.remove_prefix(size);
  return true;
}

bool RequestParser::accept_head(std::string_view head) {
  for (bool is_first = true; !head.empty(); is_first = false) {
    const size_t end = head.find(kLineEnd);
    const std::string_view line = head.substr(0, end);
    if (has_control(line)) return refuse(400, "The request line or a header contains a control character.");
    if (!(is_first ? accept_request_line(line) : accept_header(line))) return false;
    head.remove_prefix(end + kLineEnd.size());
  }
  return accept_framing();
}

bool RequestParser::accept_request_line(std::string_view line) {
  const size_t first = line.find(' ');
  const size_t last = line.rfind(' ');
  if (first == line.npos || first == last) return refuse(400, "Malformed request line; expected METHOD PATH HTTP/1.1.");
  const std::string_view method = line.substr(0, first);
  const std::string_view target = line.substr(first + 1, last - first - 1);
  const std::string_view version = line.substr(last + 1);
  if (!is_token(method)) return refuse(400, "Malformed method.");
  if (version != "HTTP/1.1" && version != "HTTP/1.0") {
    if (version.starts_with("HTTP/")) return refuse(505, "Unsupported HTTP version; supported: 1.0, 1.1.");
    return refuse(400, "Malformed request line; expected METHOD PATH HTTP/1.1.");
  }
  if (std::ranges::find(kMethods, method) == kMethods.end()) return refuse(501, "Unknown method.");
  request_.method = method;
  if (target.size() > kTargetLimit) return refuse(414, over_limit("The path and query are", kTargetLimit));
  if (!target.starts_with('/') || !is_target(target)) {
    return refuse(400, "The path must begin with / and be percent-encoded.");
  }
  if (target.substr(0, target.find('?')).find("//") != target.npos) return refuse(400, "The path contains //.");
  request_.target = target;
  is_http10_ = version == "HTTP/1.0";
  request_.closes = is_http10_;
  return true;
}

bool RequestParser::accept_header(std::string_view line) {
  if (++headers_ > kHeaderCountLimit) {
    return refuse(431, fmt::format("There are more than {} headers.", kHeaderCountLimit));
  }
  // Parsers disagree on whether a line with a leading space continues the previous header; such a line is no token.
  const size_t colon = line.find(':');
  if (colon == line.npos || !is_token(line.substr(0, colon)))
    return refuse(400, "Malformed header; expected NAME: VALUE.");
  return accept_known_header(lower_case(line.substr(0, colon)), trimmed(line.substr(colon + 1)));
}

bool RequestParser::accept_host(std::string_view value) {
  if (std::exchange(has_host_, true) || !is_host(value))
    return refuse(400, "Host must be present once, as one host name or address.");
  if (host_policy_ == HostPolicy::LoopbackOnly && !means_loopback(value)) {
    return refuse(421, "Host must be localhost or a loopback address on this port.");
  }
  return true;
}

bool RequestParser::accept_single(std::string& header, const std::string& name, std::string_view value) {
  if (!header.empty()) return refuse(400, name + " must occur only once.");
  header = value;
  return true;
}

bool RequestParser::accept_known_header(const std::string& name, std::string_view value) {
  if (name == "host") {
    return accept_host(value);
  } else if (name == "origin" && host_policy_ == HostPolicy::LoopbackOnly) {
    return refuse(403, "Requests from web pages are not allowed; Origin must be absent.");
  } else if (name == "content-length") {
    return accept_length(value);
  } else if (name == "transfer-encoding") {
    return accept_transfer_coding(value);
  } else if (name == "connection") {
    request_.closes = request_.closes || names(value, "close");
  } else if (name == "expect") {
    if (lower_case(value) != "100-continue") return refuse(417, "Unsupported Expect; supported: 100-continue.");
    expects_continue_ = true;
  } else if (name == "content-type") {
    return accept_single(request_.content_type, "Content-Type", value);
  } else if (name == "content-encoding") {
    return accept_single(request_.content_encoding, "Content-Encoding", value);
  } else if (name == "idempotency-key") {
    // As an absent one it would let a retry create a second workload.
    if (value.empty()) return refuse(400, "Idempotency-Key requires a value.");
    return accept_single(request_.idempotency_key, "Idempotency-Key", value);
  } else if (name == "authorization") {
    has_secret_ = true;
    if (!request_.authorization.empty()) return refuse(400, "Authorization must occur only once.");
    request_.authorization = Secret(value);
  } else if (name == "accept") {
    append(request_.accept, value);
  } else if (name == "if-match" || name == "if-none-match") {
    // Without a value it would be no condition at all.
    if (value.empty()) return refuse(400, "If-Match and If-None-Match require an ETag or \"*\".");
    append(name == "if-match" ? request_.if_match : request_.if_none_match, value);
  }
  return true;
}

bool RequestParser::accept_length(std::string_view value) {
  if (std::exchange(has_length_, true)) return refuse(400, "Content-Length must occur only once.");
  const bool is_number = !value.empty() && std::ranges::all_of(value, [](char c) { return c >= '0' && c <= '9'; });
  if (!is_number) return refuse(400, "Content-Length is not a number.");
  // A number that overflows size_t is above the body limit, too.
  const auto length = parse_number<size_t>(value);
  if (!length || *length > kBodyLimit) return refuse(413, over_limit("The body is", kBodyLimit));
  remaining_ = *length;
  return true;
}

bool RequestParser::accept_transfer_coding(std::string_view value) {
  if (std::exchange(is_chunked_, true)) return refuse(400, "Transfer-Encoding must occur only once.");
  if (lower_case(value) != "chunked") return refuse(501, "Unsupported Transfer-Encoding; supported: chunked.");
  return true;
}

// Determines the body framing once all headers are parsed.
bool RequestParser::accept_framing() {
  if (!has_host_ && !is_http10_) return refuse(400, "Host is missing.");
  if (is_chunked_ && (has_length_ || is_http10_)) {
    return refuse(400, "Transfer-Encoding is not allowed with Content-Length or HTTP/1.0.");
  }
  expects_continue_ = expects_continue_ && !is_http10_;
  state_ = is_chunked_ ? State::ChunkSize : remaining_ > 0 ? State::Body : State::Complete;
  return true;
}

bool RequestParser::read_body(std::string_view& rest) {
  const size_t taken = std::min(remaining_, rest.size());
  request_.body.append(rest.substr(0, taken));
  rest.remove_prefix(taken);
  remaining_ -= taken;
  if (remaining_ > 0) return false;
  state_ = state_ == State::Body ? State::Complete : State::ChunkEnd;
  return true;
}

bool RequestParser::read_chunk_size(std::string_view& rest) {
  constexpr size_t kLongestSize = 8;  // digits
  const size_t end = rest.substr(0, kLongestSize + kLineEnd.size()).find(kLineEnd);
  const std::string_view digits = rest.substr(0, std::min({end, rest.size(), kLongestSize + 1}));
  // Validate the digits before the line is complete, so that an endless line is refused at once.
  const size_t plain = std::min(digits.find_first_not_of("0123456789abcdefABCDEF"), digits.size());
  const bool may_go_on = plain == digits.size() || (plain + 1 == digits.size() && digits.ends_with('\r'));
  if (!may_go_on || plain > kLongestSize) return refuse(400, "Malformed chunk; expected its size in hexadecimal.");
  if (end == rest.npos) return false;
  const auto length = parse_number<size_t>(digits, 16);
  if (!length) return refuse(400, "Malformed chunk; expected its size in hexadecimal.");
  if (*length > kBodyLimit - request_.body.size()) return refuse(413, over_limit("The body is", kBodyLimit));
  remaining_ = *length;
  rest.remove_prefix(end + kLineEnd.size());
  state_ = remaining_ == 0 ? State::LastChunkEnd : State::ChunkData;
  return true;
}

bool RequestParser::read_line_end(std::string_view& rest, State next) {
  const std::string_view begin = rest.substr(0, kLineEnd.size());
  if (!kLineEnd.starts_with(begin)) return refuse(400, "A chunk exceeds its size or has a trailer.");
  if (begin != kLineEnd) return false;
  rest.remove_prefix(kLineEnd.size());
  state_ = next;
  return true;
}

}  // namespace nrd::http
