#include "api/v1/gate.h"

#include <chrono>
#include <memory>
#include <utility>

#include "api/v1/media.h"
#include "api/v1/problem.h"
#include "api/v1/rmd.h"
#include "api/v1/routes.h"
#include "base/log.h"

namespace nrd::v1 {
namespace {

// "Alice from 127.0.0.1:40112: DELETE /v1/workloads/1: 403"
std::string audit_line(const std::string& user, const http::Peer& peer, const std::string& method,
                       const std::string& path, int status) {
  const std::string who = user.empty() ? "somebody" : user;
  return who + " from " + peer.address + ": " + method + " " + path + ": " + std::to_string(status);
}

// Refusals are somebody else's to make: a line for each would let him fill the journal until it drops other lines.
class RefusalLog {
 public:
  // Whether this one has its line. Some each second have; the first line after that tells how many had not.
  bool admits() {
    const auto second = std::chrono::floor<std::chrono::seconds>(std::chrono::steady_clock::now());
    if (second != second_) {
      if (left_out_ > 0) {
        log::warning("AUDIT_LEFT_OUT", std::to_string(left_out_) + " refusals of one second have no line of their own",
                     {{"COUNT", std::to_string(left_out_)}});
      }
      second_ = second;
      admitted_ = left_out_ = 0;
    }
    if (admitted_ == kPerSecond) {
      ++left_out_;
      return false;
    }
    ++admitted_;
    return true;
  }

 private:
  static constexpr unsigned kPerSecond = 50;
  std::chrono::time_point<std::chrono::steady_clock, std::chrono::seconds> second_{};
  unsigned admitted_ = 0;
  unsigned left_out_ = 0;
};

http::Response refuse(const http::Request& request, Problem problem, const std::string& who, RefusalLog& refusals) {
  if (!refusals.admits()) return render(problem, error_style(request.accept).value_or(ErrorStyle::Text));
  log::notice("AUDIT_REFUSED", audit_line(who, *request.peer, request.method, request.path, problem.status),
              {{"USER", who},
               {"FROM", request.peer->address},
               {"METHOD", request.method},
               {"PATH", request.path},
               {"STATUS", std::to_string(problem.status)},
               {"REASON", problem.detail}});
  return render(problem, error_style(request.accept).value_or(ErrorStyle::Text));
}

http::Response refuse(const http::Request& request, const auth::Stranger& stranger, RefusalLog& refusals) {
  const bool is_known = stranger.kind == auth::Stranger::Kind::Unwelcome;
  return refuse(request,
                {.status = is_known ? 403 : 401,
                 .code = is_known ? "Forbidden" : "Unauthorized",
                 .line = stranger.reason,
                 .detail = stranger.reason,
                 .field = {},
                 .allowed = {}},
                stranger.name, refusals);
}

http::Response refuse(const http::Request& request, const auth::Identity& reader, RefusalLog& refusals) {
  return refuse(request,
                {.status = 403,
                 .code = "Forbidden",
                 .line = rmd::not_authorized(reader.name),
                 .detail = "\"" + reader.name + "\" may only read; changes need the role of an administrator",
                 .field = {},
                 .allowed = "GET, HEAD, OPTIONS, POST /v1/hospitality, POST /v1/onload/preflight"},
                reader.name, refusals);
}

// A reply that leaves its line in the audit when it is sent.
http::Reply audited(const http::Request& request, const auth::Identity& who, http::Reply reply) {
  // A std::function must be copyable, a Reply is not.
  const auto inner = std::make_shared<http::Reply>(std::move(reply));
  return http::Reply([inner, user = who.name, peer = request.peer, method = request.method,
                      path = request.path](http::Response response) {
    log::notice("AUDIT_CHANGE", audit_line(user, *peer, method, path, response.status),
                {{"USER", user},
                 {"FROM", peer->address},
                 {"METHOD", method},
                 {"PATH", path},
                 {"STATUS", std::to_string(response.status)}});
    inner->send(std::move(response));
  });
}

}  // namespace

http::Handler gate(auth::Rules rules, http::Handler inside) {
  // Shared by the copies of this handler, all of which run on the one worker.
  const auto refusals = std::make_shared<RefusalLog>();
  return [rules = std::move(rules), inside = std::move(inside), refusals](const http::Request& request,
                                                                          http::Reply reply) {
    const auto who = auth::identify(rules, *request.peer, std::chrono::system_clock::now());
    if (!who) return reply.send(refuse(request, who.error(), *refusals));
    if (only_reads(request.method, request.path)) return inside(request, std::move(reply));
    if (!auth::may(who->role, request.method)) return reply.send(refuse(request, *who, *refusals));
    inside(request, audited(request, *who, std::move(reply)));
  };
}

}  // namespace nrd::v1
