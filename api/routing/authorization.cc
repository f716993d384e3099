#include "api/routing/authorization.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "api/auth/basic.h"
#include "api/auth/login_limits.h"
#include "api/rmd/texts.h"
#include "api/routing/content_negotiation.h"
#include "api/routing/problem.h"
#include "base/ascii.h"
#include "base/joined.h"
#include "base/json/writer.h"
#include "base/log.h"

namespace nrd::routing {
namespace {

// Client text for the log, cut to a bounded length.
std::string echoed(std::string_view text) {
  constexpr size_t kMost = 128;
  return text.size() <= kMost ? std::string(text) : std::string(text.substr(0, kMost)) + "...";
}

// The same within a line: in quotes if it could be taken for more of the line.
std::string echoed_in_line(std::string_view text) {
  return is_made_of(text, "-_.:@/+") ? echoed(text) : json::quoted(echoed(text));
}

// Only the names of users of a Unix socket are nrd's own text: "uid 0".
std::string name_in_line(const std::string& user, const http::Peer& peer) {
  if (user.empty()) return "unknown user";
  return peer.transport == http::Peer::Transport::Unix ? user : echoed_in_line(user);
}

// " (WORKLOAD 7, NAME feed)"; empty without an entry.
std::string detail_of(const std::vector<std::pair<std::string, std::string>>& audit) {
  std::string text;
  for (const auto& [key, value] : audit) {
    const bool is_chosen = key != "GRANTED" && key != "FORCED";
    text += fmt::format("{}{} {}", text.empty() ? " (" : ", ", lower_case(key),
                        is_chosen ? echoed_in_line(value) : echoed(value));
  }
  return text.empty() ? text : text + ")";
}

// "Alice from 127.0.0.1:40112: DELETE /v1/workloads/1: 403 (reason ...)", and the same as fields.
void log_audit(const char* id, const std::string& user, const http::Peer& peer, const std::string& method,
               const std::string& path, int status, const std::vector<std::pair<std::string, std::string>>& audit) {
  std::vector<log::Field> fields{{"USER", echoed(user)},
                                 {"FROM", peer.address},
                                 {"METHOD", method},
                                 {"PATH", echoed(path)},
                                 {"STATUS", std::to_string(status)}};
  for (const auto& [key, value] : audit) fields.emplace_back(key, key == "REASON" ? echoed(value) : value);
  log::write(log::Priority::Notice, id,
             fmt::format("{} from {}: {} {}: {}{}", name_in_line(user, peer), peer.address, method,
                         echoed_in_line(path), status, detail_of(audit)),
             fields, log::Shown::Text);
}

// Rate limit for log lines that clients can trigger at will, so that no client can flood the journal: a token bucket
// per client and one for all clients. docs/security.md states the resulting maximum per day.
//
// Thread-safe: the engine replies on its own thread.
class RefusalLog {
 public:
  // Takes a token; false if there is none. Logs the number of suppressed lines at most once per minute.
  bool admits(const std::string& client_key) {
    const std::lock_guard hold(lock_);
    const auto now = std::chrono::steady_clock::now();
    if (suppressed_ > 0 && now - last_report_ >= kReportInterval) {
      log::warning("AUDIT_SUPPRESSED", fmt::format("{} refusals suppressed by the log rate limit", suppressed_),
                   {{"COUNT", std::to_string(suppressed_)}});
      last_report_ = now;
      suppressed_ = 0;
    }
    if (!per_client_.has_token(client_key, now) || !all_clients_.has_token(kAll, now)) {
      if (suppressed_++ == 0) last_report_ = now;
      return false;
    }
    per_client_.take(client_key, now);
    all_clients_.take(kAll, now);
    return true;
  }

