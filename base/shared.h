// Copy-on-write values. A copy costs a pointer, whatever the number of CPUs and caches in it: each request copies the
// state of the node, whose topology rarely changes.
//
// They are read like the value itself. edit() first makes a private copy, so it changes no other copy, in any thread.
// To fill one, build the value and assign it.
#pragma once

#include <initializer_list>
#include <map>
#include <memory>
#include <utility>

namespace nrd {

template <typename Container>
class Shared {
 public:
  Shared() = default;
  Shared(Container value) : value_(std::make_shared<Container>(std::move(value))) {}

  const Container& get() const {
    static const Container kEmpty;
    return value_ ? *value_ : kEmpty;
  }
  operator const Container&() const { return get(); }
  auto begin() const { return get().begin(); }
  auto end() const { return get().end(); }
  size_t size() const { return get().size(); }
  bool empty() const { return get().empty(); }

  // Valid until this is copied.
  Container& edit() {
    value_ = std::make_shared<Container>(get());
    return *value_;
  }

  friend bool operator==(const Shared& a, const Shared& b) { return a.value_ == b.value_ || a.get() == b.get(); }

 private:
  std::shared_ptr<Container> value_;
};

template <typename Key, typename Value>
class SharedMap : public Shared<std::map<Key, Value>> {
 public:
  using Map = std::map<Key, Value>;
  using Shared<Map>::Shared;
  SharedMap(std::initializer_list<typename Map::value_type> entries) : Shared<Map>(Map(entries)) {}

  auto find(const Key& key) const { return this->get().find(key); }
  const Value& at(const Key& key) const { return this->get().at(key); }
  bool contains(const Key& key) const { return this->get().contains(key); }
};

}  // namespace nrd
