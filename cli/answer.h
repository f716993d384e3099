// Prints, checks and parses responses of the daemon.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/json/value.h"
#include "cli/client.h"
#include "cli/printer.h"

namespace nrd::cli {

enum Exit : int { kDone = 0, kRefused = 1, kUsage = 2, kUnreachable = 3 };

// Pads `text` with blanks up to `width`.
std::string padded(std::string text, size_t width);
// Prints to stderr; returns kRefused.
int report_failure(const std::string& text);

// The body of a successful response; otherwise prints the error and sets the exit code.
std::optional<std::string> body_of(const Result<Answer>& answer, int& exit);
std::optional<json::Value> parsed(const std::string& body, int& exit);
// body_of() and parsed() combined.
std::optional<json::Value> value_of(const Result<Answer>& answer, int& exit);
// With --json prints the response; otherwise returns it for drawing, like value_of().
std::optional<json::Value> value_to_draw(const Result<Answer>& answer, Output output, int& exit);

// Text or number under `key`, without control characters (foreign program names may contain some); "-" if absent.
std::string text_of(const json::Value& object, std::string_view key);
// The member `key` of `of`; null if absent.
const json::Value& part(const json::Value& of, std::string_view key);

}  // namespace nrd::cli
