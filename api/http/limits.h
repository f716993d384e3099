// Limits on the size and duration of requests and on connections. docs/security.md has the same table.
#pragma once

#include <chrono>
#include <cstddef>

namespace nrd::http {

// One request.
constexpr size_t kTargetLimit = 2048;  // path and query, encoded
constexpr size_t kHeadLimit = 8192;    // request line and headers
constexpr size_t kHeaderCountLimit = 64;
constexpr size_t kBodyLimit = size_t{64} << 10;  // without chunk framing

// Timeouts. Slowly sent single bytes do not extend them.
constexpr std::chrono::seconds kHeadDeadline{10};    // handshake and head of the first request; head of a later one
constexpr std::chrono::seconds kBodyDeadline{30};    // from the end of the head
constexpr std::chrono::seconds kIdleDeadline{75};    // between two requests
constexpr std::chrono::seconds kStalledDeadline{5};  // the client reads nothing
constexpr std::chrono::seconds kAnswerDeadline{60};  // the client reads slowly
constexpr std::chrono::seconds kLingerDeadline{1};   // lingering close, after the last byte sent

constexpr size_t kCertificatesLimit = size_t{32} << 10;  // of a client: DER, with those that signed it

// Connections.
constexpr size_t kConnectionLimit = 1024;          // TCP and TLS
constexpr size_t kUnixConnectionLimit = 256;       // in addition, so that root can always connect
constexpr size_t kRootReserve = 8;                 // of the Unix socket, for root only
constexpr size_t kConnectionsPerAddress = 256;     // an IPv6 client counts by its /64
constexpr size_t kConnectionsPerUser = 128;        // of the Unix socket
constexpr size_t kUnreadLimit = size_t{32} << 20;  // bytes of unsent responses, all clients together

}  // namespace nrd::http
