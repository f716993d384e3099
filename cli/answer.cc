#include "cli/answer.h"

#include <fmt/core.h>

#include <array>

#include "base/ascii.h"
#include "base/control.h"
#include "base/joined.h"
#include "base/json/object.h"
#include "base/json/reader.h"
#include "cli/new_workload.h"

namespace nrd::cli {
namespace {

constexpr size_t kMostValues = size_t{1} << 22;  // thousands of workloads

// The shape of nrd's own problems (RFC 9457), without a status.
const char* title_of(int exit) {
  switch (exit) {
    case kUsage: return "Invalid usage";
    case kUnreachable: return "Daemon unreachable";
    case kNoSuch: return "Not found";
    case kTryLater: return "Temporarily unavailable";
    case kNotPermitted: return "Permission denied";
    default: return "Request failed";
  }
}

// The option or argument that a message is about: "--owner: …", "ID is required"; empty: none.
std::string option_named_in(const std::string& message) {
  constexpr std::string_view kRequired = " is required";
  if (message.ends_with(kRequired)) return message.substr(0, message.size() - kRequired.size());
  const size_t begin = message.find("--");
  if (begin == std::string::npos || (begin > 0 && message[begin - 1] != ' ')) return {};
  size_t end = begin + 2;
  while (end < message.size() && (is_alphanumeric(message[end]) || message[end] == '-')) ++end;
  return end == begin + 2 ? "" : message.substr(begin, end - begin);
}

std::string problem_of(const Stop& stop) {
  const std::string option = option_named_in(stop.error);
  if (option.empty()) return json::document({{"title", title_of(stop.exit)}, {"detail", stop.error}});
  return json::document({{"title", title_of(stop.exit)}, {"detail", stop.error}, {"field", option}});
}

struct Named {
  std::string_view field;
  std::string_view option;
};
constexpr std::array kOthers = {
    Named{"/core_ids", "--cpus"}, Named{"/cpu", "--pool"},      Named{"/task_ids", "--task-ids"},
    Named{"/unit", "--unit"},     Named{"/cgroup", "--cgroup"}, Named{"/policy", "--policy"},
    Named{"/name", "--name"},     Named{"/labels", "--label"},  Named{"/uuid", "--uuid"},
    Named{"/owner", "--owner"},   Named{"/id", "--id"},         Named{"/onload", "--onload"},
    Named{"?label", "--label"},   Named{"?name", "--name"},     Named{"?force", "--force"},
    Named{"/cache", "--ways"},    Named{"/l2", "--l2-ways"},    Named{"/mba", "memory bandwidth"},
    Named{"/pstate", "frequency"}};

// In the order of RFC 9110.
int exit_of(long status) {
  switch (status) {
    case 401:
    case 403: return kNotPermitted;
    case kNotFound: return kNoSuch;
    case 429:
    case 503: return kTryLater;
    default: return kRefused;
  }
}

// "/rdt/mba/percentage" -> "/mba/percentage"
std::string without_group(std::string field) {
  for (const std::string_view group : {"/rdt", "/plugins"}) {
    if (field.starts_with(std::string(group) + "/")) return field.substr(group.size());
  }
  return field;
}

// True for the member itself, and for an item of its list.
bool is_at(const std::string& field, std::string_view member) {
  const bool is_within = field.size() > member.size() && field[member.size()] == '/';
  return field.starts_with(member) && (is_within || field.size() == member.size());
}

}  // namespace

std::string option_of(const std::string& pointer) {
  const std::string member = without_group(pointer);
  for (const ResourceOption& each : resource_options()) {
    if (is_at(member, std::string("/") + each.part + "/" + each.member)) return each.option.flag;
  }
  for (const Named& each : kOthers) {
    if (is_at(member, each.field)) return std::string(each.option);
  }
  return pointer;
}

int report(const OrStop<>& done, const Output& output) {
  if (done) return kDone;
  const Stop& stop = done.error();
  if (stop.error.empty()) return stop.exit;
  if (output.json) {
    print_json(stop.body.empty() ? problem_of(stop) : stop.body);
  } else {
    print_error(stop.error);
  }
  return stop.exit;
}

void print_result(const Output& output, const char* kind, const std::string& name, const char* result) {
  if (output.json) return print_json(json::document({{kind, name}, {"result", result}}));
  print("{} {} {}\n", kind, name, result);
}

std::string padded(std::string text, size_t width) {
  if (text.size() < width) text.resize(width, ' ');
  return text;
}

Stop refusal_of(const Answer& answer) {
  const int exit = exit_of(answer.status);
  const Result<json::Value> problem = json::parse(answer.body);
  if (!problem || !problem->is_object() || !problem->find("detail")) {
    return {exit, answer.body.empty() ? fmt::format("request failed with HTTP status {}", answer.status) : answer.body};
  }
  const std::string pointer = text_or_nothing(*problem, "field");
  const std::string field = answer.name_of == nullptr ? pointer : answer.name_of(pointer);
  const std::string allowed = text_or_nothing(*problem, "allowed");
  return {exit,
          (field.empty() ? "" : field + ": ") + text_or_nothing(*problem, "detail") +
              (allowed.empty() ? "" : "; allowed: " + allowed),
          answer.body};
}

Stop refusal_of_new(const Answer& answer) {
  Stop refusal = refusal_of(answer);
  // RMD's clients expect 400 for a CPU of another workload.
  const OrStop<json::Value> problem = parsed(answer.body);
  const bool is_taken = problem && text_or_nothing(*problem, "code").ends_with("Taken");
  if (is_taken || answer.status == kConflict) refusal.exit = kTryLater;
  return refusal;
}

OrStop<std::string> body_of(const Result<Answer>& answer) {
  const Answer found = TRY(or_stop(answer, kUnreachable));
  if (found.is_success()) return found.body;
  return tl::unexpected(refusal_of(found));
}

OrStop<json::Value> parsed(const std::string& body) {
  return json::parse(body, kMostValues).map_error([](const Error&) {
    return Stop{kRefused, "the response is not JSON; check that the endpoint is nrd"};
  });
}

OrStop<json::Value> value_of(const Result<Answer>& answer) { return body_of(answer).and_then(parsed); }

OrStop<json::Value> value_to_draw(const Result<Answer>& answer, Output output) {
  const std::string body = TRY(body_of(answer));
  if (!output.json) return parsed(body);
  print_json(body);
  return stop(kDone);
}

std::string text_in(const json::Value& value) {
  if (const std::string* text = value.as_string()) return without_controls(*text);
  return value.literal() != nullptr ? *value.literal() : "";
}

std::string text_or_nothing(const json::Value& object, std::string_view key) { return text_in(part(object, key)); }

std::string text_at(const json::Value& object, std::string_view key) {
  const std::string text = text_or_nothing(object, key);
  return text.empty() ? "-" : text;
}

std::string texts_of(const json::Value& array) {
  return array.items().empty() ? "-" : joined(array.items(), ",", text_in);
}

bool is_true(const json::Value& object, std::string_view key) { return part(object, key).as_bool().value_or(false); }

const json::Value& part(const json::Value& of, std::string_view key) {
  static const json::Value kNone = json::Value::null();
  const json::Value* value = of.find(key);
  return value == nullptr ? kNone : *value;
}

}  // namespace nrd::cli
