#include "api/http/connection_table.h"

#include <limits>
#include <string_view>
#include <tuple>
#include <utility>

#include "api/http/limits.h"

namespace nrd::http {
namespace {

using Phase = Connection::Phase;

constexpr std::string_view kRootKey = "uid 0";

bool is_evictable(const Connection& connection) {
  const bool is_needed = connection.is_in_progress() && !connection.is_interruptible();
  return !is_needed && connection.phase() != Phase::Closed;
}

}  // namespace

// Connections with the smallest rank are evicted first.
auto ConnectionTable::eviction_rank(const Connection& connection) const {
  const size_t connections = connections_of_client_.at(connection.client_key());
  return std::tuple(std::numeric_limits<size_t>::max() - connections, !connection.has_hung_up(),
                    connection.is_in_progress(), connection.has_request(), connection.phase() == Phase::Sending,
                    connection.has_asked(), connection.since(), connection.id());
}

template <typename Belongs>
std::optional<uint64_t> ConnectionTable::next_to_evict_where(Belongs belongs) const {
  const Connection* least = nullptr;
  for (const auto& [id, member] : members_) {
    if (!belongs(member) || !is_evictable(member.connection)) continue;
    if (least == nullptr || eviction_rank(member.connection) < eviction_rank(*least)) least = &member.connection;
  }
  return least == nullptr ? std::nullopt : std::optional(least->id());
}

ConnectionTable::Admission ConnectionTable::admit(Peer::Transport listener, const std::string& client_key) const {
  const bool is_unix = listener == Peer::Transport::Unix;
  const auto place = [](std::optional<uint64_t> evicts) { return Admission{.is_refused = !evicts, .evicts = evicts}; };
  const auto own = connections_of_client_.find(client_key);
  if (own != connections_of_client_.end() && own->second >= (is_unix ? kConnectionsPerUser : kConnectionsPerAddress)) {
    return place(
        next_to_evict_where([&](const Member& member) { return member.connection.client_key() == client_key; }));
  }
  const size_t beside = is_unix ? unix_members_ : members_.size() - unix_members_;
  const size_t limit = !is_unix ? kConnectionLimit : kUnixConnectionLimit + (client_key == kRootKey ? kRootReserve : 0);
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
    // The nearest deadline belongs to the client that has not read for the longest time.
    if (connection.unread() > 0 && (slowest == nullptr || connection.deadline() < slowest->deadline())) {
      slowest = &connection;
    }
  }
  if (unread <= kUnreadLimit || slowest == nullptr) return std::nullopt;
  return slowest->id();
}

Connection& ConnectionTable::add(Connection connection, Peer::Transport listener) {
  ++connections_of_client_[connection.client_key()];
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
  const auto client_key = connections_of_client_.find(member->second.connection.client_key());
  if (--client_key->second == 0) connections_of_client_.erase(client_key);
  if (member->second.listener == Peer::Transport::Unix) --unix_members_;
  members_.erase(member);
}

}  // namespace nrd::http
