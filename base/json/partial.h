// Some members of a T, as in a PATCH. The functions for it are in members.h.
#pragma once

#include <cstdint>

namespace nrd::json {

template <typename T>
struct Partial {
  T values{};
  uint32_t given = 0;  // bit i: the i-th field of kFields<T>
  friend bool operator==(const Partial&, const Partial&) = default;
};

}  // namespace nrd::json
