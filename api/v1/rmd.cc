#include "api/v1/rmd.h"

#include <utility>

#include "base/joined.h"

namespace nrd::v1::rmd {
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
  if (!error.allowed.empty()) text += " (allowed: " + error.allowed + ")";
  return text;
}

std::string workload_refused(const Error& error, std::string_view uuid) {
  switch (error.code) {
    case ErrorCode::BadRequest:
    case ErrorCode::Unsupported: return invalid(reason(error));
    case ErrorCode::NotFound: return std::string(kNoSuchWorkload);
    case ErrorCode::CpuTaken: return in_database("CPU list [" + error.subject + "] has been assigned");
    case ErrorCode::NoSuchPolicy:
      return invalid("Could not find the Policy. Can not find specified policy " + error.subject);
    case ErrorCode::IdTaken: return in_database("Workload with id " + error.subject + " already exists");
    case ErrorCode::UuidTaken:
      return in_database("UUID " + std::string(uuid) + " already exists in workload " + error.subject);
    case ErrorCode::NotEnough:
      return "Not enough cache left on cache_id " + error.subject + ". Details: " + reason(error);
    case ErrorCode::NoClass: return "No free CLOS available. Details: " + reason(error);
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
  return "Bad request, max_cache=" + std::to_string(max) + ", min_cache=" + std::to_string(min);
}

std::string no_such_cache(std::string_view id, unsigned level) {
  return "Cache id " + std::string(id) + " for level " + std::to_string(level) + " is not found";
}

std::string not_authorized(std::string_view user) {
  return "User \"" + std::string(user) + "\" is not authorized to access this resource";
}

std::string not_listed(std::string_view common_name) { return std::string(common_name) + " is not authorized"; }

std::string no_role(const std::vector<std::string>& units) {
  return "OU: " + joined(units, ", ") + " is not authorized";
}

}  // namespace nrd::v1::rmd
