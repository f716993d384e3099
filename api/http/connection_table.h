// All connections of a event_loop, and who has to go when there are too many.
//
// A limit does not turn the newcomer away, but one of the client with the most connections: of those first the ones
// that have hung up, then those that have not asked anything yet, then those which rest between two requests, then
// those which do not take their answer, then those whose request waits for its turn, then those whose request is worked
// on but only reads, the oldest first each time. So a connections cannot keep an honest client out, whatever it does,
// and a client with few connections does not pay for one with many. Nobody is sent away while a change is worked on,
// unless the client has gone.
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

  // For another connection of `share`: who must leave for it, if anybody. Refused where somebody must and nobody can.
  struct Place {
    bool is_refused = false;
    std::optional<uint64_t> leaves;
  };
  Place place_for(Peer::Transport listener, const std::string& share) const;
  // Who is best sent away where descriptors are short; nullopt: nobody can be.
  std::optional<uint64_t> next_to_evict() const;
  // Whose unread answer must go, if all of them together are more than may be kept.
  std::optional<uint64_t> slowest_reader_over_limit() const;

  Connection& add(Connection connection, Peer::Transport listener);
  Connection* find(uint64_t id);
  void remove(uint64_t id);

  // Handshaking to Leaving, everyone. Do not add or remove meanwhile.
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
  std::unordered_map<std::string, size_t> of_share_;
  size_t unix_members_ = 0;
};

}  // namespace nrd::http
