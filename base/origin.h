// The source of a workload or of an allocation: clients, files, or what the Unix socket of the client sets. Only
// this source changes it.
#pragma once

namespace nrd {

inline constexpr const char* kOriginRest = "REST";  // requests of clients, unless their socket has another origin
inline constexpr const char* kOriginFile = "FILE";  // files that declare workloads

}  // namespace nrd
