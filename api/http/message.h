// A request and its answer on our own types. Handlers see these and nothing of the HTTP library.
//
// A Request is complete and bounded when a handler gets it. A Reply answers exactly once: send() may be called from any
// thread, also after the handler returned; a Reply that is dropped unanswered sends a 500, so no client waits for ever.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace nrd::http {

struct Request {
  std::string method;                        // "GET"
  std::string path;                          // percent-decoded once, begins with '/'
  std::map<std::string, std::string> query;  // decoded
  std::string content_type;                  // as sent, empty if absent
  std::string accept;
  std::string body;
};

struct Response {
  int status = 200;
  std::string content_type;  // empty: no body
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;  // "Allow", ...
};

class Reply {
 public:
  explicit Reply(std::function<void(Response)> send) : send_(std::move(send)) {}
  Reply(Reply&& other) noexcept : send_(std::exchange(other.send_, nullptr)) {}
  Reply& operator=(Reply&&) = delete;
  ~Reply() {
    if (send_)
      send_({.status = 500, .content_type = "text/plain", .body = "The request was not answered.\n", .headers = {}});
  }

  void send(Response response) {
    if (auto send = std::exchange(send_, nullptr)) send(std::move(response));
  }

 private:
  std::function<void(Response)> send_;
};

// Must not throw.
using Handler = std::function<void(const Request&, Reply)>;

}  // namespace nrd::http
