#include "api/tree/documents.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "api/tree/tree.h"
#include "base/ascii.h"
#include "base/json/reader.h"
#include "base/json/validation.h"

namespace nrd::tree {
namespace {

constexpr std::array<std::string_view, 4> kSuffixes = {".toml", ".yaml", ".yml", ".json"};
constexpr std::string_view kList = "workloads";

Result<json::Value> tree_of(const std::string& text, const std::string& name) {
  if (name.ends_with(".toml")) return of_toml(text, name, KeyCase::AsWritten);
  if (!name.ends_with(".json")) return of_yaml(text, name, KeyCase::AsWritten);
  return json::parse(text, kTreeValues).map_error([&name](Error error) {
    error.message = fmt::format("{}: {}", name, error.message);
    return error;
  });
}

// "/etc/nrd/workloads.d/feed.toml" -> "feed"
std::string stem_of(const std::string& name) {
  const size_t begin = name.rfind('/') + 1;  // npos + 1: 0
  return name.substr(begin, name.rfind('.') - begin);
}

Result<Document> document_of(const json::Value& body, std::string id, std::string place) {
  if (!body.is_object()) return fail(ErrorCode::BadRequest, place + ": expected the members of a workload");
  if (const json::Value* written = body.find("id"); written && !json::is_absent(*written)) {
    const std::string* text = written->as_string();
    if (!text)
      return fail(ErrorCode::BadRequest,
                  fmt::format("{}: id: expected a string, found {}", place, json::shown(*written)));
    id = *text;
  }
  if (id.empty()) return fail(ErrorCode::BadRequest, place + ": id: is required in a list of workloads");
  return Document{.id = std::move(id), .body = body, .place = std::move(place)};
}

// Of the members of a workload, only cpu may be a list of objects, and cpu_request of an answer that is sent back.
bool is_list_of_workloads(const json::Member& member) {
  const std::vector<json::Value>& items = member.value.items();
  const std::string key = lower_case(member.key);
  return !items.empty() && items.front().is_object() && key != "cpu" && key != "cpu_request";
}

// Read as one workload, a file without content, as a full disk leaves it, or with a misspelt list would declare none of
// those that it had declared before: they would be deleted.
Result<void> check_workload(const json::Value& tree, const std::string& name) {
  if (!tree.is_object()) {
    return fail(ErrorCode::BadRequest, name + ": expected the members of a workload, or a list named workloads");
  }
  if (tree.members().empty()) {
    return fail(ErrorCode::BadRequest,
                name + ": is empty; expected the members of a workload, or \"workloads: []\" for none");
  }
  const auto list = std::ranges::find_if(tree.members(), is_list_of_workloads);
  if (list == tree.members().end()) return {};
  return fail(ErrorCode::BadRequest,
              fmt::format("{}: {} is a list; only one named workloads is expected", name, list->key));
}

}  // namespace

bool is_document(const std::string& name) {
  return std::ranges::any_of(kSuffixes, [&name](std::string_view suffix) { return name.ends_with(suffix); });
}

Result<std::vector<Document>> read_documents(const std::string& text, const std::string& name) {
  const json::Value tree = TRY(tree_of(text, name));
  const json::Value* list = tree.is_object() ? tree.find(kList) : nullptr;
  std::vector<Document> documents;
  if (!list) {
    TRY(check_workload(tree, name));
    documents.push_back(TRY(document_of(tree, stem_of(name), name)));
    return documents;
  }
  if (tree.members().size() > 1 || list->kind() != json::Value::Kind::Array) {
    return fail(ErrorCode::BadRequest,
                name + ": expected either the members of one workload or a list named workloads");
  }
  for (const json::Value& item : list->items()) {
    std::string place = fmt::format("{}, workload {}", name, documents.size() + 1);
    documents.push_back(TRY(document_of(item, "", std::move(place))));
  }
  return documents;
}

}  // namespace nrd::tree
