#include "api/http/request_reader.h"

#include <fmt/core.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "api/http/inflate.h"
#include "base/control.h"
#include "base/number.h"
#include "base/split.h"

namespace nrd::http {
namespace {

std::optional<char> decoded_byte(std::string_view digits) {
  const auto byte = parse_number<unsigned>(digits, 16);
  if (digits.size() != 2 || !byte) return std::nullopt;
  return static_cast<char>(*byte);
}

// Once (RFC 3986, section 2.1): "%2541" is "%41". nullopt for a '%' without two hexadecimal digits, and for a control
// character, encoded or not: no path or parameter of the API has one.
std::optional<std::string> percent_decoded(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const bool is_encoded = text.front() == '%';
    const std::optional<char> c = is_encoded ? decoded_byte(text.substr(1, 2)) : text.front();
    if (!c || is_control(*c)) return std::nullopt;
    out += *c;
    text.remove_prefix(is_encoded ? 3 : 1);
  }
  return out;
}

tl::unexpected<RefusedRequest> refused(std::string line) {
  return tl::unexpected(RefusedRequest{.status = 400, .line = std::move(line)});
}

tl::unexpected<RefusedRequest> refused_encoding() { return refused("Invalid percent-encoding in the path or query."); }

// "uuid=a&wait"
tl::expected<std::map<std::string, std::string>, RefusedRequest> parse_query(std::string_view query) {
  std::map<std::string, std::string> parameters;
  while (!query.empty()) {
    std::string_view value = take_until(query, '&');
    auto name = percent_decoded(take_until(value, '='));
    auto decoded = percent_decoded(value);
    if (!name || !decoded) return refused_encoding();
    const bool is_first = parameters.try_emplace(*name, *std::move(decoded)).second;
    if (!is_first) return refused(fmt::format("The query parameter {} must occur only once.", without_controls(*name)));
  }
  return parameters;
}

// Accept passwords only over TLS, where they are encrypted and the transport alone does not identify the client.
std::shared_ptr<const Secret> authorization_of(RawRequest& raw, const Peer& peer) {
  if (peer.transport != Peer::Transport::Tls || raw.authorization.empty()) return nullptr;
  return std::make_shared<const Secret>(std::move(raw.authorization));
}

}  // namespace

tl::expected<Request, RefusedRequest> read_request(RawRequest raw, std::shared_ptr<const Peer> peer) {
  auto body = inflated(std::move(raw.body), raw.content_encoding);
  if (!body) return tl::unexpected(body.error());
  std::string_view target = raw.target;
  auto path = percent_decoded(take_until(target, '?'));
  if (!path) return refused_encoding();
  auto query = parse_query(target);
  if (!query) return tl::unexpected(query.error());
  auto authorization = authorization_of(raw, *peer);
  return Request{.method = std::move(raw.method),
                 .path = *std::move(path),
                 .query = *std::move(query),
                 .content_type = std::move(raw.content_type),
                 .accept = std::move(raw.accept),
                 .if_match = std::move(raw.if_match),
                 .if_none_match = std::move(raw.if_none_match),
                 .idempotency_key = std::move(raw.idempotency_key),
                 .body = *std::move(body),
                 .authorization = std::move(authorization),
                 .peer = std::move(peer)};
}

}  // namespace nrd::http
