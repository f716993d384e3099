// Looks something up without iterators. What is found is valid as long as the container is unchanged.
#pragma once

#include <algorithm>
#include <iterator>

namespace nrd {

// The value of `key`; null: `map` has none.
template <typename Map, typename Key>
auto find_in(const Map& map, const Key& key) -> decltype(&map.find(key)->second) {
  const auto found = map.find(key);
  return found == map.end() ? nullptr : &found->second;
}
template <typename Map, typename Key>
void find_in(const Map&& map, const Key& key) = delete;

// The first element that `is_it` accepts; null: there is none.
template <typename Range, typename Predicate>
auto* first_if(Range& range, Predicate is_it) {
  const auto found = std::ranges::find_if(range, is_it);
  return found == std::ranges::end(range) ? nullptr : &*found;
}

// The first element whose `member` has this value; null: there is none.
template <typename Range, typename T, typename Member>
auto* first_with(Range& range, Member member, const T& value) {
  const auto found = std::ranges::find(range, value, member);
  return found == std::ranges::end(range) ? nullptr : &*found;
}

}  // namespace nrd
