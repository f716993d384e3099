// Every text that clients of Intel RMD match on or display, word for word. All of them are in this file.
//
// RMD is the predecessor of nrd. Its clients read the status code and one line of text/plain, including its
// misspellings
// ("Could not found"). The line ends with '\n', like RMD's composite errors.
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

// A workload without CPUs and tasks, without any request, or with only one of max and min.
Failure no_cores();
Failure no_parameters();
Failure half_a_cache();
// An unknown plugin.
Failure no_such_plugin(std::string field);

// True if another workload has one of the tasks. A taken CPU or uuid has its own ErrorCode.
bool is_task_taken(const Error& error);
// The line for a failed workload request. `uuid` is the one in the request.
std::string workload_refused(const Error& error, std::string_view uuid);
// The line for an invalid JSON body.
std::string unreadable(const Error& error);

inline constexpr std::string_view kNoPolicies = "Failed to load policy";
// A hospitality request with an unknown policy.
std::string no_such_policy(std::string_view name);
// A hospitality request whose max and min match no pool.
std::string no_pool(uint32_t max, uint32_t min);

// An unknown cache, and an id that is not a number.
std::string no_such_cache(std::string_view id, unsigned level);
inline constexpr std::string_view kCacheIdNotDigits = "Please input the correct id, it should be digital";

// Responses, with status 200, to a change of a workload that was not created through this API.
inline constexpr std::string_view kMayNotModify = "200: You only have permission to modify REST origin workloads";
inline constexpr std::string_view kMayNotDelete = "200: You only have permission to delete REST origin workloads";

// A user without permission. RMD used one name for all listed certificates.
std::string not_authorized(std::string_view user);
inline constexpr std::string_view kListedUser = "Cert Client User";

// A request without valid credentials. A wrong password is answered with PAM's message and this challenge.
inline constexpr std::string_view kMalformedCredentials = "Malformed credentials";
inline constexpr std::string_view kChallenge = "Basic realm=RMD";
// A certificate that is not listed, and one whose organisational units have no role.
std::string not_listed(std::string_view common_name);
std::string no_role(const std::vector<std::string>& units);

// "/cache/max: must be ... (allowed: 0 to 9)"; RMD's own messages are unchanged.
std::string reason(const Error& error);

}  // namespace nrd::rmd
