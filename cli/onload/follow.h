// Shared by the nrdctl onload commands: builds the request body and follows an operation to its end.
#pragma once

#include <optional>
#include <string>

#include "base/json/writer.h"
#include "cli/client.h"
#include "cli/onload/onload.h"

namespace nrd::cli {

// nullopt: a parameter is malformed; the error was printed.
std::optional<std::string> load_request(const OnloadRequest& request);
// "-K -s" as a JSON array.
void render_words(json::Writer& w, const std::string& text);
// Handles the response to a request that may start an operation; follows the operation if there is one.
int follow_answer(const Client& client, Output output, const Result<Answer>& answer);

}  // namespace nrd::cli
