#include "cli/trusted_server.h"

#include <sys/stat.h>
#include <unistd.h>

namespace nrd::cli {

Result<void> check_server(const Client& client) {
  if (::geteuid() != 0) return {};
  if (!client.is_local()) {
    if (client.is_encrypted()) return {};
    return fail(ErrorCode::BadRequest,
                "as root, use the Unix socket or --url https://HOST:PORT: plain HTTP does not authenticate the server");
  }
  struct stat what = {};
  // An absent socket cannot be reached either, so it needs no check.
  if (::stat(client.socket().c_str(), &what) != 0 || what.st_uid == 0) return {};
  return fail(ErrorCode::BadRequest,
              "the socket " + client.socket() + " is not owned by root, so the server is not trusted");
}

}  // namespace nrd::cli
