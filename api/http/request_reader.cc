#include "api/http/request_reader.h"

#include <pistache/http.h>

#include <exception>
#include <optional>
#include <utility>

#include "api/http/inflate.h"
#include "api/http/limits.h"
#include "api/http/percent.h"
#include "base/log.h"

namespace nrd::http {
namespace {

namespace pistache = Pistache::Http;

// Bytes added around the client's target and body.
constexpr size_t kFrameSize = 256;

std::string written_anew(const RawRequest& raw) {
  std::string text;
  text.reserve(kFrameSize + raw.target.size() + raw.body.size());
  text.append(raw.method).append(" ").append(raw.target).append(" HTTP/1.1\r\nHost: nrd\r\n");
  text.append("Content-Length: ").append(std::to_string(raw.body.size())).append("\r\n\r\n").append(raw.body);
  return text;
}

std::optional<std::map<std::string, std::string>> decoded_query(const pistache::Uri::Query& query) {
  std::map<std::string, std::string> decoded;
  for (auto parameter = query.parameters_begin(); parameter != query.parameters_end(); ++parameter) {
    auto key = percent_decoded(parameter->first);
    auto value = percent_decoded(parameter->second);
    if (!key || !value) return std::nullopt;
    decoded.insert_or_assign(std::move(*key), std::move(*value));
  }
  return decoded;
}

// Accept passwords only over TLS, where they are encrypted and the transport alone does not identify the client.
std::shared_ptr<const Secret> authorization_of(RawRequest& raw, const Peer& peer) {
  if (peer.transport != Peer::Transport::Tls || raw.authorization.empty()) return nullptr;
  return std::make_shared<const Secret>(std::move(raw.authorization));
}

}  // namespace

struct RequestReader::Library {
  pistache::RequestParser parser{kFrameSize + kTargetLimit + kBodyLimit};
};

RequestReader::RequestReader() : library_(std::make_unique<Library>()) {}
RequestReader::~RequestReader() = default;

tl::expected<Request, RefusedRequest> RequestReader::read(RawRequest raw, std::shared_ptr<const Peer> peer) {
  auto body = inflated(std::move(raw.body), raw.content_encoding);
  if (!body) return tl::unexpected(body.error());
  raw.body = std::move(*body);
  try {
    const std::string text = written_anew(raw);
    pistache::RequestParser& parser = library_->parser;
    parser.reset();
    if (parser.feed(text.data(), text.size()) && parser.parse() == pistache::Private::State::Done) {
      const pistache::Request& from = parser.request;
      auto path = percent_decoded(from.resource());
      auto query = decoded_query(from.query());
      if (path && query) {
        auto authorization = authorization_of(raw, *peer);
        return Request{.method = std::move(raw.method),
                       .path = std::move(*path),
                       .query = std::move(*query),
                       .content_type = std::move(raw.content_type),
                       .accept = std::move(raw.accept),
                       .if_match = std::move(raw.if_match),
                       .if_none_match = std::move(raw.if_none_match),
                       .idempotency_key = std::move(raw.idempotency_key),
                       .body = from.body(),
                       .authorization = std::move(authorization),
                       .peer = std::move(peer)};
      }
    }
  } catch (const std::exception& thrown) {
    log::debug("REQUEST_REFUSED", "Pistache cannot parse the request; answering 400", {{"DETAIL", thrown.what()}});
    library_ = std::make_unique<Library>();  // discards its parse state
  }
  return tl::unexpected(RefusedRequest{.status = 400, .line = "Invalid percent-encoding in the path or query."});
}

}  // namespace nrd::http
