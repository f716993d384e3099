// Reads requests out of a client's bytes, one at a time, and lets only complete and strictly valid ones through.
//
// What it refuses is refused because some other reader of HTTP might see something else in it: bare line feeds, folded
// headers, two lengths, chunk extensions, trailers, an absolute target. The library's own parser sees a request only
// after this one has taken it apart and it has been written anew (request_reader.h).
//
//   RequestParser parser;
//   switch (parser.read(input)) { ... }   // again and again, as bytes come; takes what it has used out of `input`
//
// No thread of its own, no clock, no descriptor: a function of the bytes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/secret.h"

namespace nrd::http {

// A request as it was written, but for its body, which is whole and without chunks.
struct RawRequest {
  std::string method;        // one that HTTP knows: "GET"
  std::string target;        // origin form, still encoded: "/v1/workloads?uuid=a"
  std::string content_type;  // empty if absent
  std::string content_encoding;
  std::string idempotency_key;
  std::string accept;    // several headers are joined by ", "
  std::string if_match;  // the same
  std::string if_none_match;
  Secret authorization;
  std::string body;
  bool closes = false;  // the client wants no further answer on this connection
};

struct RefusedRequest {
  int status = 400;
  std::string line;  // what was wrong and what is allowed, without line end
};

class RequestParser {
 public:
  // Whom requests may be meant for. Where nobody logs in, a web page that the node's own browser shows could ask as
  // well, under a name of its own that resolves to 127.0.0.1 (DNS rebinding) or across origins. A browser tells both.
  enum class MeantFor {
    Anyone,
    Loopback,  // Host is localhost or a loopback address; Origin, which only browsers send, is refused
  };

  explicit RequestParser(MeantFor whom = MeantFor::Anyone) : meant_for_(whom) {}

  enum class Outcome {
    NeedsMore,  // all of `input` is used, or it is the beginning of a head
    Complete,   // take() it before the next read()
    Refused,    // refusal() says why; what follows on this connection can no longer be told apart
  };

  // Takes at most one request from the front of `input`. Where that has held a secret, nothing of it is left there.
  Outcome read(std::string& input);

  RawRequest take();
  const RefusedRequest& refusal() const { return refusal_; }

  bool in_body() const { return state_ != State::Head; }
  // True once, if the client waits for a "100 Continue" before it sends the body.
  bool take_continue();

 private:
  enum class State { Head, Body, ChunkSize, ChunkData, ChunkEnd, LastChunkEnd, Complete, Refused };

  // Each takes what it can from the front of `rest` and returns whether it got anywhere.
  bool step(std::string_view& rest);
  bool read_head(std::string_view& rest);
  bool read_body(std::string_view& rest);
  bool read_chunk_size(std::string_view& rest);
  bool read_line_end(std::string_view& rest, State next);

  bool accept_head(std::string_view head);
  bool accept_request_line(std::string_view line);
  bool accept_header(std::string_view line);
  bool accept_host(std::string_view value);
  bool accept_single(std::string& header, const std::string& name, std::string_view value);
  bool accept_known_header(const std::string& name, std::string_view value);
  bool accept_length(std::string_view value);
  bool accept_transfer_coding(std::string_view value);
  bool accept_framing();
  bool refuse(int status, std::string line);

  MeantFor meant_for_;
  State state_ = State::Head;
  RawRequest request_;
  RefusedRequest refusal_;
  size_t searched_ = 0;   // of the head: no end in these bytes
  size_t remaining_ = 0;  // of the body or the chunk
  // Of the head that is being read.
  size_t headers_ = 0;
  bool is_http10_ = false;
  bool has_host_ = false;
  bool has_length_ = false;
  bool is_chunked_ = false;
  bool expects_continue_ = false;
  bool has_secret_ = false;
};

}  // namespace nrd::http
