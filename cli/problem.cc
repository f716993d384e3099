#include "cli/problem.h"

#include <array>
#include <string_view>

#include "base/json/reader.h"
#include "cli/new_workload.h"

namespace nrd::cli {
namespace {

struct Named {
  std::string_view field;
  std::string_view option;
};
constexpr std::array kOthers = {
    Named{"/core_ids", "--cpus"}, Named{"/task_ids", "--task-ids"},  Named{"/unit", "--unit"},
    Named{"/cgroup", "--cgroup"}, Named{"/policy", "--policy"},      Named{"/name", "--name"},
    Named{"/labels", "--label"},  Named{"/uuid", "--uuid"},          Named{"/owner", "--owner"},
    Named{"/id", "--id"},         Named{"/onload", "--onload"},      Named{"?label", "--label"},
    Named{"?name", "--name"},     Named{"?force", "--force"},        Named{"/cache", "--ways"},
    Named{"/l2", "--l2-ways"},    Named{"/mba", "memory bandwidth"}, Named{"/pstate", "frequency"}};

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

}  // namespace

std::string option_of(const std::string& field) {
  const std::string member = without_group(field);
  for (const ResourceOption& each : resource_options()) {
    if (member == std::string("/") + each.part + "/" + each.member) return each.option.flag;
  }
  for (const Named& each : kOthers) {
    if (member == each.field || member.starts_with(std::string(each.field) + "/")) return std::string(each.option);
  }
  return field;
}

Stop refusal_of(const Answer& answer) {
  const int exit = exit_of(answer.status);
  const Result<json::Value> problem = json::parse(answer.body);
  if (!problem || !problem->is_object() || !problem->find("detail")) {
    return {exit,
            answer.body.empty() ? "request failed with HTTP status " + std::to_string(answer.status) : answer.body};
  }
  const std::string field = option_of(text_or_nothing(*problem, "field"));
  const std::string allowed = text_or_nothing(*problem, "allowed");
  return {exit,
          (field.empty() ? "" : field + ": ") + text_or_nothing(*problem, "detail") +
              (allowed.empty() ? "" : "; allowed: " + allowed),
          answer.body};
}

}  // namespace nrd::cli
