// Candidates for the shell's completion: nrdctl __complete WORD... prints one a line. The last word is incomplete,
// possibly empty. etc/completion/ has the shells' part.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "cli/client.h"

namespace nrd::cli {

// Where the next word of a command comes from.
struct CompletionSource {
  std::string_view command;  // "workload show"
  const char* path;
  std::vector<const char*> members;  // of each item; empty: the keys of an object
};

// Commands and options by what was declared; ids, uuids, names, policies and what acceleration_sources() says by the
// daemon, if it answers.
std::vector<std::string> completions(const CLI::App& app, const Client& client, const std::vector<std::string>& words);

// The endpoint of the words typed so far (--socket, --url, --cert, --key, --cacert); otherwise `to`.
Endpoint endpoint_in(const std::vector<std::string>& words, Endpoint to);

// For a mistyped command or option: "did you mean workload?"; empty if nothing is alike.
std::string advice(const CLI::App& app, int argc, char** argv);

}  // namespace nrd::cli
