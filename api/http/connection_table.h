// All connections of an event loop, and their eviction order at the limits.
//
// At a limit the table evicts a connection of the client with the most connections to admit the new one. Among these it
// evicts in this order, the oldest first within each step:
//
//   1. the client has hung up
//   2. no request received yet
//   3. idle between two requests
//   4. the client does not read its response
//   5. a request is queued
//   6. a read request is in progress
//
// So no client can keep others out, and a client with few connections does not pay for one with many. A connection with
// a change in progress is never evicted, unless the client has hung up.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "api/http/connection.h"

namespace nrd::http {

class ConnectionTable {
 public:
  using Time = Connection::Time;

  // Admission of another connection of `client_key`: which connection to evict for it, if any. Refused if the limit is
  // reached and no connection can be evicted.
  struct Admission {
    bool is_refused = false;
    std::optional<uint64_t> evicts;
  };
  Admission admit(Peer::Transport listener, const std::string& client_key) const;
  // The connection to evict when descriptors run out; nullopt if none can be evicted.
  std::optional<uint64_t> next_to_evict() const;
  // The connection to drop if unread responses exceed kUnreadLimit; nullopt below the limit.
  std::optional<uint64_t> slowest_reader_over_limit() const;

  Connection& add(Connection connection, Peer::Transport listener);
  Connection* find(uint64_t id);
  void remove(uint64_t id);

  // Visits every connection. `visit` must not add or remove connections.
  template <typename Visit>
  void each(Visit visit) {
    for (auto& [id, member] : members_) visit(member.connection);
  }
  size_t size() const { return members_.size(); }

 private:
  struct Member {
    Connection connection;
    Peer::Transport listener;
  };
  template <typename Belongs>
  std::optional<uint64_t> next_to_evict_where(Belongs belongs) const;
  auto eviction_rank(const Connection& connection) const;

  std::unordered_map<uint64_t, Member> members_;
  std::unordered_map<std::string, size_t> connections_of_client_;
  size_t unix_members_ = 0;
};

}  // namespace nrd::http
