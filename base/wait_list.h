// Evicts waiters where many clients wait for a change. No client is refused: the oldest waiter of the client with the
// most waiters is answered early, with the present state, which long-polling clients expect anyway.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/client.h"
#include "base/fair_queue.h"

namespace nrd {

// The index in `waiting` (in order of arrival) of the waiter to evict for `newcomer`; waiting.size() for the newcomer
// itself. nullopt: there is space. Waiters that have disconnected or are already evicted do not count.
template <typename Waiter>
std::optional<size_t> find_evicted(const std::vector<Waiter>& waiting, const Client& newcomer,
                                   const QueueLimits& limits = {}) {
  struct Share {
    size_t count = 0;
    size_t oldest = 0;
    bool is_privileged = false;
  };
  std::map<std::string_view, Share> shares;
  size_t all = 0;
  size_t unprivileged = 0;
  for (size_t i = waiting.size(); i-- > 0;) {
    const Client& client = waiting[i].client;
    if (waiting[i].is_evicted || client.is_gone()) continue;
    Share& share = shares[client.client_key];
    share = {share.count + 1, i, client.is_privileged};
    ++all;
    if (!client.is_privileged) ++unprivileged;
  }
  if (const auto own = shares.find(newcomer.client_key); own != shares.end() && own->second.count >= limits.share) {
    return own->second.oldest;
  }
  const bool is_full = all >= limits.most || (!newcomer.is_privileged && unprivileged >= limits.most - limits.reserve);
  if (!is_full) return std::nullopt;
  const Share* most = nullptr;
  for (const auto& [name, share] : shares) {
    if (share.is_privileged && unprivileged > 0) continue;
    if (share.is_privileged && !newcomer.is_privileged) continue;
    if (most == nullptr || share.count > most->count) most = &share;
  }
  return most == nullptr ? waiting.size() : most->oldest;
}

// Adds `newcomer`. Evicted and disconnected waiters are to be answered next.
template <typename Waiter>
void add_waiter(std::vector<Waiter>& waiting, Waiter newcomer, const QueueLimits& limits = {}) {
  const std::optional<size_t> leaves = find_evicted(waiting, newcomer.client, limits);
  waiting.push_back(std::move(newcomer));
  if (leaves) waiting[*leaves].is_evicted = true;
  for (Waiter& waiter : waiting) waiter.is_evicted = waiter.is_evicted || waiter.client.is_gone();
}

}  // namespace nrd
