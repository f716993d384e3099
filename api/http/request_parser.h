// Parses requests from a client's bytes, one at a time, and accepts only complete and strictly valid ones.
//
// It refuses everything that HTTP parsers interpret differently, to prevent request smuggling: bare line feeds, folded
// headers, two lengths, chunk extensions, trailers, an absolute target. Pistache's parser is not used: chunks can make
// it loop forever, and its typed headers throw or answer by themselves.
//
//   RequestParser parser;
//   switch (parser.read(input)) { ... }   // repeat as bytes arrive; removes consumed bytes from `input`
//
// A pure function of the bytes: no thread, clock or descriptor.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/secret.h"

namespace nrd::http {

// A request as received, with its complete body without chunk framing.
struct RawRequest {
  std::string method;        // a known HTTP method: "GET"
  std::string target;        // origin form, still encoded: "/v1/workloads?uuid=a"
  std::string content_type;  // empty if absent
  std::string content_encoding;
  std::string idempotency_key;
  std::string accept;    // several headers are joined by ", "
  std::string if_match;  // the same
  std::string if_none_match;
  Secret authorization;
  std::string body;
  bool closes = false;  // the client requests to close the connection after the response
};

struct RefusedRequest {
  int status = 400;
  std::string line;  // the error and what is allowed, without line end
};

class RequestParser {
 public:
  // Accepted Host headers. Without authentication, a web page in a browser on the node could send requests to
  // 127.0.0.1, by DNS rebinding or across origins. The Host and Origin headers of the browser reveal both.
  enum class HostPolicy {
    Any,
    LoopbackOnly,  // Host is localhost or a loopback address; Origin, which only browsers send, is refused
  };

  explicit RequestParser(HostPolicy whom = HostPolicy::Any) : host_policy_(whom) {}

  enum class ReadResult {
    NeedsMore,  // consumed all of `input`, or it ends within a head
    Complete,   // call take() before the next read()
    Refused,    // see refusal(); the connection cannot be resynchronized
  };

  // Removes at most one request from the front of `input`, and wipes the bytes of secrets.
  ReadResult read(std::string& input);

  RawRequest take();
  const RefusedRequest& refusal() const { return refusal_; }

  // True once the request line of a HEAD request was read: a refusal of it has no body either.
  bool is_head() const { return request_.method == "HEAD"; }
  bool in_body() const { return state_ != State::Head; }
  // True once, if the client expects "100 Continue" before it sends the body.
  bool take_continue();

 private:
  enum class State { Head, Body, ChunkSize, ChunkData, ChunkEnd, LastChunkEnd, Complete, Refused };

  // Each consumes from the front of `rest` and returns whether it made progress.
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

  HostPolicy host_policy_;
  State state_ = State::Head;
  RawRequest request_;
  RefusedRequest refusal_;
  size_t searched_ = 0;   // bytes of the head without its end
  size_t remaining_ = 0;  // of the body or the chunk
  // State of the current head.
  size_t headers_ = 0;
  bool is_http10_ = false;
  bool has_host_ = false;
  bool has_length_ = false;
  bool is_chunked_ = false;
  bool expects_continue_ = false;
  bool has_secret_ = false;
};

}  // namespace nrd::http
