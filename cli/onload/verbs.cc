#include <cstdio>

#include "base/json/writer.h"
#include "cli/answer.h"
#include "cli/onload/follow.h"
#include "cli/onload/onload.h"

namespace nrd::cli {

int preflight_onload(const Client& client, Output output, const OnloadRequest& request) {
  const std::optional<std::string> body = request.version.empty() ? std::string("{}") : load_request(request);
  if (!body) return kUsage;
  int exit = kDone;
  const std::optional<std::string> answer = body_of(client.post("/v1/onload/preflight", *body), exit);
  if (!answer) return exit;
  const std::optional<json::Value> found = parsed(*answer, exit);
  if (!found) return exit;
  const int result = part(*found, "ok").as_bool().value_or(false) ? kDone : kRefused;
  if (output.json) {
    print_json(*answer);
    return result;
  }
  for (const json::Value& check : part(*found, "checks").items()) {
    const std::string detail = text_of(check, "detail");
    print_format("%-4s %-14s %s\n", part(check, "ok").as_bool().value_or(false) ? "ok" : "NO",
                 text_of(check, "name").c_str(), detail == "-" ? "" : detail.c_str());
  }
  for (const json::Value& stage : part(*found, "stages").items()) {
    const std::string subject = text_of(stage, "subject");
    print_format("  %s %s\n", text_of(stage, "act").c_str(), subject == "-" ? "" : subject.c_str());
  }
  return result;
}

int drain_onload(const Client& client, Output output, const OnloadRequest& request) {
  json::Writer w;
  w.begin_object();
  if (!request.users_policy.empty()) w.key("users_policy").string(request.users_policy);
  if (request.drain_seconds) w.key("drain_seconds").number(*request.drain_seconds);
  w.end_object();
  return follow_answer(client, output, client.post("/v1/onload/drain", w.take()));
}

int undrain_onload(const Client& client, Output output) {
  return follow_answer(client, output, client.post("/v1/onload/undrain", "{}"));
}

int cancel_onload(const Client& client, Output output, const std::string& id) {
  if (id.find_first_not_of("0123456789") != std::string::npos) {
    report_failure(id + " is not an operation number");
    return kUsage;
  }
  int exit = kDone;
  const std::optional<std::string> body = body_of(client.post("/v1/onload/operations/" + id + "/cancel", "{}"), exit);
  if (body && output.json) print_json(*body);
  if (body && !output.json) print("operation " + id + " is being rolled back\n");
  return exit;
}

int set_onload_parameters(const Client& client, Output output, const std::string& module,
                          const std::vector<std::string>& settings, bool reload) {
  if (module.empty() || module.find_first_of("/?#%") != std::string::npos) {
    report_failure(module + " is not a valid module name");
    return kUsage;
  }
  json::Writer w;
  w.begin_object();
  for (const std::string& setting : settings) {
    const size_t equals = setting.find('=');
    if (equals == std::string::npos || equals == 0) {
      report_failure(setting + " is not a parameter; expected NAME=VALUE");
      return kUsage;
    }
    w.key(setting.substr(0, equals)).string(setting.substr(equals + 1));
  }
  w.end_object();
  const std::string path = "/v1/onload/modules/" + module + "/parameters" + (reload ? "?reload=true" : "");
  return follow_answer(client, output, client.patch(path, w.take()));
}

int show_control_plane(const Client& client, Output output) {
  int exit = kDone;
  const std::optional<json::Value> found = value_to_draw(client.get("/v1/onload/controlplane"), output, exit);
  if (!found) return exit;
  for (const char* key : {"path", "parameters", "spawn"}) print_format("%-11s %s\n", key, text_of(*found, key).c_str());
  print_format("%-8s %-12s %-8s %s\n", "PID", "NAMESPACE", "AGE", "PROGRAM");
  for (const json::Value& server : part(*found, "servers").items()) {
    print_format("%-8s %-12s %-8s %s\n", text_of(server, "pid").c_str(), text_of(server, "net_namespace").c_str(),
                 (text_of(server, "age_seconds") + " s").c_str(), text_of(server, "exe").c_str());
  }
  return exit;
}

int set_control_plane(const Client& client, Output output, const std::string& words) {
  json::Writer w;
  w.begin_object();
  w.key("parameters");
  render_words(w, words);
  w.end_object();
  return follow_answer(client, output, client.patch("/v1/onload/controlplane", w.take()));
}

int restart_control_plane(const Client& client, Output output) {
  return follow_answer(client, output, client.post("/v1/onload/controlplane/restart", "{}"));
}

}  // namespace nrd::cli
