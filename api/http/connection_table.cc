#include "api/http/connection_table.h"

#include <limits>
#include <string_view>
#include <tuple>
#include <utility>

#include "api/http/limits.h"

namespace nrd::http {
namespace {

using Phase = Connection::Phase;

constexpr std::string_view kRootsShare = "uid 0";

bool can_be_sent_away(const Connection& connection) {
  const bool is_needed = connection.is_worked_on() && !connection.is_only_waited_for();
  return !is_needed && connection.phase() != Phase::Closed;
}

}  // namespace

// The smaller, the sooner it goes.
auto ConnectionTable::eviction_rank(const Connection& connection) const {
  const size_t crowding = of_share_.at(connection.share());
  return std::tuple(std::numeric_limits<size_t>::max() - crowding, !connection.has_hung_up(), connection.is_worked_on(),
                    connection.has_request(), connection.phase() == Phase::Sending, connection.has_asked(),
                    connection.since(), connection.id());
}

template <typename Belongs>
std::optional<uint64_t> ConnectionTable::next_to_evict_where(Belongs belongs) const {
  const Connection* least = nullptr;
  for (const auto& [id, member] : members_) {
    if (!belongs(member) || !can_be_sent_away(member.connection)) continue;
    if (least == nullptr || eviction_rank(member.connection) < eviction_rank(*least)) least = &member.connection;
  }
  return least == nullptr ? std::nullopt : std::optional(least->id());
}

ConnectionTable::Place ConnectionTable::place_for(Peer::Transport listener, const std::string& share) const {
  const bool is_unix = listener == Peer::Transport::Unix;
  const auto place = [](std::optional<uint64_t> leaves) { return Place{.is_refused = !leaves, .leaves = leaves}; };
  const auto own = of_share_.find(share);
  if (own != of_share_.end() && own->second >= (is_unix ? kConnectionsPerUser : kConnectionsPerAddress)) {
    return place(next_to_evict_where([&](const Member& member) { return member.connection.share() == share; }));
  }
  const size_t beside = is_unix ? unix_members_ : members_.size() - unix_members_;
  const size_t limit = !is_unix ? kConnectionLimit : kUnixConnectionLimit + (share == kRootsShare ? kRootsReserve : 0);
  if (beside >= limit) {
    return place(next_to_evict_where(
        [&](const Member& member) { return (member.listener == Peer::Transport::Unix) == is_unix; }));
  }
  return {};
}

std::optional<uint64_t> ConnectionTable::next_to_evict() const {
  return next_to_evict_where([](const Member&) { return true; });
}

std::optional<uint64_t> ConnectionTable::slowest_reader_over_limit() const {
  size_t unread = 0;
  const Connection* slowest = nullptr;
  for (const auto& [id, member] : members_) {
    const Connection& connection = member.connection;
    unread += connection.unread();
    // The nearer its deadline, the longer it has taken nothing.
    if (connection.unread() > 0 && (slowest == nullptr || connection.deadline() < slowest->deadline())) {
      slowest = &connection;
    }
  }
  if (unread <= kUnreadLimit || slowest == nullptr) return std::nullopt;
  return slowest->id();
}

Connection& ConnectionTable::add(Connection connection, Peer::Transport listener) {
  ++of_share_[connection.share()];
  if (listener == Peer::Transport::Unix) ++unix_members_;
  const uint64_t id = connection.id();
  return members_.try_emplace(id, Member{.connection = std::move(connection), .listener = listener})
      .first->second.connection;
}

Connection* ConnectionTable::find(uint64_t id) {
  const auto found = members_.find(id);
  return found == members_.end() ? nullptr : &found->second.connection;
}

void ConnectionTable::remove(uint64_t id) {
  const auto member = members_.find(id);
  if (member == members_.end()) return;
  const auto share = of_share_.find(member->second.connection.share());
  if (--share->second == 0) of_share_.erase(share);
  if (member->second.listener == Peer::Transport::Unix) --unix_members_;
  members_.erase(member);
}

}  // namespace nrd::http
