// Shared by the nrdctl onload commands: builds the request body and follows an operation to its end.
#pragma once

#include <string>
#include <vector>

#include "cli/answer.h"
#include "cli/onload/onload.h"

namespace nrd::cli {

// The body of a request to load a version; kUsage: a parameter is malformed.
Outcome<std::string> load_request(const OnloadRequest& request);
// "-K -s" -> {"-K", "-s"}
std::vector<std::string> words_of(const std::string& text, char separator);
// Handles the response to a request that may start an operation; follows the operation if there is one.
Outcome<> follow_answer(const Client& client, Output output, const Result<Answer>& answer);

}  // namespace nrd::cli
