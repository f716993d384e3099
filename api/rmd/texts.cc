#include "api/rmd/texts.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "base/joined.h"

namespace nrd::rmd {
namespace {

constexpr std::string_view kNoCores = "No task or core id specified";
constexpr std::string_view kNoParameters = "No RDT/Plugins params in workload";
constexpr std::string_view kHalfACache = "Need to provide both cache.* or none of them";

constexpr std::string_view kNoSuchPlugin = "Trying to use module that is not loaded";

bool is_rmds_own(std::string_view message) {
  return message == kNoSuchPlugin || message == kNoCores || message == kNoParameters || message == kHalfACache;
}

std::string invalid(const std::string& why) { return "Failed to validate workload. Reason: " + why; }

std::string in_database(const std::string& why) {
  return invalid("Workload validation in database failed. Details: " + why);
}

// Subject "4711": no such task; "4711 3": taken by workload 3.
std::optional<std::string> task_refused(const Error& error) {
  if (!error.field.starts_with("/task_ids") || error.subject.empty()) return std::nullopt;
  if (error.code == ErrorCode::BadRequest) return invalid(fmt::format("The task: {} does not exist", error.subject));
  if (!is_task_taken(error)) return std::nullopt;
  const size_t blank = error.subject.find(' ');
  return in_database(fmt::format("TaskID {} already exists in workload{}", error.subject.substr(0, blank),
                                 error.subject.substr(blank)));
}

std::optional<std::string> bandwidth_refused(const Error& error) {
  static const std::map<std::string, std::string, std::less<>> kLines{
      {"mbps", "Please provide MBA in Mbps"},
      {"percentage", "Please provide MBA in Percentage"},
      {"guarantee", "MBA only supported for Guaranteed Request and not for BestEffort and Shared"},
      {"cache", "Need to provide both cache and mba for better performance"},
      {"none", "This machine supports only cache and not MBA"}};
  // A limit that is no whole number in its range.
  if (error.field == "/rdt/mba/percentage" || error.field == "/rdt/mba/mbps") {
    return invalid(fmt::format("MBA values in should range from {}, found {}", error.allowed, error.subject));
  }
  if (error.field != "/rdt/mba") return std::nullopt;
  if (error.subject == "shared") return "MBA forbidden for shared group";
  const auto line = kLines.find(error.subject);
  return line == kLines.end() ? std::nullopt : std::optional(invalid(line->second));
}

// RMD's planner errors for invalid numbers of ways, selected by the prefix of the subject.
std::optional<std::string> ways_refused(const Error& error) {
  struct Line {
    std::string_view subject;
    std::string_view text;
  };
  constexpr std::array kLines = {
      Line{"min above max", "Min cache value cannot be greater than max cache value"},
      Line{"no min beside ", "Bad cache ways request. Details: max_cache=%, min_cache=0, doesn't support"},
      Line{"pool too small on ", "Not enough cache left on cache_id %"},
      Line{"no pool ", "Unable to read cache schemata; error doesn't support pool %"}};
  if (error.code != ErrorCode::BadRequest && error.code != ErrorCode::Unsupported) return std::nullopt;
  const auto* line = std::ranges::find_if(kLines, [&](const Line& l) { return error.subject.starts_with(l.subject); });
  if (line == kLines.end()) return std::nullopt;
  std::string text(line->text);
  if (const size_t place = text.find('%'); place != text.npos) {
    text.replace(place, 1, error.subject, line->subject.size());
  }
  return fmt::format("{}. Details: {}", text, reason(error));
}

// "0 1": taken by a workload; "0 1; the operating system": reserved, which RMD's text does not cover.
std::string cpus_taken(const Error& error) {
  const size_t end = std::min(error.subject.find("; "), error.subject.size());
  const std::string line = fmt::format("CPU list [{}] has been assigned", error.subject.substr(0, end));
  if (end == error.subject.size()) return line;
  return fmt::format("{} to {} (allowed: {})", line, error.subject.substr(end + 2), error.allowed);
}

}  // namespace

Failure no_cores() {
  return fail_at(ErrorCode::BadRequest, "/core_ids", std::string(kNoCores), "a list of CPUs such as [\"0\", \"1-3\"]");
}

Failure no_parameters() {
  return fail_at(ErrorCode::BadRequest, "/cache", std::string(kNoParameters), "{\"max\": 2, \"min\": 2}");
}

Failure half_a_cache() {
  return fail_at(ErrorCode::BadRequest, "/cache", std::string(kHalfACache), "both max and min");
}

Failure no_such_plugin(std::string field) {
  return fail_at(ErrorCode::BadRequest, std::move(field), std::string(kNoSuchPlugin), "pstate");
}

std::string reason(const Error& error) {
  if (is_rmds_own(error.message)) return error.message;
  std::string text = error.field.empty() ? "" : error.field + ": ";
  text += error.message;
  if (!error.allowed.empty()) text += fmt::format(" (allowed: {})", error.allowed);
  return text;
}

bool is_task_taken(const Error& error) {
  return error.code == ErrorCode::Conflict && error.field.starts_with("/task_ids") &&
         error.subject.find(' ') != std::string::npos;
}

std::string workload_refused(const Error& error, std::string_view uuid) {
  if (const std::optional<std::string> line = task_refused(error)) return *line;
  if (const std::optional<std::string> line = bandwidth_refused(error)) return *line;
  if (const std::optional<std::string> line = ways_refused(error)) return *line;
  switch (error.code) {
    case ErrorCode::BadRequest:
    case ErrorCode::Unsupported: return invalid(reason(error));
    case ErrorCode::NotFound: return std::string(kNoSuchWorkload);
    case ErrorCode::CpuTaken: return in_database(cpus_taken(error));
    case ErrorCode::NoSuchPolicy:
      return invalid("Could not find the Policy. Can not find specified policy " + error.subject);
    case ErrorCode::IdTaken: return in_database(fmt::format("Workload with id {} already exists", error.subject));
    case ErrorCode::UuidTaken:
      return in_database(fmt::format("UUID {} already exists in workload {}", uuid, error.subject));
    case ErrorCode::NotEnough:
      return fmt::format("Not enough cache left on cache_id {}. Details: {}", error.subject, reason(error));
    case ErrorCode::NoClass: return "No free CLOS available. Details: " + reason(error);
    case ErrorCode::Forbidden:
    case ErrorCode::NameTaken:
    case ErrorCode::Busy:
    case ErrorCode::Conflict:
    case ErrorCode::Stale:
    case ErrorCode::KeyReused:
    case ErrorCode::Locked:
    case ErrorCode::Frozen:
    case ErrorCode::Hardware:
    case ErrorCode::Store:
    case ErrorCode::Internal: break;
  }
  return reason(error);
}

std::string unreadable(const Error& error) {
  return "Failed to read request correctly. Please check request syntax and data. Details: " + reason(error);
}

std::string no_such_policy(std::string_view name) {
  return "Can not find Policy. Details: Can not find specified policy " + std::string(name);
}

std::string no_pool(uint32_t max, uint32_t min) {
  return fmt::format("Bad request, max_cache={}, min_cache={}", max, min);
}

std::string no_such_cache(std::string_view id, unsigned level) {
  return fmt::format("Cache id {} for level {} is not found", id, level);
}

std::string not_authorized(std::string_view user) {
  return fmt::format("User \"{}\" is not authorized to access this resource", user);
}

std::string not_listed(std::string_view common_name) { return std::string(common_name) + " is not authorized"; }

std::string no_role(const std::vector<std::string>& units) {
  return fmt::format("OU: {} is not authorized", joined(units, ", "));
}

}  // namespace nrd::rmd
