#include "cli/documents.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/json/fields.h"
#include "cli/user_file.h"

namespace nrd::cli {
namespace {

constexpr size_t kLongestFile = size_t{16} << 20;

// `rdt.cache` and `plugins.pstate` repeat `cache` and `pstate`.
constexpr std::array<std::string_view, 12> kRequested = {"id",   "core_ids", "policy", "cache", "l2",   "rdt",
                                                         "unit", "cgroup",   "pstate", "uuid",  "name", "labels"};
constexpr std::array<std::string_view, 2> kOfOwner = {"cgroup", "within_seconds"};
constexpr std::array<std::string_view, 4> kOfOnload = {"profile", "profiles", "env", "force"};

OrStop<std::vector<tree::Document>> read_one(const std::string& path) {
  const std::optional<std::string> text = TRY(or_stop(read_user_file(path, kLongestFile), kUsage));
  if (!text) return stop(kUsage, path + ": file not found");
  return or_stop(tree::read_documents(*text, path), kUsage);
}

template <typename Names>
json::Value only(const json::Value& object, const Names& names) {
  std::vector<json::Member> members;
  for (const json::Member& member : object.members()) {
    if (std::ranges::find(names, member.key) != names.end() && !is_empty(member.value)) members.push_back(member);
  }
  return json::Value::object(std::move(members));
}

void collect(const json::Value* before, const json::Value* after, const std::string& at,
             std::vector<std::string>& found) {
  if (before && after && *before == *after) return;
  const bool are_objects = (!before || before->is_object()) && (!after || after->is_object());
  if (!are_objects) {
    found.push_back(
        fmt::format("{}: {} -> {}", at, before ? json::to_json(*before) : "-", after ? json::to_json(*after) : "-"));
    return;
  }
  std::vector<std::string> keys;
  for (const json::Value* side : {before, after}) {
    if (!side) continue;
    for (const json::Member& member : side->members()) {
      if (std::ranges::find(keys, member.key) == keys.end()) keys.push_back(member.key);
    }
  }
  for (const std::string& key : keys) {
    collect(before ? before->find(key) : nullptr, after ? after->find(key) : nullptr, json::pointer(at, key), found);
  }
}

}  // namespace

OrStop<std::vector<tree::Document>> read_documents_at(const std::string& path) {
  if (path == "-") {
    const std::string text = TRY(or_stop(read_standard_input(kLongestFile), kUsage));
    return or_stop(tree::read_documents(text, "standard input.yaml"), kUsage);
  }
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) return read_one(path);
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(path, error)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with('.') && tree::is_document(name)) files.push_back(entry.path());
  }
  if (error) return stop(kUsage, fmt::format("{}: cannot read directory: {}", path, error.message()));
  if (files.empty()) {
    return stop(kUsage,
                path + ": no documents in this directory; expected files ending in .toml, .yaml, .yml or .json");
  }
  std::ranges::sort(files);
  std::vector<tree::Document> all;
  for (const std::string& file : files) {
    for (tree::Document& document : TRY(read_one(file))) all.push_back(std::move(document));
  }
  return all;
}

bool is_empty(const json::Value& value) {
  return value.is_null() || (value.is_object() && value.members().empty()) ||
         (value.kind() == json::Value::Kind::Array && value.items().empty());
}

json::Value request_in(const json::Value& workload) {
  std::vector<json::Member> members;
  const json::Value requested = only(workload, kRequested);
  for (const json::Member& member : requested.members()) {
    if (member.key != "rdt") {
      members.push_back(member);
    } else if (json::Value mba = only(member.value, std::array<std::string_view, 1>{"mba"}); !mba.members().empty()) {
      members.push_back({"rdt", std::move(mba)});
    }
  }
  if (const json::Value* cpu = workload.find("cpu_request")) members.push_back({"cpu", *cpu});
  if (const json::Value owner = only(part(workload, "owner"), kOfOwner); !owner.members().empty())
    members.push_back({"owner", owner});
  if (const json::Value* onload = workload.find("onload")) members.push_back({"onload", only(*onload, kOfOnload)});
  return json::Value::object(std::move(members));
}

std::vector<std::string> differences(const json::Value& before, const json::Value& after) {
  std::vector<std::string> found;
  collect(&before, &after, "", found);
  return found;
}

// JSON is YAML as well.
std::string document_with(const std::vector<json::Value>& workloads) {
  if (workloads.empty()) return "workloads: []\n";
  std::string text = "workloads:\n";
  for (const json::Value& workload : workloads) text += fmt::format("- {}\n", json::to_json(workload));
  return text;
}

}  // namespace nrd::cli
