// Every text that clients of Intel RMD match on or show, word for word, and nothing of it anywhere else.
//
// RMD is the predecessor of this service. Its clients read the status code and one line of text/plain; the spelling
// ("Could not found") is theirs by now. The line ends in '\n', as RMD's composite errors do.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace nrd::rmd {

inline constexpr std::string_view kPageNotFound = "404: Page Not Found";
inline constexpr std::string_view kMethodNotAllowed = "405: Method Not Allowed";
inline constexpr std::string_view kNotAcceptable = "406: Not Acceptable";
inline constexpr std::string_view kUnsupportedMediaType = "415: Unsupported Media Type";
inline constexpr std::string_view kNoSuchWorkload = "404: Could not found workload";

// A workload that has no one to serve, nothing to give, or half of a cache request.
Failure no_cores();
Failure no_parameters();
Failure half_a_cache();
// A limit of memory bandwidth that is no whole number from 1 to `most`.
Failure bandwidth_out_of_range(std::string field, const std::string& found, uint64_t most);
// A plugin that there is not.
Failure no_such_plugin(std::string field);

// Somebody else's workload has a task that was named; a CPU or a uuid would be an ErrorCode of its own.
bool is_task_taken(const Error& error);
// The line for a request about a workload that failed. `uuid` is the one the request gave.
std::string workload_refused(const Error& error, std::string_view uuid);
// The line for a body that is not JSON.
std::string unreadable(const Error& error);

inline constexpr std::string_view kNoPolicies = "Failed to load policy";
// A question about hospitality with a name that is no policy.
std::string no_such_policy(std::string_view name);
// max and min of a question about hospitality that ask for no pool.
std::string no_pool(uint32_t max, uint32_t min);

// A cache that is not there, and an id that is no number.
std::string no_such_cache(std::string_view id, unsigned level);
inline constexpr std::string_view kCacheIdNotDigits = "Please input the correct id, it should be digital";

// The service itself only changes what was asked for here; of others' workloads it says so, with status 200.
inline constexpr std::string_view kOwnOrigin = "REST";
inline constexpr std::string_view kMayNotModify = "200: You only have permission to modify REST origin workloads";
inline constexpr std::string_view kMayNotDelete = "200: You only have permission to delete REST origin workloads";

// A user who may not do this. One whose certificate is listed has no name of his own here.
std::string not_authorized(std::string_view user);
inline constexpr std::string_view kListedUser = "Cert Client User";

// A request that should have had a user and a password; one whose password was wrong is answered in PAM's own words,
// and with this challenge.
inline constexpr std::string_view kMalformedCredentials = "Malformed credentials";
inline constexpr std::string_view kChallenge = "Basic realm=RMD";
// A certificate that is not listed, and one whose organisational units are no role.
std::string not_listed(std::string_view common_name);
std::string no_role(const std::vector<std::string>& units);

// "/cache/max: must be ... (allowed: 0 to 9)"; a sentence of RMD's stays as it is.
std::string reason(const Error& error);

}  // namespace nrd::rmd
