// Pistache's own endpoint and router as their manual shows them, with nothing in front: what attacks.py must be able to
// hurt. It prints the port it listens on and serves until it is killed or dies.
//
//   nrd-bare-pistache [--port N] [--tls CERT KEY] [--threads N] [--max-request BYTES]

#include <pistache/endpoint.h>
#include <pistache/router.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

namespace http = Pistache::Http;
namespace rest = Pistache::Rest;
using rest::Route;

constexpr int kChunksOfStream = 500;

void flush_from_another_thread(http::ResponseStream stream) {
  std::thread([stream = std::move(stream)]() mutable {
    try {
      for (int chunk = 0; chunk < kChunksOfStream; ++chunk) stream << "tick\n" << http::flush;
      stream << http::ends;
    } catch (const std::exception&) {
      // The client went away. A careful user catches that, and it does not help.
    }
  }).detach();
}

// GET and POST only, so that the router meets methods it does not know yet.
void add_routes(rest::Router& router) {
  router.get("/small", [](const rest::Request&, http::ResponseWriter answer) {
    answer.send(http::Code::Ok, "small");
    return Route::Result::Ok;
  });
  router.get("/big/:bytes", [](const rest::Request& request, http::ResponseWriter answer) {
    answer.send(http::Code::Ok, std::string(request.param(":bytes").as<size_t>(), 'x'));
    return Route::Result::Ok;
  });
  router.get("/slow/:ms", [](const rest::Request& request, http::ResponseWriter answer) {
    std::this_thread::sleep_for(std::chrono::milliseconds(request.param(":ms").as<int>()));
    answer.send(http::Code::Ok, "slow");
    return Route::Result::Ok;
  });
  router.get("/throw", [](const rest::Request&, http::ResponseWriter) -> Route::Result { throw 42; });
  router.get("/stream", [](const rest::Request&, http::ResponseWriter answer) {
    flush_from_another_thread(answer.stream(http::Code::Ok));
    return Route::Result::Ok;
  });
  router.post("/echo", [](const rest::Request& request, http::ResponseWriter answer) {
    answer.send(http::Code::Ok, request.body());
    return Route::Result::Ok;
  });
}

}  // namespace

int main(int argc, char** argv) {
  uint16_t port = 0;
  std::vector<std::string> tls;
  int threads = 1;
  size_t max_request = 4096;  // as Pistache has it
  CLI::App options("Pistache's own endpoint, to be attacked");
  options.add_option("--port", port, "0: a free one");
  options.add_option("--tls", tls, "Serve TLS with this certificate and key")->expected(2);
  options.add_option("--threads", threads, "Workers");
  options.add_option("--max-request", max_request, "Bytes of one request");
  CLI11_PARSE(options, argc, argv);

  auto router = std::make_shared<rest::Router>();
  add_routes(*router);
  http::Endpoint endpoint(Pistache::Address("127.0.0.1", Pistache::Port(port)));
  endpoint.init(http::Endpoint::options()
                    .threads(threads)
                    .flags(Pistache::Tcp::Options::ReuseAddr | Pistache::Tcp::Options::NoDelay)
                    .maxRequestSize(max_request));
  if (!tls.empty()) endpoint.useSSL(tls.at(0), tls.at(1));  // after init(), which would turn it off
  endpoint.setHandler(rest::Router::handler(router));
  endpoint.serveThreaded();
  std::printf("%u\n", static_cast<unsigned>(static_cast<uint16_t>(endpoint.getPort())));
  std::fflush(stdout);
  for (;;) pause();
}
