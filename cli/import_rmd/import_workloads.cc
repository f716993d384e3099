#include "cli/import_rmd/import_workloads.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>

#include "base/control.h"
#include "base/json/object.h"
#include "base/json/reader.h"
#include "cli/answer.h"
#include "cli/documents.h"
#include "cli/user_file.h"

namespace nrd::cli {
namespace {

using json::Value;

constexpr size_t kDumpBytes = size_t{4} << 20;
constexpr long kNotSupported = 422;

std::string word(const Value& workload, std::string_view key) {
  const std::string* text = part(workload, key).as_string();
  return text != nullptr ? *text : std::string();
}

// Drop empty objects: RMD writes "mba": {} if nothing was requested.
Value without_empty(const Value& object) {
  std::vector<json::Member> members;
  for (const json::Member& member : object.members()) {
    if (!is_empty(member.value)) members.push_back(member);
  }
  return Value::object(std::move(members));
}

Value body_of(const Value& workload) {
  std::vector<json::Member> body;
  for (const char* key : {"core_ids", "task_ids"}) {
    if (const Value* list = workload.find(key); list != nullptr && !is_empty(*list)) body.push_back({key, *list});
  }
  if (const std::string policy = word(workload, "policy"); !policy.empty()) {
    body.push_back({"policy", Value::string(policy)});
    return Value::object(std::move(body));
  }
  for (const char* key : {"rdt", "plugins", "cache", "pstate"}) {  // of RMD 0.3, and of 0.2
    const Value* part = workload.find(key);
    if (part == nullptr) continue;
    const Value said = without_empty(*part);
    if (!said.members().empty()) body.push_back({key, said});
  }
  return Value::object(std::move(body));
}

std::string items_of(const Value& workload, const char* key) {
  std::string text;
  for (const Value& item : part(workload, key).items()) {
    if (const std::string* one = item.as_string()) text += (text.empty() ? "" : ",") + *one;
  }
  return text;
}

// RMD sorts ids as text: "1", "10", "2".
bool is_older(const DumpedWorkload& a, const DumpedWorkload& b) {
  return std::pair(a.id.size(), a.id) < std::pair(b.id.size(), b.id);
}

std::string reason_of(const Answer& answer) {
  return fmt::format("{} {}", answer.status, without_controls(refusal_of(answer).error));
}

// The granted pool, class and id, and differences from RMD's workload.
std::string created_as(const DumpedWorkload& workload, const Value& made) {
  std::string text = fmt::format("created, {}, class {}", text_at(made, "pool"), text_at(made, "cos_name"));
  if (text_at(made, "id") != workload.id) text += fmt::format("; new id {} assigned by nrd", text_at(made, "id"));
  if (!workload.origin.empty() && text_at(made, "origin") != workload.origin) {
    text += fmt::format("; its origin is {}, not {}", text_at(made, "origin"), workload.origin);
  }
  return text;
}

// If nrd assigns ids itself, it rejects the id; retry without one.
Result<Answer> post(const Client& client, const DumpedWorkload& workload) {
  Result<Answer> answer = client.post("/v1/workloads", workload.request(Id::Keep));
  const bool gives_ids = answer && answer->status == kNotSupported && answer->body.find("\"/id\"") != std::string::npos;
  return gives_ids ? client.post("/v1/workloads", workload.request(Id::Leave)) : answer;
}

}  // namespace

std::string DumpedWorkload::request(Id with) const {
  json::Writer w;
  w.begin_object();
  if (with == Id::Keep) json::write_members(w, {{"id", json::given(id)}});
  for (const json::Member& member : body.members()) json::write(w.key(member.key), member.value);
  json::write_members(w, {{"uuid", json::given(uuid)}, {"origin", json::given(origin)}});
  w.end_object();
  return w.take();
}

Result<std::vector<DumpedWorkload>> workloads_of_dump(const std::string& text) {
  const Value dump = TRY(json::parse(text));
  if (dump.kind() != Value::Kind::Array) {
    return fail(ErrorCode::BadRequest, "expected the list from RMD's GET /v1/workloads");
  }
  std::vector<DumpedWorkload> workloads;
  for (size_t i = 0; i < dump.items().size(); ++i) {
    const Value& one = dump.items()[i];
    if (!one.is_object()) return fail(ErrorCode::BadRequest, json::pointer("", i) + " is not a workload");
    const std::string tasks = items_of(one, "task_ids");
    workloads.push_back({.id = word(one, "id"),
                         .uuid = word(one, "uuid"),
                         .origin = word(one, "origin"),
                         .cores = tasks.empty() ? "CPUs " + items_of(one, "core_ids") : "tasks " + tasks,
                         .body = body_of(one)});
  }
  std::ranges::stable_sort(workloads, is_older);
  return workloads;
}

OrStop<> import_workloads(const Client& client, const std::string& path) {
  const std::optional<std::string> text = TRY(or_stop(read_user_file(path, kDumpBytes)));
  if (!text) return stop(kRefused, path + ": file not found");
  const Result<std::vector<DumpedWorkload>> workloads = workloads_of_dump(*text);
  if (!workloads) return stop(kRefused, fmt::format("{}: {}", path, workloads.error().message));
  size_t created = 0;
  for (const DumpedWorkload& workload : *workloads) {
    const Answer answer = TRY(or_stop(post(client, workload), kUnreachable));
    print("workload {} ({}): ", without_controls(workload.id), without_controls(workload.cores));
    const bool is_made = answer.status == kCreated;
    const Result<Value> made = is_made ? json::parse(answer.body) : fail(ErrorCode::Internal, {});
    created += is_made ? 1 : 0;
    print("{}\n", made ? created_as(workload, *made) : "refused: " + reason_of(answer));
  }
  print("{} of {} workloads created\n", created, workloads->size());
  return created == workloads->size() ? OrStop<>() : stop(kRefused);
}

}  // namespace nrd::cli
