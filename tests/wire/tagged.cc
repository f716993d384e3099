// No answer ever reaches another client: connections in great number, each with a request of its own tag, half of whose
// clients vanish before the answer, which comes late and from another thread. Descriptors are used again all the time.
//
//   nrd-wire-tagged [connections]
//
// Exits with 1 and the first wrong answers, if there were any.
#include <array>
#include <atomic>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "api/http/server.h"
#include "tests/wire/tcp_client.h"

namespace {

using nrd::http::Reply;
using nrd::http::Request;
using nrd::http::Server;
using nrd::wire::TcpClient;

constexpr int kClients = 8;
constexpr int kHeardInMs = 10'000;

// Answers with the request's path, a little later and out of order.
class LateAnswers {
 public:
  LateAnswers() : thread_([this] { answer_all(); }) {}
  ~LateAnswers() {
    {
      const std::lock_guard hold(lock_);
      is_ending_ = true;
    }
    came_.notify_one();
    thread_.join();
  }

  void take(std::string path, Reply reply) {
    const std::lock_guard hold(lock_);
    waiting_.emplace_back(std::move(path), std::move(reply));
    came_.notify_one();
  }

 private:
  using Waiting = std::pair<std::string, Reply>;

  void answer_all() {
    for (;;) {
      std::unique_lock hold(lock_);
      came_.wait(hold, [this] { return is_ending_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      std::deque<Waiting> batch = std::exchange(waiting_, {});
      hold.unlock();
      while (!batch.empty()) {
        batch.back().second.send(
            {.status = 200, .content_type = "text/plain", .body = batch.back().first, .headers = {}});
        batch.pop_back();
      }
    }
  }

  std::mutex lock_;
  std::condition_variable came_;
  std::deque<Waiting> waiting_;
  bool is_ending_ = false;
  std::thread thread_;
};

struct Counts {
  std::atomic<int> right = 0;
  std::atomic<int> vanished = 0;
  std::atomic<int> wrong = 0;
};

std::string heard_whole(TcpClient& client) {
  std::string all;
  for (std::string piece = client.hear(kHeardInMs); !piece.empty(); piece = client.hear(kHeardInMs)) {
    all += piece;
    const size_t end = all.find("\r\n\r\n");
    if (end == all.npos) continue;
    const size_t at = all.find("Content-Length: ");
    const size_t size = at < end ? static_cast<size_t>(std::atol(all.c_str() + at + 16)) : 0;
    if (all.size() >= end + 4 + size) return all.substr(end + 4);
  }
  return "(no answer: " + all + ")";
}

void visit(uint16_t port, int who, int connections, Counts& counts) {
  std::minstd_rand random(static_cast<unsigned>(who) + 1);
  for (int i = 0; i < connections; ++i) {
    const std::string tag = "/" + std::to_string(who) + "/" + std::to_string(i);
    const bool is_late = random() % 2 == 0;
    TcpClient client(port);
    client.say("GET " + (is_late ? "/late" + tag : tag) + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
    if (random() % 2 == 0) {
      client.reset();
      ++counts.vanished;
      continue;
    }
    const std::string answer = heard_whole(client);
    client.reset();
    if (answer == (is_late ? "/late" + tag : tag)) {
      ++counts.right;
    } else if (++counts.wrong <= 5) {
      std::fprintf(stderr, "%s was answered: %s\n", tag.c_str(), answer.c_str());
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  const int connections = argc > 1 ? std::atoi(argv[1]) : 100'000;
  Counts counts;
  {
    LateAnswers late;
    auto server =
        Server::start({.plain = nrd::http::TcpEndpoint{.address = "127.0.0.1", .port = 0}},
                      [&late](const Request& request, Reply reply) {
                        if (request.path.starts_with("/late")) return late.take(request.path, std::move(reply));
                        reply.send({.status = 200, .content_type = "text/plain", .body = request.path, .headers = {}});
                      });
    if (!server) return 2;
    std::vector<std::thread> clients;
    for (int who = 0; who < kClients; ++who) {
      clients.emplace_back(visit, (*server)->plain_port(), who, connections / kClients, std::ref(counts));
    }
    for (std::thread& client : clients) client.join();
  }
  std::printf("%d right, %d vanished, %d wrong\n", counts.right.load(), counts.vanished.load(), counts.wrong.load());
  const bool is_all = counts.right + counts.vanished + counts.wrong == connections / kClients * kClients;
  return counts.wrong == 0 && counts.right > connections / 3 && is_all ? 0 : 1;
}
