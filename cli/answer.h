// What the daemon answered: printed, complained about, or taken apart.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/json/value.h"
#include "cli/client.h"
#include "cli/printer.h"

namespace nrd::cli {

enum Exit : int { kDone = 0, kRefused = 1, kUsage = 2, kUnreachable = 3 };

// With blanks up to that width.
std::string padded(std::string text, size_t width);
// On stderr; kRefused.
int report_failure(const std::string& text);

// The body of a good answer; otherwise says why on stderr and sets the exit code.
std::optional<std::string> body_of(const Result<Answer>& answer, int& exit);
std::optional<json::Value> parsed(const std::string& body, int& exit);
// Both in one.
std::optional<json::Value> value_of(const Result<Answer>& answer, int& exit);

// Text or number under `key`, without control characters, which names of strangers' programs may hold; "-" if there is
// nothing.
std::string text_of(const json::Value& object, std::string_view key);
// What `of` has under `key`; null if nothing.
const json::Value& part(const json::Value& of, std::string_view key);

}  // namespace nrd::cli
