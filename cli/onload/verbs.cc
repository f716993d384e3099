#include <cstdio>
#include <map>

#include "base/json/object.h"
#include "cli/answer.h"
#include "cli/onload/follow.h"
#include "cli/onload/onload.h"

namespace nrd::cli {

Outcome<> preflight_onload(const Client& client, Output output, const OnloadRequest& request) {
  const std::string body = TRY(request.version.empty() ? Outcome<std::string>("{}") : load_request(request));
  const std::string answer = TRY(body_of(client.post("/v1/onload/preflight", body)));
  const json::Value found = TRY(parsed(answer));
  const Outcome<> result = is_true(found, "ok") ? Outcome<>() : stop(kRefused);
  if (output.json) {
    print_json(answer);
    return result;
  }
  for (const json::Value& check : part(found, "checks").items()) {
    print_format("%-4s %-14s %s\n", is_true(check, "ok") ? "ok" : "NO", text_of(check, "name").c_str(),
                 text_or_nothing(check, "detail").c_str());
  }
  for (const json::Value& stage : part(found, "stages").items()) {
    print_format("  %s %s\n", text_of(stage, "act").c_str(), text_or_nothing(stage, "subject").c_str());
  }
  return result;
}

Outcome<> drain_onload(const Client& client, Output output, const OnloadRequest& request) {
  const std::string body = json::text_of(
      {{"users_policy", json::given(request.users_policy)}, {"drain_seconds", json::given(request.drain_seconds)}});
  return follow_answer(client, output, client.post("/v1/onload/drain", body));
}

Outcome<> undrain_onload(const Client& client, Output output) {
  return follow_answer(client, output, client.post("/v1/onload/undrain", "{}"));
}

Outcome<> cancel_onload(const Client& client, Output output, const std::string& id) {
  if (id.find_first_not_of("0123456789") != std::string::npos) {
    return stop(kUsage, id + " is not an operation number");
  }
  const std::string body = TRY(body_of(client.post("/v1/onload/operations/" + id + "/cancel", "{}")));
  output.json ? print_json(body) : print("operation " + id + " is being rolled back\n");
  return {};
}

Outcome<> set_onload_parameters(const Client& client, Output output, const std::string& module,
                                const std::vector<std::string>& settings, bool reload) {
  if (module.empty() || module.find_first_of("/?#%") != std::string::npos) {
    return stop(kUsage, module + " is not a valid module name");
  }
  std::map<std::string, std::string> values;
  for (const std::string& setting : settings) {
    const size_t equals = setting.find('=');
    if (equals == std::string::npos || equals == 0) {
      return stop(kUsage, setting + " is not a parameter; expected NAME=VALUE");
    }
    if (!values.emplace(setting.substr(0, equals), setting.substr(equals + 1)).second) {
      return stop(kUsage, setting + ": this parameter is given twice");
    }
  }
  json::Writer w;
  json::by_key(values)(w);
  const std::string path = "/v1/onload/modules/" + module + "/parameters" + (reload ? "?reload=true" : "");
  return follow_answer(client, output, client.patch(path, w.take()));
}

Outcome<> show_control_plane(const Client& client, Output output) {
  const json::Value found = TRY(value_to_draw(client.get("/v1/onload/controlplane"), output));
  for (const char* key : {"path", "parameters", "spawn"}) print_format("%-11s %s\n", key, text_of(found, key).c_str());
  print_format("%-8s %-12s %-8s %s\n", "PID", "NAMESPACE", "AGE", "PROGRAM");
  for (const json::Value& server : part(found, "servers").items()) {
    print_format("%-8s %-12s %-8s %s\n", text_of(server, "pid").c_str(), text_of(server, "net_namespace").c_str(),
                 (text_of(server, "age_seconds") + " s").c_str(), text_of(server, "exe").c_str());
  }
  return {};
}

Outcome<> set_control_plane(const Client& client, Output output, const std::string& words) {
  const std::string body = json::text_of({{"parameters", words_of(words, ' ')}});
  return follow_answer(client, output, client.patch("/v1/onload/controlplane", body));
}

Outcome<> restart_control_plane(const Client& client, Output output) {
  return follow_answer(client, output, client.post("/v1/onload/controlplane/restart", "{}"));
}

}  // namespace nrd::cli
