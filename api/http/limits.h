// What a client may send and how long it may take, all in one place. docs/security.md shows the same table.
#pragma once

#include <chrono>
#include <cstddef>

namespace nrd::http {

// One request.
constexpr size_t kTargetLimit = 2048;  // path and query, as written
constexpr size_t kHeadLimit = 8192;    // request line and headers
constexpr size_t kHeaderCountLimit = 64;
constexpr size_t kBodyLimit = size_t{64} << 10;  // without chunk framing

// Time. None of these is prolonged by single bytes that drip in.
constexpr std::chrono::seconds kHeadDeadline{10};     // handshake and head of the first request; head of a later one
constexpr std::chrono::seconds kBodyDeadline{30};     // from the end of the head
constexpr std::chrono::seconds kIdleDeadline{75};     // between two requests
constexpr std::chrono::seconds kStalledDeadline{5};   // a reader that takes nothing
constexpr std::chrono::seconds kAnswerDeadline{60};   // a reader that takes little
constexpr std::chrono::seconds kFarewellDeadline{1};  // from our last byte to the client's

// Connections.
constexpr size_t kConnectionLimit = 1024;          // TCP and TLS
constexpr size_t kUnixConnectionLimit = 64;        // beside those, so that root always gets in
constexpr size_t kRootsReserve = 8;                // of the Unix socket, for root alone
constexpr size_t kConnectionsPerAddress = 256;     // an IPv6 client counts by its /64
constexpr size_t kConnectionsPerUser = 32;         // of the Unix socket
constexpr size_t kUnreadLimit = size_t{32} << 20;  // bytes of answers that clients have not taken yet, together

}  // namespace nrd::http
