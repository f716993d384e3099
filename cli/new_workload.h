// A workload to create: the options of the command line, and the body of the POST.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json/fields.h"

namespace nrd::cli {

// Of `owner`: the unit or cgroup of the workload.
inline constexpr const char* kCgroupOwner = "cgroup";

struct NewWorkload {
  std::string cpus;
  std::vector<std::string> tasks;  // processes and threads
  std::string unit;                // "feed.service"
  std::string cgroup;              // "/x/y"
  // JSON by part and member: {"cache", {"max", "3"}}. The parts are `cpu`, `cache`, `l2`, `mba` and `pstate`.
  std::map<std::string, std::map<std::string, std::string>> resources;
  std::vector<std::string> pools;    // "fast", "fast=2", "common=500m"
  uint32_t ways = 0;                 // a guarantee: max and min of the cache
  std::vector<std::string> removed;  // parts that an update removes: "cache"; "mba" is that of rdt
  std::string id;
  std::string uuid;
  std::string policy;
  std::string name;
  std::vector<std::string> labels;          // "team=trading"
  std::vector<std::string> removed_labels;  // "team"
  std::string owner;  // process ID, kCgroupOwner, or a service until commands.cc has asked for its process
  std::optional<unsigned> within_seconds{};  // of kCgroupOwner
  std::string file;                          // document of the whole request; "-" is standard input
};

// An option that sets one member of `resources`.
struct ResourceOption {
  enum class Argument { None, Number, Text, Texts };
  const char* part;
  const char* member;
  json::Option option;
  Argument argument;
};
// From the description of the parts (engine/model/workload_fields.h).
const std::vector<ResourceOption>& resource_options();

// False if it is neither the name of a pool nor one with a number.
bool is_pool_request(const std::string& text);
// True if the request names CPUs of pools.
bool asks_for_pooled_cpus(const NewWorkload& wanted);
// True if the request names ways, a frequency or a policy, not only CPUs.
bool asks_something(const NewWorkload& wanted);
// The body of the POST; `owner`: JSON of the owning process, empty: none.
std::string workload_request(const NewWorkload& wanted, const std::string& owner = {});

}  // namespace nrd::cli
