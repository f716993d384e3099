#include "api/v1/gate.h"

#include <memory>
#include <utility>

#include "api/v1/media.h"
#include "api/v1/problem.h"
#include "api/v1/rmd.h"
#include "base/log.h"

namespace nrd::v1 {
namespace {

// "Alice from 127.0.0.1:40112: DELETE /v1/workloads/1: 403"
std::string audit_line(const std::string& user, const http::Peer& peer, const std::string& method,
                       const std::string& path, int status) {
  const std::string who = user.empty() ? "somebody" : user;
  return who + " from " + peer.address + ": " + method + " " + path + ": " + std::to_string(status);
}

http::Response refuse(const http::Request& request, Problem problem, const std::string& who) {
  log::notice("AUDIT_REFUSED", audit_line(who, *request.peer, request.method, request.path, problem.status),
              {{"USER", who},
               {"FROM", request.peer->address},
               {"METHOD", request.method},
               {"PATH", request.path},
               {"STATUS", std::to_string(problem.status)},
               {"REASON", problem.detail}});
  return render(problem, error_style(request.accept).value_or(ErrorStyle::Text));
}

http::Response refuse(const http::Request& request, const auth::Stranger& stranger) {
  const bool is_known = stranger.kind == auth::Stranger::Kind::Unwelcome;
  return refuse(request,
                {.status = is_known ? 403 : 401,
                 .code = is_known ? "Forbidden" : "Unauthorized",
                 .line = stranger.reason,
                 .detail = stranger.reason,
                 .field = {},
                 .allowed = {}},
                stranger.name);
}

http::Response refuse(const http::Request& request, const auth::Identity& reader) {
  return refuse(request,
                {.status = 403,
                 .code = "Forbidden",
                 .line = rmd::not_authorized(reader.name),
                 .detail = "\"" + reader.name + "\" may only read; changes need the role of an administrator",
                 .field = {},
                 .allowed = "GET, HEAD, OPTIONS"},
                reader.name);
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
  return [rules = std::move(rules), inside = std::move(inside)](const http::Request& request, http::Reply reply) {
    const auto who = auth::identify(rules, *request.peer);
    if (!who) return reply.send(refuse(request, who.error()));
    if (!auth::may(who->role, request.method)) return reply.send(refuse(request, *who));
    if (auth::is_reading(request.method)) return inside(request, std::move(reply));
    inside(request, audited(request, *who, std::move(reply)));
  };
}

}  // namespace nrd::v1
