// Who gives way where many clients wait for a change. Nobody is refused: whoever has waited longest of the client that
// waits most is answered before its time, with things as they are, which such a client expects anyway.
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

// Its place among `waiting`, which are in the order they came and whose Waiter::client says who they are;
// waiting.size() for the newcomer itself. nullopt: there is room. Those that have hung up, or give way already
// (Waiter::gives_way), have no place.
template <typename Waiter>
std::optional<size_t> who_gives_way(const std::vector<Waiter>& waiting, const Client& newcomer,
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
    if (waiting[i].gives_way || client.is_gone()) continue;
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

// Lets `newcomer` in. Those that give way for it, and those that have hung up, are to be answered next.
template <typename Waiter>
void wait_beside(std::vector<Waiter>& waiting, Waiter newcomer, const QueueLimits& limits = {}) {
  const std::optional<size_t> leaves = who_gives_way(waiting, newcomer.client, limits);
  waiting.push_back(std::move(newcomer));
  if (leaves) waiting[*leaves].gives_way = true;
  for (Waiter& waiter : waiting) waiter.gives_way = waiter.gives_way || waiter.client.is_gone();
}

}  // namespace nrd
