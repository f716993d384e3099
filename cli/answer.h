// Checks and parses responses of the daemon, and how a command ends.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

#include "base/json/value.h"
#include "base/result.h"
#include "cli/client.h"
#include "cli/printer.h"

namespace nrd::cli {

// Documented in nrdctl(1).
enum Exit : int {
  kDone = 0,
  kRefused = 1,
  kUsage = 2,
  kUnreachable = 3,
  kNoSuch = 4,
  kTryLater = 75,      // EX_TEMPFAIL of sysexits.h
  kNotPermitted = 77,  // EX_NOPERM
};

// Ends a command early.
struct Stop {
  int exit = kRefused;
  std::string error{};  // for standard error; empty: all was printed
  std::string body{};   // the refusal as the daemon sent it, if it is JSON
};
// The result of a command or of a part of it. TRY() passes a Stop on.
template <typename T = void>
using OrStop = tl::expected<T, Stop>;

inline tl::unexpected<Stop> stop(int exit, std::string error = {}) {
  return tl::unexpected(Stop{exit, std::move(error)});
}
// The message of an error becomes that of the command.
template <typename T>
OrStop<T> or_stop(Result<T> result, int exit = kRefused) {
  return std::move(result).map_error([exit](const Error& error) { return Stop{exit, error.message}; });
}
// Prints the error, if any, and returns the exit code. With --json the error is JSON on standard output.
int report(const OrStop<>& done, const Output& output = {});

// What became of a workload or group, "workload feed created"; with --json an object on a line of its own.
void print_result(const Output& output, const char* kind, const std::string& name, const char* result);

// Pads `text` with blanks up to `width`.
std::string padded(std::string text, size_t width);

// The end of a command whose request was refused (RFC 9457), in the words of the command line:
//
//   {"detail": "expected a whole number of ways, found \"x\"", "field": "/cache/max", "allowed": "0 to 4294967295", …}
//   --max: expected a whole number of ways, found "x"; allowed: 0 to 4294967295
//
// The client has the names (naming()); of a document, which has members, not options, they are JSON pointers.
Stop refusal_of(const Answer& answer);
// Likewise of a new workload: what it conflicts with may be gone later.
Stop refusal_of_new(const Answer& answer);

// The option of nrdctl for a member of a workload; the JSON pointer if there is none.
std::string option_of(const std::string& pointer);

// The body of a successful response.
OrStop<std::string> body_of(const Result<Answer>& answer);
OrStop<json::Value> parsed(const std::string& body);
// body_of() and parsed() combined.
OrStop<json::Value> value_of(const Result<Answer>& answer);
// value_of() for drawing; with --json prints the response and stops.
OrStop<json::Value> value_to_draw(const Result<Answer>& answer, Output output);

// A text or number, without control characters (foreign program names may contain some); empty for other values.
std::string text_in(const json::Value& value);
// That under `key`; "-" if absent.
std::string text_at(const json::Value& object, std::string_view key);
// The same; empty if absent.
std::string text_or_nothing(const json::Value& object, std::string_view key);
// The texts and numbers of an array, with commas; "-" if there is none.
std::string texts_of(const json::Value& array);
bool is_true(const json::Value& object, std::string_view key);
// The member `key` of `of`; null if absent.
const json::Value& part(const json::Value& of, std::string_view key);

}  // namespace nrd::cli
