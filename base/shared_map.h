// A copy-on-write map. A copy costs a pointer, whatever the number of CPUs and caches in it: each request copies the
// state of the node, whose topology rarely changes.
//
// It is read like a std::map. edit() first makes a private copy, so it changes no other copy, in any thread. To fill
// one, build a std::map and assign it.
#pragma once

#include <initializer_list>
#include <map>
#include <memory>
#include <utility>

namespace nrd {

template <typename Key, typename Value>
class SharedMap {
 public:
  using Map = std::map<Key, Value>;

  SharedMap() = default;
  SharedMap(Map map) : map_(std::make_shared<Map>(std::move(map))) {}
  SharedMap(std::initializer_list<typename Map::value_type> entries) : SharedMap(Map(entries)) {}

  const Map& get() const {
    static const Map kEmpty;
    return map_ ? *map_ : kEmpty;
  }
  operator const Map&() const { return get(); }
  auto begin() const { return get().begin(); }
  auto end() const { return get().end(); }
  auto find(const Key& key) const { return get().find(key); }
  const Value& at(const Key& key) const { return get().at(key); }
  bool contains(const Key& key) const { return get().contains(key); }
  size_t size() const { return get().size(); }
  bool empty() const { return get().empty(); }

  // Valid until this is copied.
  Map& edit() {
    map_ = std::make_shared<Map>(get());
    return *map_;
  }

  friend bool operator==(const SharedMap& a, const SharedMap& b) { return a.map_ == b.map_ || a.get() == b.get(); }

 private:
  std::shared_ptr<Map> map_;
};

}  // namespace nrd
