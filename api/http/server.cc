#include "api/http/server.h"

#include <pistache/endpoint.h>
#include <pistache/peer.h>
#include <sys/socket.h>

#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <utility>

#include "api/http/percent.h"
#include "base/log.h"

// Pistache's Http::Handler and not its Rest::Router: the router folds slashes with std::regex (a long path overflows
// the stack), inserts into a map from several threads for a method it does not know, and answers 404 and 405 in its own
// words. Our table of routes is one page in api/v1.

namespace nrd::http {
namespace {

using namespace std::chrono_literals;
namespace pistache = Pistache::Http;

constexpr size_t kPathLimit = 2048;
// Pistache answers what is larger than this in its own words and leaves the connection open, so it is far above what we
// refuse ourselves. It counts line, headers and body.
constexpr size_t kLibraryLimit = size_t{1} << 20;
// Pistache's header timeout also bounds our own work on the first request of a connection, so it is longer than the
// engine may take.
constexpr auto kHeaderTimeout = 60s;
constexpr auto kBodyTimeout = 30s;
constexpr auto kIdleTimeout = 300s;

// Requests that were accepted and not yet answered.
class InFlight {
 public:
  void begin() {
    const std::lock_guard hold(lock_);
    ++count_;
  }
  void end() {
    const std::lock_guard hold(lock_);
    if (--count_ == 0) none_.notify_all();
  }
  void wait_for_none(std::chrono::milliseconds deadline) {
    std::unique_lock hold(lock_);
    none_.wait_for(hold, deadline, [this] { return count_ == 0; });
  }

 private:
  std::mutex lock_;
  std::condition_variable none_;
  size_t count_ = 0;
};

// What the workers share with answers that come later from other threads, perhaps after the endpoint is gone.
struct Shared {
  explicit Shared(Handler handles) : handler(std::move(handles)) {}
  const Handler handler;
  std::atomic<bool> draining = false;
  InFlight in_flight;
  std::shared_mutex alive_lock;  // held shared while an answer is handed to Pistache
  bool is_alive = true;
};

// Counts one request from its acceptance until its answer is written, or can no longer be: Pistache drops the promise
// of an answer, and with it this, when the client has gone.
std::shared_ptr<void> counted(const std::shared_ptr<Shared>& shared) {
  shared->in_flight.begin();
  return {nullptr, [shared](void*) { shared->in_flight.end(); }};
}

// A response header of any name: of those that are not types Pistache 0.0.5 writes none.
class PlainHeader final : public pistache::Header::Header {
 public:
  PlainHeader(std::string name, std::string value) : name_(std::move(name)), value_(std::move(value)) {}
  const char* name() const override { return name_.c_str(); }
  uint64_t hash() const override { return 0; }  // of no type: nobody may cast it to one
  void write(std::ostream& out) const override { out << value_; }

 private:
  std::string name_;
  std::string value_;
};

Response plain(int status, const char* line) {
  return {.status = status, .content_type = "text/plain", .body = std::string(line) + "\n", .headers = {}};
}

// One answer on its way to the client.
struct Answer {
  std::shared_ptr<Shared> shared;
  std::shared_ptr<void> count;
  pistache::ResponseWriter writer;
  bool has_body;  // false for HEAD
  bool closes;

  void send(Response response) {
    const std::shared_lock hold(shared->alive_lock);
    if (!shared->is_alive) return;
    // Pistache would say "Connection: Close" to every client that did not ask to keep it, and then keep it.
    if (!closes) writer.headers().remove<pistache::Header::Connection>();
    if (closes) writer.headers().add<pistache::Header::Connection>(pistache::ConnectionControl::Close);
    if (!response.content_type.empty()) writer.headers().add<pistache::Header::ContentType>(response.content_type);
    for (auto& [name, value] : response.headers) {
      writer.headers().add(std::make_shared<PlainHeader>(std::move(name), std::move(value)));
    }
    if (!has_body) response.body.clear();
    // Runs on the connection's own worker, which alone closes it: while `peer` exists, its descriptor is no other's.
    const auto written = [peer = std::weak_ptr(writer.getPeer()), ends = closes, held = count](ssize_t) {
      if (!ends) return;
      if (const auto connection = peer.lock()) ::shutdown(connection->fd(), SHUT_RDWR);
    };
    writer.send(static_cast<pistache::Code>(response.status), response.body)
        .then(written, Pistache::Async::IgnoreException);
  }
};

std::string header_text(const std::shared_ptr<const pistache::Header::ContentType>& type) {
  return type ? type->mime().toString() : std::string();
}

std::string header_text(const std::shared_ptr<const pistache::Header::Accept>& accept) {
  std::string text;
  if (!accept) return text;
  for (const auto& media : accept->media()) text += (text.empty() ? "" : ",") + media.toString();
  return text;
}

std::optional<std::map<std::string, std::string>> decoded_query(const pistache::Uri::Query& query) {
  std::map<std::string, std::string> decoded;
  for (auto parameter = query.parameters_begin(); parameter != query.parameters_end(); ++parameter) {
    auto key = percent_decoded(parameter->first);
    auto value = percent_decoded(parameter->second);
    if (!key || !value) return std::nullopt;
    decoded.insert_or_assign(std::move(*key), std::move(*value));
  }
  return decoded;
}

// Our own request, or what to answer instead.
tl::expected<Request, Response> read(const pistache::Request& from) {
  if (from.resource().size() > kPathLimit) return tl::unexpected(plain(414, "The path is longer than 2048 bytes."));
  if (from.body().size() > Server::kBodyLimit) {
    return tl::unexpected(plain(413, "The body is larger than 65536 bytes."));
  }
  auto path = percent_decoded(from.resource());
  auto query = decoded_query(from.query());
  if (!path || !query || !path->starts_with('/')) {
    return tl::unexpected(plain(400, "The path or query is not properly percent-encoded."));
  }
  const auto& headers = from.headers();
  return Request{.method = pistache::methodString(from.method()),
                 .path = std::move(*path),
                 .query = std::move(*query),
                 .content_type = header_text(headers.tryGet<pistache::Header::ContentType>()),
                 .accept = header_text(headers.tryGet<pistache::Header::Accept>()),
                 .body = from.body()};
}

bool wants_close(const pistache::Request& request) {
  const auto connection = request.headers().tryGet<pistache::Header::Connection>();
  if (connection && connection->control() == pistache::ConnectionControl::Close) return true;
  return request.version() == pistache::Version::Http10;
}

class Door final : public pistache::Handler {
 public:
  HTTP_PROTOTYPE(Door)

