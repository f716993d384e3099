#include "api/routing/problem.h"

#include "api/rmd/texts.h"
#include "base/control.h"
#include "base/json/object.h"

namespace nrd::routing {
namespace {

// RFC 9457: a title does not vary between occurrences.
const char* title_of(int status) {
  switch (status) {
    case 400: return "Invalid request";
    case 401: return "Authentication required";
    case 403: return "Permission denied";
    case 404: return "Not found";
    case 405: return "Method not allowed";
    case 406: return "No acceptable representation";
    case 409: return "Conflict with the current state";
    case 412: return "Precondition failed";
    case 415: return "Unsupported media type";
    case 422: return "Not supported by this node or version";
    case 423: return "Changes are frozen";
    case 429: return "Too many requests";
    case 503: return "Temporarily unavailable";
    default: return "Request failed";
  }
}

struct Answer {
  const char* name;
  int status;
};

Answer answer_to(ErrorCode code) {
  switch (code) {
    case ErrorCode::BadRequest: return {"BadRequest", 400};
    case ErrorCode::NoSuchPolicy: return {"NoSuchPolicy", 400};
    case ErrorCode::Forbidden: return {"Forbidden", 403};
    case ErrorCode::NotFound: return {"NotFound", 404};
    // Not 409: RMD's clients expect 400.
    case ErrorCode::CpuTaken: return {"CpuTaken", 400};
    case ErrorCode::UuidTaken: return {"UuidTaken", 400};
    case ErrorCode::IdTaken: return {"IdTaken", 400};
    case ErrorCode::NameTaken: return {"NameTaken", 409};
    case ErrorCode::NotEnough: return {"NotEnough", 409};
    case ErrorCode::NoClass: return {"NoClass", 409};
    case ErrorCode::Conflict: return {"Conflict", 409};
    case ErrorCode::Stale: return {"Stale", 412};
    case ErrorCode::Unsupported: return {"Unsupported", 422};
    case ErrorCode::KeyReused: return {"KeyReused", 422};
    case ErrorCode::Locked: return {"Locked", 423};
    // The same request may succeed later.
    case ErrorCode::Busy: return {"Busy", 503};
    case ErrorCode::Frozen: return {"Frozen", 503};
    case ErrorCode::Store: return {"Store", 503};
    case ErrorCode::Hardware: return {"Hardware", 500};
    case ErrorCode::Internal: break;
  }
  return {"Internal", 500};
}

}  // namespace

const char* name_of(ErrorCode code) { return answer_to(code).name; }

int status_of(ErrorCode code) { return answer_to(code).status; }

Problem problem_of(const Error& error, std::string line) {
  return {.status = status_of(error.code),
          .code = name_of(error.code),
          .line = std::move(line),
          .detail = error.message,
          .field = error.field,
          .allowed = error.allowed,
          .cause = error.detail.empty() ? nullptr : std::make_shared<const Error>(error)};
}

Problem problem_of_workload(const Error& error, std::string_view uuid) {
  Problem problem = problem_of(error, rmd::workload_refused(error, uuid));
  if (rmd::is_task_taken(error)) {
    problem.status = 400;  // as for CPUs
    problem.code = "TaskTaken";
  }
  return problem;
}

Problem problem_of_request(const Error& error) { return problem_of(error, rmd::reason(error)); }

Problem problem_of_body(const Error& error) { return problem_of(error, rmd::unreadable(error)); }

http::Response problem_response(const Problem& problem, ErrorStyle style) {
  http::Response response = http::plain(problem.status, without_controls(problem.line));
  response.cause = problem.cause;
  response.audit.emplace_back("REASON",
                              without_controls((problem.field.empty() ? "" : problem.field + ": ") + problem.detail));
  if (style == ErrorStyle::Text) return response;
  response.content_type = "application/problem+json";
  response.body = json::document({{"type", "urn:nrd:problem:" + problem.code},
                                  {"title", title_of(problem.status)},
                                  {"status", problem.status},
                                  {"detail", without_controls(problem.detail)},
                                  {"code", problem.code},
                                  {"field", json::given(problem.field)},
                                  {"allowed", json::given(problem.allowed)}});
  return response;
}

}  // namespace nrd::routing
