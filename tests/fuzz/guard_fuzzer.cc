// The guard: what it takes does not depend on how the bytes are cut, and what it takes can be read.
#include <string>
#include <vector>

#include "api/http/limits.h"
#include "api/http/request_parser.h"
#include "api/http/request_reader.h"
#include "tests/fuzz/one_input.h"

namespace {

using nrd::fuzz::promise;
using nrd::http::RequestParser;

struct Seen {
  std::vector<std::string> requests;
  int refusal = 0;
};

std::string summary(const nrd::http::RawRequest& request) {
  return request.method + "\n" + request.target + "\n" + request.content_type + "\n" + request.accept + "\n" +
         (request.closes ? "closes\n" : "\n") + request.body;
}

Seen seen_in_pieces(std::string_view bytes, size_t piece) {
  Seen seen;
  RequestParser guard;
  std::string input;
  while (!bytes.empty() && seen.refusal == 0) {
    input += bytes.substr(0, piece);
    bytes.remove_prefix(std::min(piece, bytes.size()));
    RequestParser::ReadResult outcome = guard.read(input);
    for (; outcome == RequestParser::ReadResult::Complete; outcome = guard.read(input))
      seen.requests.push_back(summary(guard.take()));
    if (outcome == RequestParser::ReadResult::Refused) seen.refusal = guard.refusal().status;
    promise(outcome == RequestParser::ReadResult::Refused || input.size() <= nrd::http::kHeadLimit);
  }
  return seen;
}

void hand_on(std::string_view bytes) {
  static const auto peer = std::make_shared<const nrd::http::Peer>();
  std::string input(bytes);
  RequestParser guard;
  while (guard.read(input) == RequestParser::ReadResult::Complete) {
    auto raw = guard.take();
    promise(raw.body.size() <= nrd::http::kBodyLimit && raw.target.size() <= nrd::http::kTargetLimit);
    const std::string body = raw.body;
    const bool is_packed = !raw.content_encoding.empty();
    const auto request = nrd::http::read_request(std::move(raw), peer);
    if (request) {
      promise(request->path.starts_with('/') && request->body.size() <= nrd::http::kBodyLimit);
      promise(is_packed || request->body == body);
    } else {
      promise(request.error().status >= 400 && request.error().status < 500);
    }
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const std::string_view text = nrd::fuzz::as_text(bytes, size);
  const Seen whole = seen_in_pieces(text, std::max<size_t>(size, 1));
  // A line that is too long may get another status before its end has arrived.
  const Seen bytewise = seen_in_pieces(text, 1);
  promise(whole.requests == bytewise.requests && (whole.refusal == 0) == (bytewise.refusal == 0));
  hand_on(text);
  return 0;
}
