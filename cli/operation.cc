#include "cli/operation.h"

#include <fmt/core.h>

#include <chrono>
#include <string>
#include <thread>

#include "cli/printer.h"

namespace nrd::cli {
namespace {

constexpr std::chrono::seconds kPollTime{20};  // less than the client's timeout

// "moving 2048 MiB of feed.service from node 0-1 to node 0"
std::string text_of_move(const json::Value& operation) {
  constexpr uint64_t kMib = 1 << 20;
  const uint64_t bytes = part(operation, "bytes").as_unsigned().value_or(0);
  const std::string size = bytes == 0 ? "memory" : fmt::format("{} MiB", (bytes + kMib - 1) / kMib);
  return fmt::format("{} of {} from node {} to node {}", size, text_at(operation, "target"), text_at(operation, "from"),
                     text_at(operation, "to"));
}

OrStop<> follow(const Client& client, const std::string& id, const Output& output) {
  std::string shown;
  for (;;) {
    const auto next = std::chrono::steady_clock::now() + kPollInterval;
    const json::Value operation =
        TRY(value_of(client.get(fmt::format("/v1/operations/{}?wait={}", id, kPollTime.count()))));
    const std::string state = text_at(operation, "state");
    const bool is_open = state == "waiting" || state == "moving" || state == "applying";
    if (shown.empty() && !output.json) print((shown = "moving " + text_of_move(operation)) + "\n");
    if (state == "succeeded") return {};
    if (!is_open) return stop(kRefused, fmt::format("operation {} {}: {}", id, state, text_at(operation, "message")));
    std::this_thread::sleep_until(next);
  }
}

}  // namespace

OrStop<Result<Answer>> after_operation(const Client& client, const Result<Answer>& answer, const Output& output) {
  if (!answer || answer->status != kAccepted) return answer;
  const json::Value workload = TRY(parsed(answer->body));
  TRY(follow(client, text_at(part(workload, "operation"), "id"), output));
  return client.get("/v1/workloads/" + text_at(workload, "id"));
}

}  // namespace nrd::cli
