#include "api/v1/authorization.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "api/auth/basic.h"
#include "api/auth/login_limits.h"
#include "api/rmd/texts.h"
#include "api/v1/content_negotiation.h"
#include "api/v1/problem.h"
#include "api/v1/routes.h"
#include "base/log.h"

namespace nrd::v1 {
namespace {

// As much of a client's text as tells what it was.
std::string echoed(std::string_view text) {
  constexpr size_t kMost = 128;
  return text.size() <= kMost ? std::string(text) : std::string(text.substr(0, kMost)) + "...";
}

// "Alice from 127.0.0.1:40112: DELETE /v1/workloads/1: 403"
std::string audit_line(const std::string& user, const http::Peer& peer, const std::string& method,
                       const std::string& path, int status) {
  const std::string who = user.empty() ? "somebody" : echoed(user);
  return who + " from " + peer.address + ": " + method + " " + echoed(path) + ": " + std::to_string(status);
}

// Lines that clients cause as they like: a line for each would let one fill the journal until it drops other lines. So
// each client has some at once and one more every now and then, and all together likewise; docs/security.md has what
// that comes to in a day.
//
// From any thread: answers of the engine come on its own.
class RefusalLog {
 public:
  // Whether this one has its line. Once a minute a line tells how many had not.
  bool admits(const std::string& share) {
    const std::lock_guard hold(lock_);
    const auto now = std::chrono::steady_clock::now();
    if (left_out_ > 0 && now - told_ >= kTold) {
      log::warning("AUDIT_LEFT_OUT", std::to_string(left_out_) + " refusals have no line of their own",
                   {{"COUNT", std::to_string(left_out_)}});
      told_ = now;
      left_out_ = 0;
    }
    if (!of_client_.has_token(share, now) || !of_all_.has_token(kAll, now)) {
      if (left_out_++ == 0) told_ = now;
      return false;
    }
    of_client_.take(share, now);
    of_all_.take(kAll, now);
    return true;
  }

