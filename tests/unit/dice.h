// Random choices, the same in each run of a test.
#pragma once

#include <cstddef>
#include <iterator>
#include <random>
#include <utility>
#include <vector>

namespace nrd::testing {

class Dice {
 public:
  explicit Dice(unsigned seed) : engine_(seed) {}
  unsigned below(size_t end) { return static_cast<unsigned>(engine_() % end); }
  unsigned between(unsigned least, unsigned most) { return least + below(size_t{most} - least + 1); }
  bool once_in(unsigned n) { return below(n) == 0; }
  // Of some that are not empty.
  template <typename Items>
  decltype(auto) one_of(Items& items) {
    return *std::next(items.begin(), below(items.size()));
  }
  template <typename T>
  void shuffle(std::vector<T>& values) {
    for (size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[below(i)]);
  }

 private:
  std::mt19937 engine_;
};

}  // namespace nrd::testing
