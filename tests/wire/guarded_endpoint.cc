// The paths of bare_endpoint.cc behind nrd's own listener, for the same attacks. It prints the port it listens on and
// serves until it is killed.
//
//   nrd-guarded [--tls CERT KEY]
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "api/http/server.h"

namespace {

using nrd::http::Reply;
using nrd::http::Request;
using nrd::http::Response;
using nrd::http::Server;

Response text(std::string body) {
  return {.status = 200, .content_type = "text/plain", .body = std::move(body), .headers = {}};
}

// The number at the end of "/big/100".
size_t number_in(const std::string& path) { return std::stoul(path.substr(path.rfind('/') + 1)); }

void serve(const Request& request, Reply reply) {
  if (request.path == "/small") return reply.send(text("small"));
  if (request.path == "/echo") return reply.send(text(request.body));
  if (request.path == "/throw") throw 42;
  if (request.path.starts_with("/big/")) return reply.send(text(std::string(number_in(request.path), 'x')));
  if (request.path.starts_with("/slow/")) {
    std::this_thread::sleep_for(std::chrono::milliseconds(number_in(request.path)));
    return reply.send(text("slow"));
  }
  if (request.path == "/stream") {  // there are no streams here; an answer from another thread is the nearest to one
    std::thread([reply = std::move(reply)]() mutable { reply.send(text(std::string(2500, 't'))); }).detach();
    return;
  }
  reply.send({.status = 404, .content_type = {}, .body = {}, .headers = {}});
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> tls;
  CLI::App options("nrd's listener, to be attacked");
  options.add_option("--tls", tls, "Serve TLS with this certificate and key")->expected(2);
  CLI11_PARSE(options, argc, argv);

  std::signal(SIGPIPE, SIG_IGN);  // as the daemon does
  const nrd::http::TcpEndpoint place{.address = "127.0.0.1", .port = 0};
  nrd::http::ServerOptions listening;
  if (tls.empty()) {
    listening.plain = place;
  } else {
    listening.tls_at = place;
    listening.tls = nrd::http::TlsFiles{.certificate = tls.at(0),
                                        .key = tls.at(1),
                                        .client_ca = tls.at(0),
                                        .client_auth = nrd::http::ClientAuth::Optional};
  }
  const auto server = Server::start(std::move(listening), serve);
  if (!server) {
    std::fprintf(stderr, "%s\n", server.error().message.c_str());
    return 1;
  }
  std::printf("%u\n", static_cast<unsigned>(tls.empty() ? (*server)->plain_port() : (*server)->tls_port()));
  std::fflush(stdout);
  for (;;) ::pause();
}
