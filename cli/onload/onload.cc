#include "cli/onload/onload.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>

#include "base/control.h"
#include "base/json/writer.h"
#include "cli/answer.h"
#include "cli/onload/follow.h"
#include "cli/onload/steps.h"

namespace nrd::cli {
namespace {

constexpr std::chrono::milliseconds kRetryInterval{200};  // retry interval while the daemon is unreachable
constexpr std::chrono::seconds kPollTime{20};             // long-poll time; less than the client's timeout
// A restarted daemon continues the operation, so keep following it.
constexpr std::chrono::seconds kRestartTime{60};

// "onload.a=1": module, name and value.
struct Setting {
  std::string module, name, value;
};

std::optional<std::vector<Setting>> settings_of(const std::vector<std::string>& words) {
  std::vector<Setting> settings;
  for (const std::string& word : words) {
    const size_t equals = word.find('=');
    const size_t dot = word.find('.');
    if (equals == std::string::npos || dot == 0 || dot + 1 >= equals) {
      report_failure(word + " is not a parameter; expected MODULE.NAME=VALUE");
      return std::nullopt;
    }
    settings.push_back({word.substr(0, dot), word.substr(dot + 1, equals - dot - 1), word.substr(equals + 1)});
  }
  return settings;
}

void render_parameters(json::Writer& w, const std::vector<Setting>& settings) {
  std::vector<std::string> modules;
  for (const Setting& setting : settings) {
    if (std::find(modules.begin(), modules.end(), setting.module) == modules.end()) modules.push_back(setting.module);
  }
  w.key("parameters").begin_object();
  for (const std::string& module : modules) {
    w.key(module).begin_object();
    for (const Setting& setting : settings) {
      if (setting.module == module) w.key(setting.name).string(setting.value);
    }
    w.end_object();
  }
  w.end_object();
}

void render_policies(json::Writer& w, const OnloadRequest& request) {
  if (!request.users_policy.empty()) w.key("users_policy").string(request.users_policy);
  if (request.drain_seconds) w.key("drain_seconds").number(*request.drain_seconds);
  if (!request.on_failure.empty()) w.key("on_failure").string(request.on_failure);
  if (request.manages_sfc) w.key("sfc").string("managed");
}

// Overwrites the line of the running step.
void erase_line(Output output) {
  if (output.terminal && !output.json) print_drawn("\r\x1b[K");
}

// Polls the operation; nullopt: the daemon was unreachable for too long.
std::optional<std::string> poll_operation(const Client& client, const std::string& path, int& exit) {
  const auto until = std::chrono::steady_clock::now() + kRestartTime;
  for (;;) {
    const Result<Answer> answer = client.get(path);
    if (answer || std::chrono::steady_clock::now() >= until) return body_of(answer, exit);
    std::this_thread::sleep_for(kRetryInterval);
  }
}

int follow(const Client& client, Output output, const std::string& id) {
  size_t shown = 0;
  std::string waiting;  // text of the running step, not yet printed as a line
  for (;;) {
    int exit = kDone;
    const std::optional<std::string> body = poll_operation(client, "/v1/onload/operations/" + id + waiting, exit);
    if (!body) return exit;
    const std::optional<json::Value> operation = parsed(*body, exit);
    if (!operation) return exit;
    const std::string outcome = text_of(*operation, "outcome");
    if (!output.json) {
      erase_line(output);
      const auto& steps = part(*operation, "steps").items();
      for (const size_t ended = ended_steps(*operation); shown < ended; ++shown) print(draw_step(steps[shown]));
      if (output.terminal) print(draw_running(*operation));
      std::fflush(stdout);
    }
    if (outcome == "running") {
      waiting = "?since=" + text_of(*operation, "revision") + "&wait=" + std::to_string(kPollTime.count());
      continue;
    }
    if (output.json) print_json(*body);
    if (outcome == "succeeded") {
      if (!output.json) print(draw_outcome(*operation));
      return kDone;
    }
    return report_failure(draw_outcome(*operation));
  }
}

std::string joined(const json::Value& texts) {
  std::string text;
  for (const json::Value& item : texts.items()) {
    if (const std::string* word = item.as_string()) text += (text.empty() ? "" : ",") + without_controls(*word);
  }
  return text.empty() ? "-" : text;
}

}  // namespace

void render_words(json::Writer& w, const std::string& text) {
  w.begin_array();
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    if (end > at) w.string(text.substr(at, end - at));
    at = end + 1;
  }
  w.end_array();
}

int follow_answer(const Client& client, Output output, const Result<Answer>& answer) {
  int exit = kDone;
  const std::optional<std::string> body = body_of(answer, exit);
  if (!body) return exit;
  const std::optional<json::Value> accepted = parsed(*body, exit);
  if (!accepted) return exit;
  if (part(*accepted, "operation").as_unsigned()) return follow(client, output, text_of(*accepted, "operation"));
  if (output.json) {
    print_json(*body);
  } else {
    print("no change needed: generation " + text_of(*accepted, "generation") + "\n");
  }
  return kDone;
}

