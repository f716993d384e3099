// What the commands of nrdctl onload share: the body of a wish, and an operation that is followed to its end.
#pragma once

#include <optional>
#include <string>

#include "api/json/writer.h"
#include "cli/client.h"
#include "cli/onload/onload.h"

namespace nrd::cli {

// nullopt: a parameter is none, and that was complained about.
std::optional<std::string> load_request(const OnloadRequest& wish);
// "-K -s" as an array.
void render_words(json::Writer& w, const std::string& text);
// The answer to what begins an operation: followed, if there is something to follow.
int follow_answer(const Client& client, Output output, const Result<Answer>& answer);

}  // namespace nrd::cli
