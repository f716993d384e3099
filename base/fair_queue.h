// A queue for one thread, with a line for each client. The lines are served round robin, those of administrators and
// the local socket first; so a client waits for its own requests and for one of each other client.
//
// A client has `share` places, all clients together `most`, of which the last `reserve` are for privileged ones. nrd's
// own requests are not limited here. Not thread-safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <utility>

#include "base/client.h"

namespace nrd {

struct QueueLimits {
  size_t most = 256;
  size_t reserve = 64;
  size_t share = 64;
};

template <typename Item>
class FairQueue {
 public:
  explicit FairQueue(QueueLimits limits) : limits_(limits) {}

  bool has_room_for(const Client& client) const {
    if (client.is_nrd()) return true;
    if (size_ >= limits_.most - (client.is_privileged ? 0 : limits_.reserve)) return false;
    const Lines& lines = lines_[client.is_privileged ? 0 : 1];
    const auto own = std::ranges::find(lines, client.client_key, &Line::client_key);
    return own == lines.end() || own->items.size() < limits_.share;
  }

  void push(const Client& client, Item item) {
    Lines& lines = lines_[client.is_privileged ? 0 : 1];
    auto own = std::ranges::find(lines, client.client_key, &Line::client_key);
    if (own == lines.end()) own = lines.insert(lines.end(), Line{client.client_key, {}});
    own->items.push_back(std::move(item));
    ++size_;
  }

  // nullopt: the queue is empty.
  std::optional<Item> pop() {
    Lines& lines = lines_[lines_[0].empty() ? 1 : 0];
    if (lines.empty()) return std::nullopt;
    Line line = std::move(lines.front());
    lines.pop_front();
    Item item = std::move(line.items.front());
    line.items.pop_front();
    --size_;
    if (!line.items.empty()) lines.push_back(std::move(line));
    return item;
  }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

 private:
  struct Line {
    std::string client_key;
    std::deque<Item> items;
  };
  using Lines = std::deque<Line>;

  const QueueLimits limits_;
  Lines lines_[2];  // of privileged clients, and of the others; the first line is served next
  size_t size_ = 0;
};

}  // namespace nrd
