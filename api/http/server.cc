#include "api/http/server.h"

#include <fcntl.h>
#include <pistache/endpoint.h>
#include <pistache/peer.h>
#include <sys/socket.h>

#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string_view>
#include <utility>

#include "api/http/percent.h"
#include "base/log.h"
#include "base/unique_fd.h"

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

Response plain(int status, const char* line) {
  return {.status = status, .content_type = "text/plain", .body = std::string(line) + "\n", .headers = {}};
}

// The bytes of an answer. Written here because Pistache 0.0.5 writes no header of a name it does not know, says
// "Connection: Close" to clients that did not ask to keep it (and keeps it), and gives a HEAD a body.
std::string bytes_of(const Response& response, bool has_body, bool closes) {
  constexpr size_t kHeadSize = 256;  // of nearly every answer
  std::string bytes;
  bytes.reserve(kHeadSize + response.body.size());
  bytes += "HTTP/1.1 " + std::to_string(response.status) + " " +
           pistache::codeString(static_cast<pistache::Code>(response.status)) + "\r\n";
  const auto header = [&bytes](std::string_view name, std::string_view value) {
    bytes.append(name).append(": ").append(value).append("\r\n");
  };
  if (!response.content_type.empty()) header("Content-Type", response.content_type);
  for (const auto& [name, value] : response.headers) header(name, value);
  if (closes) header("Connection", "close");
  header("Content-Length", std::to_string(response.body.size()));
  bytes += "\r\n";
  if (has_body) bytes += response.body;
  return bytes;
}

// One answer on its way to the client.
class Answer {
 public:
  // No body for a HEAD. `closing` is the connection, if it ends with this answer.
  Answer(std::shared_ptr<Shared> shared, const std::shared_ptr<Pistache::Tcp::Peer>& peer, bool has_body,
         UniqueFd closing)
      : shared_(std::move(shared)),
        count_(counted(shared_)),
        peer_(peer),
        has_body_(has_body),
        closing_(std::move(closing)) {}

  // On the engine's thread as well, and from a destructor: what goes wrong costs this client its answer and nobody
  // else.
  void send(const Response& response) noexcept {
    try {
      put_on_wire(response);
    } catch (const std::exception& thrown) {
      log::error("REQUEST_LOST", "an answer could not be sent", {{"DETAIL", thrown.what()}});
    }
  }

 private:
  void put_on_wire(const Response& response) {
    const std::shared_lock hold(shared_->alive_lock);
    const auto client = peer_.lock();
    if (!shared_->is_alive || !client) return;
    std::string bytes = bytes_of(response, has_body_, closing_.valid());
    const size_t size = bytes.size();
    // Runs on the connection's worker, or here if that was faster; then the worker may be closing the connection and
    // its number be another's, hence a descriptor of our own. The promise is that of Pistache's transport itself: the
    // one that ResponseWriter::send() returns is a chained one, which a worker resolves without a lock while then()
    // adds to it.
    const auto written = [ends = std::make_shared<UniqueFd>(std::move(closing_)), held = std::move(count_)](ssize_t) {
      if (ends->valid()) ::shutdown(ends->get(), SHUT_RDWR);
    };
    client->send(Pistache::RawBuffer(std::move(bytes), size)).then(written, Pistache::Async::IgnoreException);
  }

  std::shared_ptr<Shared> shared_;
  std::shared_ptr<void> count_;
  std::weak_ptr<Pistache::Tcp::Peer> peer_;
  bool has_body_;
  UniqueFd closing_;
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
    const auto peer = writer.getPeer();
    if (!peer) return;
    // What is too long or garbled is not worth to go on with.
    const bool closes = wants_close(from) || !request || shared_->draining;
    UniqueFd closing(closes ? ::fcntl(peer->fd(), F_DUPFD_CLOEXEC, 0) : -1);
    // A std::function must be copyable, an Answer is not.
    const auto answer = std::make_shared<Answer>(shared_, peer, has_body, std::move(closing));
    Reply reply([answer](const Response& response) { answer->send(response); });
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
