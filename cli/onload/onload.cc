#include "cli/onload/onload.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <thread>

#include "base/control.h"
#include "base/joined.h"
#include "base/json/object.h"
#include "base/number.h"
#include "base/split.h"
#include "cli/answer.h"
#include "cli/onload/steps.h"

namespace nrd::cli {
namespace {

constexpr std::chrono::seconds kPollTime{20};  // long-poll time; less than the client's timeout

// "onload.a=1": module, name and value.
using Parameters = std::map<std::string, std::map<std::string, std::string>>;

OrStop<Parameters> parameters_of(const std::vector<std::string>& words) {
  Parameters parameters;
  for (const std::string& word : words) {
    const size_t equals = word.find('=');
    const size_t dot = word.find('.');
    if (equals == std::string::npos || dot == 0 || dot + 1 >= equals) {
      return stop(kUsage, word + " is not a parameter; expected MODULE.NAME=VALUE");
    }
    auto& values = parameters[word.substr(0, dot)];
    if (!values.emplace(word.substr(dot + 1, equals - dot - 1), word.substr(equals + 1)).second) {
      return stop(kUsage, word + ": this parameter is given twice");
    }
  }
  return parameters;
}

// Overwrites the line of the running step.
void erase_line(Output output) {
  if (output.terminal && !output.json) print_drawn("\r\x1b[K");
}

OrStop<> follow(const Client& client, Output output, const std::string& id) {
  size_t shown = 0;
  std::string waiting;                            // text of the running step, not yet printed as a line
  const Client patient = client.over_restarts();  // a restarted daemon continues the operation
  for (;;) {
    const auto next = std::chrono::steady_clock::now() + kPollInterval;
    const std::string body = TRY(body_of(patient.get("/v1/onload/operations/" + id + waiting)));
    const json::Value operation = TRY(parsed(body));
    const std::string outcome = text_at(operation, "outcome");
    if (!output.json) {
      erase_line(output);
      const auto& steps = part(operation, "steps").items();
      for (const size_t ended = ended_steps(operation); shown < ended; ++shown) print(draw_step(steps[shown]));
      if (output.terminal) print(draw_running(operation));
      flush();
    }
    if (outcome == "running") {
      waiting = fmt::format("?since={}&wait={}", text_at(operation, "revision"), kPollTime.count());
      std::this_thread::sleep_until(next);
      continue;
    }
    if (outcome != "succeeded") return tl::unexpected(Stop{kRefused, draw_outcome(operation), body});
    if (output.json) print_json(body);
    if (!output.json) print(draw_outcome(operation));
    return {};
  }
}

std::string spec_of(const OnloadArguments& a, const std::string& state, const Parameters& parameters) {
  const auto write_values = [](json::Writer& w, const auto& values) { json::by_key(values)(w); };
  const auto write_parameters = json::by_key(parameters, write_values);
  return json::document({{"state", state},
                         {"version", json::given(a.version)},
                         {"users_policy", json::given(a.users_policy)},
                         {"drain_seconds", json::given(a.drain_seconds)},
                         {"on_failure", json::given(a.on_failure)},
                         {"sfc", json::given(std::string(a.manages_sfc ? "managed" : ""))},
                         {"parameters", write_parameters},
                         {"control_plane", json::given(words_of(a.control_plane, ' '))}});
}

OrStop<> follow_answer(const Client& client, Output output, const Result<Answer>& answer) {
  const std::string body = TRY(body_of(answer));
  const json::Value accepted = TRY(parsed(body));
  if (part(accepted, "operation").as_unsigned()) return follow(client, output, text_at(accepted, "operation"));
  if (output.json) {
    print_json(body);
  } else {
    print("no change needed: generation {}\n", text_at(accepted, "generation"));
  }
  return {};
}

OrStop<std::string> load_request(const OnloadArguments& a) {
  return parameters_of(a.parameters).map([&a](const Parameters& parameters) {
    return spec_of(a, "loaded", parameters);
  });
}

}  // namespace

std::vector<std::string> words_of(const std::string& text, char separator) {
  const std::vector<std::string_view> words = split(text, {&separator, 1});
  return {words.begin(), words.end()};
}

std::string onload_option_of(const std::string& pointer) {
  static const std::map<std::string, std::string> kOptions = {
      {"/version", "VERSION"}, {"/name", "NAME"},       {"/source", "SOURCE"},         {"/users_policy", "--users"},
      {"/to", "--to"},         {"/reason", "--reason"}, {"/drain_seconds", "--drain"}, {"/on_failure", "--on-failure"}};
  if (const auto found = kOptions.find(pointer); found != kOptions.end()) return found->second;
  if (pointer.starts_with("/control_plane/")) return "--control-plane";
  constexpr std::string_view kPart = "/parameters/";
  if (!pointer.starts_with(kPart)) return pointer;
  std::string parameter = pointer.substr(kPart.size());
  std::ranges::replace(parameter, '/', '.');
  return parse_number<size_t>(parameter) ? "ARGS" : "--param " + parameter;  // a position: of controlplane set
}

OrStop<> show_onload(const Client& client, Output output, const OnloadArguments& /*a*/) {
  const json::Value onload = TRY(value_to_draw(client.get("/v1/onload"), output));
  const json::Value& spec = part(onload, "spec");
  print("requested    {} {} (generation {})\n", text_at(spec, "state"), text_at(spec, "version"),
        text_at(onload, "generation"));
  print("effective    generation {}\n", text_at(onload, "effective_generation"));
  print("loaded       {}: {}\n", text_at(onload, "version"), texts_of(part(onload, "modules")));
  print("files        {}\n", text_at(onload, "current_files"));
  print("access       {}\n", text_at(onload, "device_access"));
  if (text_at(onload, "problem") != "-") print("problem      {}\n", text_at(onload, "problem"));
  for (const json::Value& condition : part(onload, "conditions").items()) {
    print("{:<18} {:<6} {}\n", text_at(condition, "type"), text_at(condition, "status"),
          text_or_nothing(condition, "message"));
  }
  return {};
}

OrStop<> show_onload_versions(const Client& client, Output output, const OnloadArguments& /*a*/) {
  const json::Value versions = TRY(value_to_draw(client.get("/v1/onload/versions"), output));
  print("{:<24} {:<28} {}\n", "VERSION", "KERNEL", "MODULES");
  for (const json::Value& version : versions.items()) {
    for (const json::Member& kernel : part(version, "kernels").members()) {
      const std::string modules =
          joined(kernel.value.items(), ",", [](const json::Value& module) { return text_at(module, "name"); });
      print("{:<24} {:<28} {}\n", text_at(version, "name"), without_controls(kernel.key), modules);
    }
  }
  return {};
}

OrStop<> import_onload(const Client& client, Output output, const OnloadArguments& a) {
  const std::string body = json::document({{"name", a.version}, {"source", a.source}});
  TRY(value_to_draw(client.post("/v1/onload/versions", body), output));
  print("version {} is installed\n", a.version);
  return {};
}

OrStop<> load_onload(const Client& client, Output output, const OnloadArguments& a) {
  const std::string body = TRY(load_request(a));
  return follow_answer(client, output, client.put("/v1/onload", body));
}

OrStop<> unload_onload(const Client& client, Output output, const OnloadArguments& a) {
  return follow_answer(client, output, client.put("/v1/onload", spec_of(a, "unloaded", {})));
}

OrStop<> roll_back_onload(const Client& client, Output output, const OnloadArguments& a) {
  const std::string body = json::document({{"to", json::given(a.generation)}});
  return follow_answer(client, output, client.post("/v1/onload/rollback", body));
}

OrStop<> freeze_onload(const Client& client, Output output, const OnloadArguments& a) {
  const std::string body = json::document({{"frozen", true}, {"reason", json::given(a.reason)}});
  TRY(body_of(client.put("/v1/onload/freeze", body)));
  output.json ? print_json(json::document({{"frozen", true}})) : print("frozen\n");
  return {};
}

OrStop<> thaw_onload(const Client& client, Output output, const OnloadArguments& /*a*/) {
  TRY(body_of(client.put("/v1/onload/freeze", json::document({{"frozen", false}}))));
  output.json ? print_json(json::document({{"frozen", false}})) : print("thawed\n");
  return {};
}

OrStop<> preflight_onload(const Client& client, Output output, const OnloadArguments& a) {
  const std::string body = TRY(a.version.empty() ? OrStop<std::string>("{}") : load_request(a));
  const std::string answer = TRY(body_of(client.post("/v1/onload/preflight", body)));
  const json::Value found = TRY(parsed(answer));
  const OrStop<> result = is_true(found, "ok") ? OrStop<>() : stop(kRefused);
  if (output.json) {
    print_json(answer);
    return result;
  }
  for (const json::Value& check : part(found, "checks").items()) {
    print("{:<4} {:<14} {}\n", is_true(check, "ok") ? "ok" : "NO", text_at(check, "name"),
          text_or_nothing(check, "detail"));
  }
  for (const json::Value& step : part(found, "steps").items()) {
    print("  {} {}\n", text_at(step, "act"), text_or_nothing(step, "subject"));
  }
  return result;
}

OrStop<> drain_onload(const Client& client, Output output, const OnloadArguments& a) {
  const std::string body =
      json::document({{"users_policy", json::given(a.users_policy)}, {"drain_seconds", json::given(a.drain_seconds)}});
  return follow_answer(client, output, client.post("/v1/onload/drain", body));
}

OrStop<> undrain_onload(const Client& client, Output output, const OnloadArguments& /*a*/) {
  return follow_answer(client, output, client.post("/v1/onload/undrain", "{}"));
}

OrStop<> cancel_onload(const Client& client, Output output, const OnloadArguments& a) {
  const std::string& id = a.operation;
  if (!parse_number<uint64_t>(id)) return stop(kUsage, fmt::format("\"{}\" is not an operation number", id));
  const std::string body = TRY(body_of(client.post("/v1/onload/operations/" + id + "/cancel", "{}")));
  output.json ? print_json(body) : print("operation {} is being rolled back\n", id);
  return {};
}

OrStop<> set_onload_parameters(const Client& client, Output output, const OnloadArguments& a) {
  if (a.module.empty() || a.module.find_first_of("/?#%") != std::string::npos) {
    return stop(kUsage, a.module + " is not a valid module name");
  }
  std::map<std::string, std::string> values;
  for (const std::string& setting : a.settings) {
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
  const std::string path = "/v1/onload/modules/" + a.module + "/parameters" + (a.reload ? "?reload=true" : "");
  return follow_answer(client, output, client.patch(path, w.take()));
}

OrStop<> show_control_plane(const Client& client, Output output, const OnloadArguments& /*a*/) {
  const json::Value found = TRY(value_to_draw(client.get("/v1/onload/controlplane"), output));
  for (const char* key : {"path", "parameters", "spawn"}) print("{:<11} {}\n", key, text_at(found, key));
  print("{:<8} {:<12} {:<8} {}\n", "PID", "NAMESPACE", "AGE", "PROGRAM");
  for (const json::Value& server : part(found, "servers").items()) {
    print("{:<8} {:<12} {:<8} {}\n", text_at(server, "pid"), text_at(server, "net_namespace"),
          text_at(server, "age_seconds") + " s", text_at(server, "exe"));
  }
  return {};
}

OrStop<> set_control_plane(const Client& client, Output output, const OnloadArguments& a) {
  const std::string body = json::document({{"parameters", words_of(a.control_plane, ' ')}});
  return follow_answer(client, output, client.patch("/v1/onload/controlplane", body));
}

OrStop<> restart_control_plane(const Client& client, Output output, const OnloadArguments& /*a*/) {
  return follow_answer(client, output, client.post("/v1/onload/controlplane/restart", "{}"));
}

OrStop<> show_onload_users(const Client& client, Output output, const OnloadArguments& /*a*/) {
  const json::Value use = TRY(value_to_draw(client.get("/v1/onload/users"), output));
  print("{:<8} {:<16} {:<7} {:<24} {}\n", "PID", "PROGRAM", "UID", "USES", "UNIT");
  for (const char* kind : {"users", "services"}) {
    for (const json::Value& user : part(use, kind).items()) {
      print("{:<8} {:<16} {:<7} {:<24} {}{}\n", text_at(user, "pid"), text_at(user, "comm"), text_at(user, "uid"),
            texts_of(part(user, "uses")), text_at(user, "unit"),
            is_true(user, "stale") ? "  (uses the library of another version)" : "");
    }
  }
  for (const json::Member& module : part(use, "unexplained").members()) {
    print("{} references to module {} from unidentified users\n", text_at(part(use, "unexplained"), module.key),
          without_controls(module.key));
  }
  for (const json::Value& sentence : part(use, "unknown").items()) {
    if (const std::string* text = sentence.as_string()) print("{}\n", without_controls(*text));
  }
  return {};
}

}  // namespace nrd::cli