 private:
  static constexpr std::chrono::seconds kTold{60};
  static constexpr const char* kAll = "";
  std::mutex lock_;
  auth::Buckets of_client_{20, std::chrono::seconds(10)};
  auth::Buckets of_all_{50, std::chrono::seconds(1)};
  std::chrono::steady_clock::time_point told_{};
  uint64_t left_out_ = 0;
};

ErrorStyle style_of(const http::Request& request) { return error_style(request.accept).value_or(ErrorStyle::Text); }

http::Response refuse(const http::Request& request, const Problem& problem, const std::string& who,
                      RefusalLog& refusals) {
  if (!refusals.admits(request.client.share)) return render(problem, style_of(request));
  log::notice("AUDIT_REFUSED", audit_line(who, *request.peer, request.method, request.path, problem.status),
              {{"USER", echoed(who)},
               {"FROM", request.peer->address},
               {"METHOD", request.method},
               {"PATH", echoed(request.path)},
               {"STATUS", std::to_string(problem.status)},
               {"REASON", echoed(problem.detail)}});
  return render(problem, style_of(request));
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

// Clients of RMD show the line.
std::string line_for(const auth::AuthFailure& failure, const http::Peer& peer) {
  switch (failure.kind) {
    case auth::AuthFailure::Kind::Unlisted: return rmd::not_listed(part_of(peer, "CN"));
    case auth::AuthFailure::Kind::Roleless: return rmd::no_role(units_of(peer));
    case auth::AuthFailure::Kind::NeedsPassword:
    case auth::AuthFailure::Kind::Unknown:
    case auth::AuthFailure::Kind::Unwelcome: break;
  }
  return failure.reason;
}

http::Response refuse(const http::Request& request, const auth::AuthFailure& failure, RefusalLog& refusals) {
  const bool is_known = failure.kind == auth::AuthFailure::Kind::Unwelcome;
  return refuse(request,
                {.status = is_known ? 403 : 401,
                 .code = is_known ? "Forbidden" : "Unauthorized",
                 .line = line_for(failure, *request.peer),
                 .detail = failure.reason,
                 .field = {},
                 .allowed = {}},
                failure.name, refusals);
}

struct Limit {
  const char* detail;
  const char* allowed;
};

Limit limit_of(const auth::Identity& who) {
  if (who.role == auth::Role::User) {
    return {" may only read; changes need the role of an administrator",
            "GET, HEAD, OPTIONS, POST /v1/hospitality, POST /v1/onload/preflight"};
  }
  if (who.runs) {
    return {" may only have workloads for the process that asks",
            "POST /v1/workloads with the owner {\"caller\": true}; GET, PATCH and DELETE of such a workload"};
  }
  return {" may not do this", ""};
}

http::Response refuse(const http::Request& request, const auth::Identity& who, RefusalLog& refusals) {
  const bool is_listed = who.method == auth::AuthMethod::ListedCertificate;
  const Limit limit = limit_of(who);
  return refuse(request,
                {.status = 403,
                 .code = "Forbidden",
                 .line = rmd::not_authorized(is_listed ? rmd::kListedUser : std::string_view(who.name)),
                 .detail = "\"" + who.name + "\"" + limit.detail,
                 .field = {},
                 .allowed = limit.allowed},
                who.name, refusals);
}

// A reply that leaves its line in the audit when it is sent. `refusals`: null if each attempt has a line. Who is
// limited to its own workloads could otherwise fill the journal with attempts at others; a change that is made always
// has one.
http::Reply audited(const http::Request& request, const auth::Identity& who, std::shared_ptr<RefusalLog> refusals,
                    http::Reply reply) {
  // A std::function must be copyable, a Reply is not.
  const auto inner = std::make_shared<http::Reply>(std::move(reply));
  return http::Reply([inner, user = who.name, peer = request.peer, method = request.method, path = request.path,
                      share = request.client.share, refusals = std::move(refusals)](http::Response response) {
    constexpr int kFirstRefusal = 400;
    if (refusals && response.status >= kFirstRefusal && !refusals->admits(share)) {
      return inner->send(std::move(response));
    }
    log::notice("AUDIT_CHANGE", audit_line(user, *peer, method, path, response.status),
                {{"USER", echoed(user)},
                 {"FROM", peer->address},
                 {"METHOD", method},
                 {"PATH", echoed(path)},
                 {"STATUS", std::to_string(response.status)}});
    inner->send(std::move(response));
  });
}

Problem without_field(int status, const char* code, std::string_view line, std::string detail) {
  return {.status = status,
          .code = code,
          .line = std::string(line),
          .detail = std::move(detail),
          .field = {},
          .allowed = {}};
}

// A request whose user PAM is asked about. Shared by what waits for the answer.
struct Login {
  http::Request request;
  http::Reply reply;
  std::string user;
};

// All of it on the worker's thread.
class Authorization : public std::enable_shared_from_this<Authorization> {
 public:
  Authorization(AuthorizationOptions entry, http::Handler inside)
      : entry_(std::move(entry)), inside_(std::move(inside)) {}

  void enter(http::Request request, http::Reply reply) {
    const auto rules = entry_.rules->get();
    const auto who = auth::identify(*rules, *request.peer, std::chrono::system_clock::now());
    if (who) return admit(*rules, *who, std::move(request), std::move(reply));
    if (who.error().kind == auth::AuthFailure::Kind::NeedsPassword) return log_in(request, std::move(reply));
    reply.send(refuse(request, who.error(), *refusals_));
  }

 private:
  void admit(const auth::Rules& rules, const auth::Identity& who, http::Request request, http::Reply reply) {
    const bool reads = only_reads(request.method, request.path);
    const auth::Grant grant = auth::granted(rules, who, request.method, request.path, reads);
    const bool is_limited = grant != auth::Grant::Whole;
    if (grant == auth::Grant::No) return reply.send(refuse(request, who, *refusals_));
    http::Reply answered =
        reads ? std::move(reply) : audited(request, who, is_limited ? refusals_ : nullptr, std::move(reply));
    request.is_limited_to_own = is_limited;
    request.client.share = who.name + " at " + request.client.share;
    request.client.is_privileged = who.role == auth::Role::Admin;
    inside_(std::move(request), std::move(answered));
  }

  void log_in(const http::Request& request, http::Reply reply) {
    auto given = request.authorization ? auth::parse_basic(request.authorization->view()) : std::nullopt;
    if (!given) return reply.send(refuse_malformed(request));
    if (!limits_.admit(request.peer->host, given->user, std::chrono::steady_clock::now())) {
      return reply.send(refuse_too_many(request, given->user));
    }
    const auto login = std::make_shared<Login>(Login{request, std::move(reply), given->user});
    login->request.authorization.reset();
    const auto then = [authorize = shared_from_this(), login](const auth::PamOutcome& outcome) {
      login->request.later([authorize, login, outcome] { authorize->go_on(*login, outcome); });
    };
    const auto rules = entry_.rules->get();
    if (!auth::has_role(*rules, given->user)) return entry_.pam_client->refuse(then);
    Client client = request.client;
    client.is_privileged = auth::identify_by_password(*rules, given->user).role == auth::Role::Admin;
    entry_.pam_client->ask(client,
                           {.service = entry_.pam_service,
                            .user = given->user,
                            .host = request.peer->host,
                            .password = std::move(given->password)},
                           then);
  }

  void go_on(Login& login, const auth::PamOutcome& outcome) {
    if (!outcome) return login.reply.send(refuse_unchecked(login, outcome.error()));
    if (outcome->code != 0) return login.reply.send(refuse_failed(login, outcome->text));
    limits_.succeeded(login.request.peer->host, login.user, std::chrono::steady_clock::now());
    const auto rules = entry_.rules->get();
    admit(*rules, auth::identify_by_password(*rules, login.user), std::move(login.request), std::move(login.reply));
  }

  http::Response refuse_malformed(const http::Request& request) {
    return refuse(request,
                  without_field(400, "MalformedCredentials", rmd::kMalformedCredentials,
                                "neither a certificate nor \"Authorization: Basic\" with a user and a password"),
                  "", *refusals_);
  }

  http::Response refuse_too_many(const http::Request& request, const std::string& user) {
    http::Response response = refuse(request,
                                     without_field(429, "TooManyLogins", "Too many failed logins; try again later.",
                                                   "too many failed logins of this host or user"),
                                     user, *refusals_);
    response.headers.emplace_back("Retry-After", std::to_string(auth::kHostRegains.count()));
    return response;
  }

  http::Response refuse_unchecked(const Login& login, const Error& error) {
    if (refusals_->admits(login.request.client.share)) {
      log::warning("LOGIN_UNCHECKED", error.message,
                   {{"USER", echoed(login.user)}, {"FROM", login.request.peer->address}, {"DETAIL", error.detail}});
    }
    return render(without_field(503, "LoginUnchecked", error.message, error.message), style_of(login.request));
  }

  http::Response refuse_failed(const Login& login, const std::string& pams_words) {
    if (refusals_->admits(login.request.client.share)) {
      log::notice("LOGIN_FAILED", echoed(login.user) + " from " + login.request.peer->address + ": " + pams_words,
                  {{"USER", echoed(login.user)}, {"FROM", login.request.peer->address}, {"REASON", pams_words}});
    }
    http::Response response =
        render(without_field(401, "Unauthorized", pams_words, pams_words), style_of(login.request));
    response.headers.emplace_back("WWW-Authenticate", rmd::kChallenge);
    return response;
  }

  const AuthorizationOptions entry_;
  const http::Handler inside_;
  const std::shared_ptr<RefusalLog> refusals_ = std::make_shared<RefusalLog>();
  auth::LoginLimits limits_;
};

}  // namespace

http::Handler authorize(AuthorizationOptions entry, http::Handler inside) {
  // Shared by the copies of this handler, all of which run on the one worker.
  return [authorize = std::make_shared<Authorization>(std::move(entry), std::move(inside))](
             http::Request request, http::Reply reply) { authorize->enter(std::move(request), std::move(reply)); };
}

}  // namespace nrd::v1