  explicit Door(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}

  // Nothing may leave by an exception: Pistache sends what() to the client, and ends the process where there is none.
  void onRequest(const pistache::Request& from, pistache::ResponseWriter writer) noexcept override {
    try {
      answer(from, std::move(writer));
    } catch (const std::exception& thrown) {
      log::error("REQUEST_LOST", "a request could not be answered", {{"DETAIL", thrown.what()}});
    } catch (...) {
      log::error("REQUEST_LOST", "a request could not be answered", {{"DETAIL", "unknown exception"}});
    }
  }

 private:
  void answer(const pistache::Request& from, pistache::ResponseWriter writer) {
    const bool has_body = from.method() != pistache::Method::Head;
    auto request = read(from);
    // After an error of the framing and to a HEAD the connection is worth nothing: the client may see other limits of a
    // message than we do.
    const bool closes = wants_close(from) || !request || !has_body || shared_->draining;
    // A std::function must be copyable, a ResponseWriter is not.
    const auto answer = std::make_shared<Answer>(shared_, counted(shared_), std::move(writer), has_body, closes);
    Reply reply([answer](Response response) { answer->send(std::move(response)); });
    if (shared_->draining) return reply.send(plain(503, "The service is stopping."));
    if (!request) return reply.send(std::move(request.error()));
    shared_->handler(*request, std::move(reply));
  }

  std::shared_ptr<Shared> shared_;
};

class PistacheServer final : public Server {
 public:
  PistacheServer(const ServerOptions& options, Handler handler)
      : shared_(std::make_shared<Shared>(std::move(handler))),
        endpoint_(Pistache::Address(options.address, Pistache::Port(options.port))) {
    endpoint_.init(pistache::Endpoint::options()
                       .threads(static_cast<int>(options.threads))
                       .threadsName("nrd-http")
                       .flags(Pistache::Tcp::Options::ReuseAddr | Pistache::Tcp::Options::NoDelay)
                       .maxRequestSize(kLibraryLimit)
                       .headerTimeout(kHeaderTimeout)
                       .bodyTimeout(kBodyTimeout)
                       .keepaliveTimeout(kIdleTimeout));
    endpoint_.setHandler(std::make_shared<Door>(shared_));
    endpoint_.serveThreaded();
  }

  ~PistacheServer() override {
    shared_->draining = true;
    {
      const std::unique_lock hold(shared_->alive_lock);
      shared_->is_alive = false;  // an answer that comes now has no endpoint to go to
    }
    endpoint_.shutdown();
  }

  void drain(std::chrono::milliseconds deadline) override {
    shared_->draining = true;
    shared_->in_flight.wait_for_none(deadline);
  }

  uint16_t port() const override { return static_cast<uint16_t>(endpoint_.getPort()); }

 private:
  std::shared_ptr<Shared> shared_;
  pistache::Endpoint endpoint_;
};

}  // namespace

Result<std::unique_ptr<Server>> Server::start(const ServerOptions& options, Handler handler) {
  try {
    return std::make_unique<PistacheServer>(options, std::move(handler));
  } catch (const std::exception& thrown) {
    return fail(ErrorCode::Internal,
                "cannot listen on " + options.address + ":" + std::to_string(options.port) + ": " + thrown.what());
  }
}

}  // namespace nrd::http
