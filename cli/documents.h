// Documents of workloads (api/tree/documents.h): what apply, diff, restore and -f read, and export and backup write.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "api/tree/documents.h"
#include "base/json/value.h"
#include "cli/answer.h"

namespace nrd::cli {

// Of a file, of all documents in a folder, or of standard input ("-", in YAML or JSON).
OrStop<std::vector<tree::Document>> read_documents_at(const std::string& path);

// Null, or an object or array without content.
bool is_empty(const json::Value& value);

// The members of a workload that a client requests, without those that nrd sets and without processes, which do not
// outlive a boot.
json::Value request_in(const json::Value& workload);

// Members that differ, by JSON pointer: "/cache/max: 2 -> 3"; "-" for one that is absent.
std::vector<std::string> differences(const json::Value& before, const json::Value& after);

// A document with all these workloads, one per line, in YAML.
std::string document_with(const std::vector<json::Value>& workloads);

}  // namespace nrd::cli
