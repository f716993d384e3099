// A bare Pistache handler that answers every request with the bytes of a file, as fast as Pistache can.
//
//   nrd_bench_bare PORT FILE        until it is killed; prints "ready" when it listens

#include <pistache/endpoint.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

namespace {

namespace http = Pistache::Http;

constexpr int kThreads = 1;  // as nrd has

class Bytes final : public http::Handler {
 public:
  HTTP_PROTOTYPE(Bytes)

  explicit Bytes(std::string bytes) : bytes_(std::move(bytes)) {}

  void onRequest(const http::Request&, http::ResponseWriter writer) override {
    // Pistache would say "Connection: Close" to clients that did not ask to keep it; nrd does not say it either.
    writer.headers().remove<http::Header::Connection>();
    writer.send(http::Code::Ok, bytes_, MIME(Application, Json));
  }

 private:
  std::string bytes_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: nrd_bench_bare PORT FILE\n", stderr);
    return 2;
  }
  std::ifstream file(argv[2], std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  http::Endpoint endpoint(Pistache::Address("127.0.0.1", Pistache::Port(static_cast<uint16_t>(std::atoi(argv[1])))));
  endpoint.init(http::Endpoint::options()
                    .threads(kThreads)
                    .flags(Pistache::Tcp::Options::ReuseAddr | Pistache::Tcp::Options::NoDelay)
                    .maxResponseSize(size_t{1} << 20));
  endpoint.setHandler(std::make_shared<Bytes>(std::move(bytes)));
  std::puts("ready");
  std::fflush(stdout);
  endpoint.serve();
}
