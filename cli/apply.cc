#include "cli/apply.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "base/json/fields.h"
#include "base/json/object.h"
#include "base/json/reader.h"
#include "base/origin.h"
#include "cli/documents.h"
#include "cli/find_workload.h"
#include "cli/new_files.h"

namespace nrd::cli {
namespace {

constexpr const char* kSetLabel = "nrd/set";

using Known = std::map<std::string, json::Value>;  // workloads by id

OrStop<Known> known_workloads(const Client& client) {
  Known known;
  const json::Value list = TRY(value_of(client.get("/v1/workloads")));
  for (const json::Value& workload : list.items()) known.emplace(text_or_nothing(workload, "id"), workload);
  return known;
}

// `body` with the label of the set.
json::Value with_set(const json::Value& body, const std::string& set) {
  if (set.empty() || !body.is_object()) return body;
  std::vector<json::Member> members;
  std::vector<json::Member> labels;
  for (const json::Member& member : body.members()) {
    if (member.key != "labels") members.push_back(member);
    if (member.key == "labels") labels = member.value.members();
  }
  std::erase_if(labels, [](const json::Member& label) { return label.key == kSetLabel; });
  labels.push_back({kSetLabel, json::Value::string(set)});
  members.push_back({"labels", json::Value::object(std::move(labels))});
  return json::Value::object(std::move(members));
}

struct Planned {
  tree::Document document;
  std::string text;  // body of the PUT
};

OrStop<std::vector<Planned>> plan(const Apply& wanted) {
  if (wanted.prune && wanted.set.empty()) {
    return stop(kUsage, "--prune requires --set: it deletes the workloads of this set that no document names");
  }
  std::vector<Planned> planned;
  std::set<std::string> ids;
  for (tree::Document& document : TRY(read_documents_at(wanted.path))) {
    if (wanted.path == "-" && !document.body.find("id"))
      return stop(kUsage, "standard input: id is required: there is no file name to take it from");
    if (!ids.insert(document.id).second)
      return stop(kUsage, fmt::format("{}: {} occurs twice", document.place, document.id));
    std::string text = json::to_json(with_set(document.body, wanted.set));
    planned.push_back({std::move(document), std::move(text)});
  }
  return planned;
}

// The ids of the set that no document names, if these are to be deleted.
std::vector<std::string> to_prune(const Known& known, const std::vector<Planned>& planned, const Apply& wanted) {
  std::vector<std::string> ids;
  if (!wanted.prune) return ids;
  for (const auto& [id, workload] : known) {
    const bool is_named =
        std::ranges::any_of(planned, [&known_id = id](const Planned& each) { return each.document.id == known_id; });
    if (!is_named && text_or_nothing(part(workload, "labels"), kSetLabel) == wanted.set) ids.push_back(id);
  }
  return ids;
}

// What the PUT would change; a new workload differs in everything.
OrStop<std::vector<std::string>> changes_of(const Client& client, const Known& known, const Planned& planned) {
  const std::string path = "/v1/workloads/" + encoded(planned.document.id) + "?dry_run=true";
  const json::Value preview = TRY(value_of(client.put(path, planned.text)));
  const auto before = known.find(planned.document.id);
  return differences(before == known.end() ? json::Value::object({}) : request_in(before->second),
                     request_in(part(preview, "workload")));
}

OrStop<> put(const Client& client, Output output, const Known& known, const Planned& planned) {
  const json::Value after = TRY(value_of(client.put("/v1/workloads/" + encoded(planned.document.id), planned.text)));
  const auto before = known.find(planned.document.id);
  const bool is_same = before != known.end() && text_at(before->second, "updated") == text_at(after, "updated") &&
                       request_in(before->second) == request_in(after);
  print_result(output, "workload", planned.document.id,
               before == known.end() ? "created"
               : is_same             ? "unchanged"
                                     : "changed");
  return {};
}

OrStop<> preview(const Client& client, Output output, const Known& known, const Planned& planned) {
  const std::vector<std::string> changes = TRY(changes_of(client, known, planned));
  print_result(output, "workload", planned.document.id,
               !known.contains(planned.document.id) ? "would be created"
               : changes.empty()                    ? "unchanged"
                                                    : "would be changed");
  return {};
}

OrStop<> prune(const Client& client, Output output, const std::string& id, bool is_dry) {
  if (!is_dry) {
    const OrStop<std::string> removed = body_of(client.remove("/v1/workloads/" + encoded(id)));
    const bool is_gone = removed || removed.error().exit == kNoSuch;  // such as with its owner, since it was listed
    if (!is_gone) return tl::unexpected(removed.error());
  }
  print_result(output, "workload", id, is_dry ? "would be deleted" : "deleted");
  return {};
}

std::string named(const Planned& planned) {
  return fmt::format("{}: workload {}", planned.document.place, planned.document.id);
}

// The exit code of the first refusal stays.
void note_refusal(const OrStop<>& done, Output output, const std::string& name, int& exit) {
  if (done) return;
  const int refused = report(stop(done.error().exit, fmt::format("{}: {}", name, done.error().error)), output);
  if (exit == kDone) exit = refused;
}

}  // namespace

OrStop<> apply(const Client& client, Output output, const Apply& wanted) {
  const std::vector<Planned> planned = TRY(plan(wanted));
  const Known known = TRY(known_workloads(client));
  int exit = kDone;
  // First, because it frees resources.
  for (const std::string& id : to_prune(known, planned, wanted)) {
    const OrStop<> done = prune(client, output, id, wanted.is_dry);
    if (!done && done.error().exit == kUnreachable) return done;
    note_refusal(done, output, "workload " + id, exit);
  }
  for (const Planned& each : planned) {
    const OrStop<> done = wanted.is_dry ? preview(client, output, known, each) : put(client, output, known, each);
    if (!done && done.error().exit == kUnreachable) return done;
    note_refusal(done, output, named(each), exit);
  }
  return exit == kDone ? OrStop<>() : stop(exit);
}

OrStop<> show_differences(const Client& client, Output output, const Apply& wanted) {
  const std::vector<Planned> planned = TRY(plan(wanted));
  const Known known = TRY(known_workloads(client));
  int exit = kDone;
  bool has_changes = false;
  for (const Planned& each : planned) {
    const OrStop<std::vector<std::string>> changes = changes_of(client, known, each);
    if (!changes) {
      note_refusal(tl::unexpected(changes.error()), output, named(each), exit);
      continue;
    }
    for (const std::string& change : *changes) {
      const std::string& id = each.document.id;
      output.json ? print_json(json::document({{"workload", id}, {"change", change}})) : print("{} {}\n", id, change);
    }
    has_changes |= !changes->empty();
  }
  for (const std::string& id : to_prune(known, planned, wanted)) {
    print_result(output, "workload", id, "would be deleted");
    has_changes = true;
  }
  if (exit != kDone) return stop(exit);
  return has_changes ? stop(kRefused) : OrStop<>();
}

namespace {

// Workloads of tasks alone end with their processes: nothing of them can be created again. Those of another origin come
// back from their source (a file, another client), which could not change them any more if apply had created them.
OrStop<std::vector<json::Value>> exported(const Client& client) {
  std::vector<json::Value> workloads;
  for (const auto& [id, workload] : TRY(known_workloads(client))) {
    if (const std::string origin = text_at(workload, "origin"); origin != kOriginRest) {
      print_error(fmt::format("workload {} left out: only its origin, {}, may create and change it", id, origin));
      continue;
    }
    const bool has_cpus = !part(workload, "core_ids").items().empty() || workload.find("cpu_request") ||
                          workload.find("unit") || workload.find("cgroup");
    if (!has_cpus || (workload.find("cpu_request") && !part(workload, "task_ids").items().empty())) {
      print_error(fmt::format("workload {} left out: it has tasks and no CPUs", id));
      continue;
    }
    workloads.push_back(request_in(workload));
  }
  return workloads;
}

}  // namespace

OrStop<> export_workloads(const Client& client, Output output) {
  const std::vector<json::Value> workloads = TRY(exported(client));
  if (output.json) {
    print_json(json::to_json(json::Value::object({{"workloads", json::Value::array(workloads)}})));
  } else {
    print(document_with(workloads));
  }
  return {};
}

OrStop<> back_up(const Client& client, Output output, const std::string& file) {
  const std::vector<json::Value> workloads = TRY(exported(client));
  std::error_code ignored;  // an empty name, which is no document; a folder that cannot be read cannot be written to
  const std::filesystem::path path = std::filesystem::absolute(file, ignored);
  if (!tree::is_document(path.filename())) return stop(kUsage, file + ": expected a file name ending in .yaml");
  if (std::filesystem::status(path.parent_path(), ignored).type() == std::filesystem::file_type::not_found)
    return stop(kRefused, path.parent_path().string() + ": directory not found");
  TRY(or_stop(write_new_files(path.parent_path(), {{.name = path.filename(), .content = document_with(workloads)}})));
  if (output.json) {
    print_json(json::document({{"file", file}, {"workloads", workloads.size()}}));
    return {};
  }
  print("{} workloads saved in {}; nrdctl restore {} creates them again\n", workloads.size(), file, file);
  return {};
}

}  // namespace nrd::cli