 private:
  static constexpr std::chrono::seconds kReportInterval{60};
  static constexpr const char* kAll = "";
  std::mutex lock_;
  auth::Buckets per_client_{20, std::chrono::seconds(10)};
  auth::Buckets all_clients_{50, std::chrono::seconds(1)};
  std::chrono::steady_clock::time_point last_report_{};
  uint64_t suppressed_ = 0;
};

ErrorStyle style_of(const http::Request& request) { return error_style(request.accept).value_or(ErrorStyle::Text); }

http::Response refuse(const http::Request& request, const Problem& problem, const std::string& user,
                      RefusalLog& refusals) {
  if (!refusals.admits(request.client.client_key)) return problem_response(problem, style_of(request));
  log_audit("AUDIT_REFUSED", user, *request.peer, request.method, request.path, problem.status,
            {{"REASON", problem.detail}});
  return problem_response(problem, style_of(request));
}

std::string part_of(const http::Peer& peer, std::string_view attribute) {
  const auto found =
      std::ranges::find(peer.subject, attribute, [](const auto& part) { return std::string_view(part.first); });
  return found == peer.subject.end() ? "" : found->second;
}

std::vector<std::string> units_of(const http::Peer& peer) {
  std::vector<std::string> units;
  for (const auto& [attribute, value] : peer.subject) {
    if (attribute == "OU") units.push_back(value);
  }
  return units;
}

// The text/plain line, which RMD's clients display.
std::string line_for(const auth::AuthFailure& failure, const http::Peer& peer) {
  switch (failure.kind) {
    case auth::AuthFailure::Kind::Unlisted: return rmd::not_listed(part_of(peer, "CN"));
    case auth::AuthFailure::Kind::Roleless: return rmd::no_role(units_of(peer));
    case auth::AuthFailure::Kind::NeedsPassword:
    case auth::AuthFailure::Kind::Unknown:
    case auth::AuthFailure::Kind::Forbidden: break;
  }
  return failure.reason;
}

http::Response refuse(const http::Request& request, const auth::AuthFailure& failure, RefusalLog& refusals) {
  const bool is_known = failure.kind == auth::AuthFailure::Kind::Forbidden;
  return refuse(request,
                {.status = is_known ? 403 : 401,
                 .code = is_known ? "Forbidden" : "Unauthorized",
                 .line = line_for(failure, *request.peer),
                 .detail = failure.reason},
                failure.name, refusals);
}

struct Limit {
  std::string detail;
  std::string allowed;
};

Limit limit_of(const auth::Identity& identity, auth::Needs needs) {
  if (!auth::is_allowed(identity, needs.permission)) {
    return {" is not allowed to make this request on this socket ([[server.sockets]] of nrd.toml)",
            joined(*identity.allowed, ", ", json::name_of<auth::Permission>)};
  }
  const std::string reads = "GET, HEAD, OPTIONS, POST /v1/hospitality, POST /v1/onload/preflight";
  const std::string own =
      "POST /v1/workloads and /v1/onload/allocations with owner {\"caller\": true}; GET, PUT, PATCH and DELETE of what "
      "it owns";
  if (identity.role == auth::Role::User) {
    const std::string rights =
        identity.runs ? " may read, and change only workloads and Onload allocations owned by the calling process; "
                      : " has read-only access; ";
    if (needs.access == auth::Access::Admin) return {rights + "this request requires the admin role", ""};
    return {fmt::format("{}{} require the admin role", rights, identity.runs ? "other changes" : "changes"),
            identity.runs ? fmt::format("{}; {}", reads, own) : reads};
  }
  if (identity.runs) {
    return {" may only manage workloads and Onload allocations owned by the calling process", own};
  }
  return {" is not permitted to make this request", ""};
}

http::Response refuse(const http::Request& request, const auth::Identity& identity, auth::Needs needs,
                      RefusalLog& refusals) {
  const bool is_listed = identity.auth_method == auth::AuthMethod::ListedCertificate;
  const Limit limit = limit_of(identity, needs);
  return refuse(request,
                {.status = 403,
                 .code = "Forbidden",
                 .line = rmd::not_authorized(is_listed ? rmd::kListedUser : std::string_view(identity.name)),
                 .detail = "\"" + identity.name + "\"" + limit.detail,
                 .allowed = limit.allowed},
                identity.name, refusals);
}

// Wraps `reply` so that sending it writes an audit line. With `refusals`, error responses are rate-limited: a client
// limited to what it owns must not flood the journal with denied attempts. Successful changes are always logged.
http::Reply audited(const http::Request& request, const auth::Identity& identity, std::shared_ptr<RefusalLog> refusals,
                    http::Reply reply) {
  return http::Reply([reply = std::move(reply), user = identity.name, peer = request.peer, method = request.method,
                      path = request.path, client_key = request.client.client_key,
                      refusals = std::move(refusals)](http::Response response) {
    constexpr int kFirstRefusal = 400;
    if (refusals && response.status >= kFirstRefusal && !refusals->admits(client_key)) {
      return reply.send(std::move(response));
    }
    log_audit("AUDIT_CHANGE", user, *peer, method, path, response.status, response.audit);
    reply.send(std::move(response));
  });
}

// A request that waits for the PAM result.
struct Login {
  http::Request request;
  http::Reply reply;
  std::string user;
};

// Runs on the event loop's thread only.
class Authorization : public std::enable_shared_from_this<Authorization> {
 public:
  Authorization(AuthorizationOptions options, http::Handler next)
      : options_(std::move(options)), next_(std::move(next)) {}

  void authorize(http::Request request, http::Reply reply) {
    const auto rules = options_.rules->get();
    const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
    const auto identity = auth::identify(*rules, *request.peer, now);
    if (identity) return admit(*rules, *identity, std::move(request), std::move(reply));
    if (identity.error().kind == auth::AuthFailure::Kind::NeedsPassword) return log_in(request, std::move(reply));
    reply.send(refuse(request, identity.error(), *refusals_));
  }

