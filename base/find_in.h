// Looks up a value in a map, without iterators.
#pragma once

namespace nrd {

// The value of `key`; null: `map` has none. Valid as long as the map is unchanged.
template <typename Map, typename Key>
auto find_in(const Map& map, const Key& key) -> decltype(&map.find(key)->second) {
  const auto found = map.find(key);
  return found == map.end() ? nullptr : &found->second;
}
template <typename Map, typename Key>
void find_in(const Map&& map, const Key& key) = delete;

}  // namespace nrd