std::optional<std::string> load_request(const OnloadRequest& request) {
  const std::optional<std::vector<Setting>> settings = settings_of(request.parameters);
  if (!settings) return std::nullopt;
  json::Writer w;
  w.begin_object();
  w.key("state").string("loaded");
  w.key("version").string(request.version);
  render_policies(w, request);
  render_parameters(w, *settings);
  if (!request.control_plane.empty()) {
    w.key("control_plane");
    render_words(w, request.control_plane);
  }
  w.end_object();
  return w.take();
}

int show_onload(const Client& client, Output output) {
  int exit = kDone;
  const std::optional<json::Value> onload = value_to_draw(client.get("/v1/onload"), output, exit);
  if (!onload) return exit;
  const json::Value& desired = part(*onload, "desired");
  print_format("requested    %s %s (generation %s)\n", text_of(desired, "state").c_str(),
               text_of(desired, "version").c_str(), text_of(*onload, "generation").c_str());
  print_format("effective    generation %s\n", text_of(*onload, "effective_generation").c_str());
  print_format("loaded       %s: %s\n", text_of(*onload, "version").c_str(), joined(part(*onload, "modules")).c_str());
  print_format("files        %s\n", text_of(*onload, "current_files").c_str());
  print_format("access       %s\n", text_of(*onload, "door").c_str());
  if (text_of(*onload, "problem") != "-") print_format("problem      %s\n", text_of(*onload, "problem").c_str());
  for (const json::Value& condition : part(*onload, "conditions").items()) {
    const std::string message = text_of(condition, "message");
    print_format("%-18s %-6s %s\n", text_of(condition, "type").c_str(), text_of(condition, "status").c_str(),
                 message == "-" ? "" : message.c_str());
  }
  return exit;
}

int show_onload_versions(const Client& client, Output output) {
  int exit = kDone;
  const std::optional<json::Value> versions = value_to_draw(client.get("/v1/onload/versions"), output, exit);
  if (!versions) return exit;
  print_format("%-24s %-28s %s\n", "VERSION", "KERNEL", "MODULES");
  for (const json::Value& version : versions->items()) {
    for (const json::Member& kernel : part(version, "kernels").members()) {
      std::string modules;
      for (const json::Value& module : kernel.value.items()) {
        modules += (modules.empty() ? "" : ",") + text_of(module, "name");
      }
      print_format("%-24s %-28s %s\n", text_of(version, "name").c_str(), without_controls(kernel.key).c_str(),
                   modules.c_str());
    }
  }
  return exit;
}

int import_onload(const Client& client, Output output, const std::string& name, const std::string& source) {
  json::Writer w;
  w.begin_object();
  w.key("name").string(name);
  w.key("source").string(source);
  w.end_object();
  int exit = kDone;
  if (value_to_draw(client.post("/v1/onload/versions", w.take()), output, exit)) {
    print_format("version %s is installed\n", name.c_str());
  }
  return exit;
}

int load_onload(const Client& client, Output output, const OnloadRequest& request) {
  const std::optional<std::string> body = load_request(request);
  return body ? follow_answer(client, output, client.put("/v1/onload", *body)) : kUsage;
}

int unload_onload(const Client& client, Output output, const OnloadRequest& request) {
  json::Writer w;
  w.begin_object();
  w.key("state").string("unloaded");
  render_policies(w, request);
  w.end_object();
  return follow_answer(client, output, client.put("/v1/onload", w.take()));
}

int roll_back_onload(const Client& client, Output output, std::optional<uint64_t> to) {
  json::Writer w;
  w.begin_object();
  if (to) w.key("to").number(*to);
  w.end_object();
  return follow_answer(client, output, client.post("/v1/onload/rollback", w.take()));
}

int freeze_onload(const Client& client, bool frozen, const std::string& reason) {
  json::Writer w;
  w.begin_object();
  w.key("frozen").boolean(frozen);
  if (!reason.empty()) w.key("reason").string(reason);
  w.end_object();
  int exit = kDone;
  if (body_of(client.put("/v1/onload/freeze", w.take()), exit)) print(frozen ? "frozen\n" : "thawed\n");
  return exit;
}

int show_onload_users(const Client& client, Output output) {
  int exit = kDone;
  const std::optional<json::Value> use = value_to_draw(client.get("/v1/onload/users"), output, exit);
  if (!use) return exit;
  print_format("%-8s %-16s %-7s %-24s %s\n", "PID", "PROGRAM", "UID", "USES", "UNIT");
  for (const char* kind : {"users", "services"}) {
    for (const json::Value& user : part(*use, kind).items()) {
      print_format("%-8s %-16s %-7s %-24s %s%s\n", text_of(user, "pid").c_str(), text_of(user, "comm").c_str(),
                   text_of(user, "uid").c_str(), joined(part(user, "uses")).c_str(), text_of(user, "unit").c_str(),
                   part(user, "stale").as_bool().value_or(false) ? "  (uses the library of another version)" : "");
    }
  }
  for (const json::Member& module : part(*use, "unexplained").members()) {
    print_format("%s references to module %s from unidentified users\n",
                 text_of(part(*use, "unexplained"), module.key).c_str(), without_controls(module.key).c_str());
  }
  for (const json::Value& sentence : part(*use, "unknown").items()) {
    if (const std::string* text = sentence.as_string()) print_format("%s\n", without_controls(*text).c_str());
  }
  return exit;
}

}  // namespace nrd::cli