 private:
  void admit(const auth::Rules& rules, const auth::Identity& identity, http::Request request, http::Reply reply) {
    const auth::Needs needs = access_to(options_.table, request.method, request.path);
    const bool reads = auth::only_reads(request.method, needs.access);
    const auth::Grant grant = auth::granted(rules, identity, request.method, request.path, needs);
    const bool is_limited = grant != auth::Grant::Whole;
    if (grant == auth::Grant::No) return reply.send(refuse(request, identity, needs, *refusals_));
    http::Reply answered =
        reads ? std::move(reply) : audited(request, identity, is_limited ? refusals_ : nullptr, std::move(reply));
    request.is_limited_to_own = is_limited;
    request.client.client_key = fmt::format("{} at {}", identity.name, request.client.client_key);
    request.origin = identity.origin;
    request.may_launch = auth::is_allowed(identity, auth::Permission::OnloadAllocations);
    // Requests of a limited socket do not use what is reserved for administrators.
    request.client.is_privileged = identity.role == auth::Role::Admin && !identity.allowed;
    next_(std::move(request), std::move(answered));
  }

  void log_in(const http::Request& request, http::Reply reply) {
    auto given = request.authorization ? auth::parse_basic(request.authorization->view()) : std::nullopt;
    if (!given) return reply.send(refuse_malformed(request));
    if (!limits_.admit(request.peer->host, given->user, std::chrono::steady_clock::now())) {
      return reply.send(refuse_too_many(request, given->user));
    }
    const auto login = std::make_shared<Login>(Login{request, std::move(reply), given->user});
    login->request.authorization.reset();
    const auto then = [self = shared_from_this(), login](const auth::PamOutcome& outcome) {
      login->request.later([self, login, outcome] { self->finish_login(*login, outcome); });
    };
    const auto rules = options_.rules->get();
    if (!auth::has_role(*rules, given->user)) return options_.pam_client->load()->refuse(then);
    Client client = request.client;
    client.is_privileged = auth::identify_by_password(*rules, given->user).role == auth::Role::Admin;
    options_.pam_client->load()->ask(client,
                                     {.service = rules->pam_service,
                                      .user = given->user,
                                      .host = request.peer->host,
                                      .password = std::move(given->password)},
                                     then);
  }

  void finish_login(Login& login, const auth::PamOutcome& outcome) {
    if (outcome && outcome->code != 0) return login.reply.send(refuse_failed(login, outcome->text));
    limits_.did_not_fail(login.request.peer->host, login.user, std::chrono::steady_clock::now());
    if (!outcome) return login.reply.send(refuse_unchecked(login, outcome.error()));
    const auto rules = options_.rules->get();
    admit(*rules, auth::identify_by_password(*rules, login.user), std::move(login.request), std::move(login.reply));
  }

  http::Response refuse_malformed(const http::Request& request) {
    return refuse(request,
                  {.status = 400,
                   .code = "MalformedCredentials",
                   .line = std::string(rmd::kMalformedCredentials),
                   .detail = "no client certificate and no valid \"Authorization: Basic\" credentials"},
                  "", *refusals_);
  }

  http::Response refuse_too_many(const http::Request& request, const std::string& user) {
    http::Response response = refuse(request,
                                     {.status = 429,
                                      .code = "TooManyLogins",
                                      .line = "Too many failed logins; try again later.",
                                      .detail = "too many failed logins from this host or for this user"},
                                     user, *refusals_);
    response.headers.emplace_back("Retry-After", std::to_string(auth::kHostRegains.count()));
    return response;
  }

  http::Response refuse_unchecked(const Login& login, const Error& error) {
    if (refusals_->admits(login.request.client.client_key)) {
      const http::Peer& peer = *login.request.peer;
      log::warning("LOGIN_UNCHECKED",
                   fmt::format("{} from {}: {}{}", name_in_line(login.user, peer), peer.address, error.message,
                               error.detail.empty() ? "" : " (" + error.detail + ")"),
                   {{"USER", echoed(login.user)}, {"FROM", peer.address}, {"DETAIL", error.detail}}, log::Shown::Text);
    }
    return problem_response({.status = 503, .code = "LoginUnchecked", .line = error.message, .detail = error.message},
                            style_of(login.request));
  }

  http::Response refuse_failed(const Login& login, const std::string& pam_message) {
    if (refusals_->admits(login.request.client.client_key)) {
      const http::Peer& peer = *login.request.peer;
      log::notice("LOGIN_FAILED",
                  fmt::format("{} from {}: {}", name_in_line(login.user, peer), peer.address, pam_message),
                  {{"USER", echoed(login.user)}, {"FROM", peer.address}, {"REASON", pam_message}}, log::Shown::Text);
    }
    http::Response response = problem_response(
        {.status = 401, .code = "Unauthorized", .line = pam_message, .detail = pam_message}, style_of(login.request));
    response.headers.emplace_back("WWW-Authenticate", rmd::kChallenge);
    return response;
  }

  const AuthorizationOptions options_;
  const http::Handler next_;
  const std::shared_ptr<RefusalLog> refusals_ = std::make_shared<RefusalLog>();
  auth::LoginLimits limits_;
};

}  // namespace

http::Handler authorize(AuthorizationOptions options, http::Handler next) {
  // Copies of this handler share the state and all run on the event loop's thread.
  return
      [authorization = std::make_shared<Authorization>(std::move(options), std::move(next))](
          http::Request request, http::Reply reply) { authorization->authorize(std::move(request), std::move(reply)); };
}

}  // namespace nrd::routing
