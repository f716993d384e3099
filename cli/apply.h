// Workloads by documents: nrdctl apply, diff, export, backup and restore.
#pragma once

#include <string>

#include "cli/answer.h"
#include "cli/client.h"
#include "cli/printer.h"

namespace nrd::cli {

struct Apply {
  std::string path;    // file, folder, or "-"
  std::string set;     // written to the label nrd/set; empty: none
  bool prune = false;  // delete workloads of the set that no document names
  bool is_dry = false;
};

// Creates and replaces workloads, one PUT a document. A refused document blocks no other; kRefused at the end.
OrStop<> apply(const Client& client, Output output, const Apply& wanted);
// Shows what apply() would change. kRefused if anything would.
OrStop<> show_differences(const Client& client, Output output, const Apply& wanted);
// Prints a document with all workloads, which apply() takes; with --json as a JSON object.
OrStop<> export_workloads(const Client& client, Output output);
// The same to a new file, readable by its owner only.
OrStop<> back_up(const Client& client, Output output, const std::string& file);

}  // namespace nrd::cli
