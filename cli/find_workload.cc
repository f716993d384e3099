#include "cli/find_workload.h"

#include <fmt/core.h>

#include <set>

#include "base/ascii.h"

namespace nrd::cli {

std::string encoded(const std::string& id) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string path;
  for (const char c : id) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain = is_made_of({&c, 1}, "-_.~:@+");
    path += is_plain ? std::string(1, c) : std::string{'%', kHex[byte >> 4], kHex[byte & 0xf]};
  }
  return path;
}

OrStop<std::string> find_workload(const Client& client, const std::string& called) {
  if (called.empty()) return stop(kUsage, "an empty ID names no workload");
  const Answer direct = TRY(or_stop(client.get("/v1/workloads/" + encoded(called)), kUnreachable));
  if (direct.status != kNotFound) return called;
  std::set<std::string> ids;
  for (const char* key : {"uuid", "name"}) {
    const json::Value found = TRY(value_of(client.get(std::string("/v1/workloads?") + key + "=" + encoded(called))));
    for (const json::Value& workload : found.items()) ids.insert(text_or_nothing(workload, "id"));
  }
  if (ids.size() == 1) return *ids.begin();
  if (ids.empty())
    return stop(kNoSuch,
                fmt::format("no workload has the id, uuid or name {}; nrdctl workload list shows all", called));
  return stop(kRefused, fmt::format("{} is the uuid of one workload and the name of another: {}, {}", called,
                                    *ids.begin(), *ids.rbegin()));
}

}  // namespace nrd::cli
