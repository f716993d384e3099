// Converts an Error to an HTTP response: a status with one line of text or a problem document (RFC 9457).
//
// Error.detail (errno, paths, library codes) is never sent: the response carries the error to log_failures().
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "api/http/message.h"
#include "api/routing/content_negotiation.h"
#include "base/result.h"

namespace nrd::routing {

const char* name_of(ErrorCode code);
int status_of(ErrorCode code);

struct Problem {
  int status = 500;
  std::string code{};                    // "CpuTaken": stable, for programs; also the end of the problem's type
  std::string line{};                    // the text/plain response, without line end
  std::string detail{};                  // the same for problem+json, without RMD's phrases
  std::string field{};                   // JSON pointer into the request, empty if no single field is at fault
  std::string allowed{};                 // accepted values, empty if they do not fit on a line
  std::shared_ptr<const Error> cause{};  // with a detail; null: none
};

// Any failure, with its text/plain line.
Problem problem_of(const Error& error, std::string line);
// For a workload request; `uuid` is the one in its body.
Problem problem_of_workload(const Error& error, std::string_view uuid = {});
// For any other request.
Problem problem_of_request(const Error& error);
// The body is not JSON.
Problem problem_of_body(const Error& error);

http::Response problem_response(const Problem& problem, ErrorStyle style);

}  // namespace nrd::routing
