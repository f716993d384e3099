// Conversions between SQLite columns and our types: 64-bit integers, and times as milliseconds since 1970, UTC.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "store/records.h"
#include "store/sqlite.h"

namespace nrd::store {

inline int64_t as_i64(uint64_t value) { return static_cast<int64_t>(value); }
inline uint64_t as_u64(int64_t value) { return static_cast<uint64_t>(value); }
inline int64_t to_ms(Time time) { return time.time_since_epoch().count(); }
inline Time from_ms(int64_t ms) { return Time(std::chrono::milliseconds(ms)); }

template <typename Integer>
void bind_optional(Statement& statement, int position, const std::optional<Integer>& value) {
  if (value) {
    statement.bind(position, *value);
  } else {
    statement.bind_null(position);
  }
}

}  // namespace nrd::store
