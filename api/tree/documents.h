// Documents that declare workloads, in TOML, YAML or JSON: the body of PUT /v1/workloads/{id}, and its id.
//
//   feed.yaml:  core_ids: ["4-7"]          a document; its id is the name of the file without suffix, unless it has one
//               cache: {max: 2, min: 2}
//
//   all.toml:   [[workloads]]              several, each with an id
//               id = "feed"
//               core_ids = ["4-7"]
#pragma once

#include <string>
#include <vector>

#include "base/json/value.h"
#include "base/result.h"

namespace nrd::tree {

struct Document {
  std::string id;
  json::Value body;   // with the id, if it was written
  std::string place;  // for messages: "feed.yaml", "all.toml, workload 2"
};

// True for names with a suffix that documents may have.
bool is_document(const std::string& name);
// `name`: of the file; its suffix tells the format.
Result<std::vector<Document>> read_documents(const std::string& text, const std::string& name);

}  // namespace nrd::tree
