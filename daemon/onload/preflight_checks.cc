#include "daemon/onload/preflight_checks.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "daemon/onload/target.h"

namespace nrd::daemon {
namespace {

using namespace onload;

Check check_kernel(const Version& version, const std::string& kernel) {
  const auto modules = modules_for(version, kernel);
  return modules ? Check{"kernel", std::nullopt, kernel} : Check{"kernel", modules.error(), {}};
}

Check check_files(const Versions& versions, const std::string& name) {
  const Result<std::vector<std::string>> differences = versions.verify(name);
  if (!differences) return {"files", differences.error(), {}};
  if (differences->empty()) return {"files", std::nullopt, "unchanged since import"};
  const size_t more = differences->size() - 1;
  const std::string and_more = more == 0 ? "" : fmt::format(" (and {} more)", more);
  return {"files",
          Error{ErrorCode::Conflict,
                "/version",
                fmt::format("{} of version {}{}", differences->front(), name, and_more),
                {},
                {},
                {}},
          {}};
}

}  // namespace

std::vector<Check> examine_version(const Versions& versions, const std::string& name, const std::string& kernel) {
  const Result<Version> version = versions.read(name);
  if (!version && version.error().code == ErrorCode::NotFound) {
    return {
        {"installed",
         Error{
             ErrorCode::BadRequest, "/version", version.error().message, {}, "GET /v1/onload/versions lists them", {}},
         {}}};
  }
  if (!version) return {{"installed", version.error(), {}}};
  return {{"installed", std::nullopt, name}, check_kernel(*version, kernel), check_files(versions, name)};
}

Failure source_at_fault(Error error, const std::string& source) {
  const bool is_of_source = error.code == ErrorCode::BadRequest || error.code == ErrorCode::NotFound;
  if (!is_of_source || !error.field.empty()) return Failure(std::move(error));
  error.code = ErrorCode::BadRequest;
  error.field = "/source";
  const size_t end = std::min(error.detail.find(": "), error.detail.size());
  const std::string path = error.detail.substr(0, end);
  if (path.starts_with('/') && (source + "/").starts_with(path + "/"))
    error.message = fmt::format("{}: {}", path, error.message);
  return Failure(std::move(error));
}

}  // namespace nrd::daemon
