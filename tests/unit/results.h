// The value, or the error, of a result that must have it.
#pragma once

#include <doctest/doctest.h>

#include <utility>

#include "base/result.h"

namespace nrd::testing {

template <typename T>
T value_of(Result<T> result) {
  REQUIRE_MESSAGE(result, (result ? "" : result.error().message + result.error().detail));
  return *std::move(result);
}

template <typename T>
Error error_of(const Result<T>& result) {
  REQUIRE_FALSE(result);
  return result.error();
}

}  // namespace nrd::testing
