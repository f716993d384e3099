// HTTP load over connections that are kept open, one thread each.
//
//   nrd_bench_load pairs PORT CLIENTS SECONDS           POST and DELETE of a 4-CPU guarantee workload
//   nrd_bench_load patches PORT CLIENTS SECONDS         PATCH of such a workload, to two ways and back to one
//   nrd_bench_load get PORT CONNECTIONS SECONDS PATH    GET of one path
//
// Prints one JSON object: requests, seconds, rate (pairs or requests per second), median and 99th percentile in
// microseconds.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

// The node of bench/run: CPUs 0-63 are on socket 0, the others on socket 1. Its 20 ways leave 10 to guarantee on each
// cache, so 16 clients of one way each fit.
constexpr unsigned kCpusPerSocket = 64;
constexpr unsigned kCpusPerClient = 4;
constexpr unsigned kMostClients = 20;

[[noreturn]] void give_up(const std::string& why) {
  std::fprintf(stderr, "nrd_bench_load: %s\n", why.c_str());
  std::exit(1);
}

struct Answer {
  std::string_view head;
  std::string_view body;
};

class Connection {
 public:
  explicit Connection(uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    const int on = 1;
    ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) give_up("cannot connect");
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() { ::close(socket_); }

  // The answer is valid until the next call.
  Answer ask(const std::string& request, std::string_view expected_status) {
    for (size_t sent = 0; sent < request.size();) {
      const ssize_t count = ::send(socket_, request.data() + sent, request.size() - sent, MSG_NOSIGNAL);
      if (count <= 0) give_up("cannot send");
      sent += static_cast<size_t>(count);
    }
    received_.clear();
    size_t head_end = 0;
    while ((head_end = received_.find("\r\n\r\n")) == received_.npos) receive();
    const size_t body_begin = head_end + 4;
    const size_t end = body_begin + content_length(std::string_view(received_).substr(0, head_end));
    while (received_.size() < end) receive();
    const std::string_view all(received_);
    const Answer answer{all.substr(0, head_end), all.substr(body_begin)};
    if (!answer.head.substr(answer.head.find(' ') + 1).starts_with(expected_status)) {
      give_up("unexpected answer: " + received_.substr(0, 300));
    }
    return answer;
  }

 private:
  void receive() {
    char bytes[65536];
    const ssize_t count = ::recv(socket_, bytes, sizeof bytes, 0);
    if (count <= 0) give_up("connection lost");
    received_.append(bytes, static_cast<size_t>(count));
  }

  static size_t content_length(std::string_view head) {
    constexpr std::string_view kName = "Content-Length: ";
    const size_t at = head.find(kName);
    return at == head.npos ? 0 : std::strtoul(head.data() + at + kName.size(), nullptr, 10);
  }

  int socket_;
  std::string received_;
};

struct Taken {
  size_t requests = 0;
  std::vector<double> micros;
};

// Calls `once` until the deadline.
template <typename Once>
void repeat(Clock::time_point until, std::vector<double>& micros, Once once) {
  while (Clock::now() < until) {
    const auto begun = Clock::now();
    once();
    micros.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begun).count());
  }
}

std::string with_body(const std::string& method_and_path, const std::string& body) {
  return method_and_path + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: " +
         std::to_string(body.size()) + "\r\n\r\n" + body;
}

std::string post_for(unsigned client) {
  const unsigned first = client % 2 * kCpusPerSocket + client / 2 * kCpusPerClient;
  const std::string cpus = std::to_string(first) + "-" + std::to_string(first + kCpusPerClient - 1);
  return with_body("POST /v1/workloads", R"({"core_ids":[")" + cpus + R"("],"cache":{"max":1,"min":1}})");
}

std::string delete_of(const std::string& id) {
  return "DELETE /v1/workloads/" + id + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
}

std::string id_of(std::string_view workload) {
  constexpr std::string_view kKey = R"("id":")";
  const size_t at = workload.find(kKey);
  if (at == workload.npos) give_up("no id in the answer");
  const std::string_view rest = workload.substr(at + kKey.size());
  return std::string(rest.substr(0, rest.find('"')));
}

Taken pairs(uint16_t port, unsigned client, Clock::time_point until) {
  Connection connection(port);
  const std::string post = post_for(client);
  Taken taken;
  repeat(until, taken.micros, [&] {
    const std::string id = id_of(connection.ask(post, "201").body);
    connection.ask(delete_of(id), "200");
    taken.requests += 2;
  });
  return taken;
}

Taken patches(uint16_t port, unsigned client, Clock::time_point until) {
  Connection connection(port);
  const std::string id = id_of(connection.ask(post_for(client), "201").body);
  const std::string path = "PATCH /v1/workloads/" + id;
  const std::string wide = with_body(path, R"({"cache":{"max":2,"min":2}})");
  const std::string narrow = with_body(path, R"({"cache":{"max":1,"min":1}})");
  Taken taken;
  repeat(until, taken.micros, [&] { connection.ask(taken.requests++ % 2 == 0 ? wide : narrow, "200"); });
  connection.ask(delete_of(id), "200");
  return taken;
}

Taken gets(uint16_t port, const std::string& path, Clock::time_point until) {
  Connection connection(port);
  const std::string get = "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
  Taken taken;
  repeat(until, taken.micros, [&] {
    connection.ask(get, "200");
    ++taken.requests;
  });
  return taken;
}

template <typename One>
void measure(unsigned count, double seconds, One one) {
  std::vector<Taken> all(count);
  const auto begun = Clock::now();
  const auto until = begun + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  {
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < count; ++i) threads.emplace_back([&, i] { all[i] = one(i, until); });
  }
  const double lasted = std::chrono::duration<double>(Clock::now() - begun).count();
  size_t requests = 0;
  std::vector<double> micros;
  for (const Taken& taken : all) {
    requests += taken.requests;
    micros.insert(micros.end(), taken.micros.begin(), taken.micros.end());
  }
  if (micros.empty()) give_up("no answer in time");
  std::sort(micros.begin(), micros.end());
  std::printf("{\"requests\": %zu, \"seconds\": %.3f, \"rate\": %.1f, \"median_us\": %.1f, \"p99_us\": %.1f}\n",
              requests, lasted, static_cast<double>(micros.size()) / lasted, micros[micros.size() / 2],
              micros[micros.size() * 99 / 100]);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  const bool is_pairs = mode == "pairs" && argc == 5;
  const bool is_patches = mode == "patches" && argc == 5;
  const bool is_get = mode == "get" && argc == 6;
  const int count = argc > 3 ? std::atoi(argv[3]) : 0;
  if ((!is_pairs && !is_patches && !is_get) || count < 1 || (!is_get && count > static_cast<int>(kMostClients))) {
    std::fputs("usage: nrd_bench_load pairs|patches PORT CLIENTS SECONDS | get PORT CONNECTIONS SECONDS PATH\n",
               stderr);
    return 2;
  }
  const auto port = static_cast<uint16_t>(std::atoi(argv[2]));
  const double seconds = std::atof(argv[4]);
  if (is_pairs) {
    measure(static_cast<unsigned>(count), seconds,
            [&](unsigned client, Clock::time_point until) { return pairs(port, client, until); });
  } else if (is_patches) {
    measure(static_cast<unsigned>(count), seconds,
            [&](unsigned client, Clock::time_point until) { return patches(port, client, until); });
  } else {
    const std::string path = argv[5];
    measure(static_cast<unsigned>(count), seconds,
            [&](unsigned, Clock::time_point until) { return gets(port, path, until); });
  }
}
