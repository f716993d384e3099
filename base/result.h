// The error handling of all code below api/.
//
// A Result<T> is a value or an Error. An Error has two readers: `message` and `field` go to the client (what, where,
// what is allowed), `detail` goes to the journal (errno, path, library code) and never leaves the host.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <type_traits>
#include <utility>

namespace nrd {

// A closed list: api/ maps each of them to one HTTP status.
enum class ErrorCode {
  BadRequest,    // the client's input is wrong
  Forbidden,     // the client may not do this
  NotFound,      // no such workload
  CpuTaken,      // `subject`: the CPUs, "1 2 5"
  NoSuchPolicy,  // `subject`: its name
  NameTaken,     // `subject`: the id of the workload that has it
  UuidTaken,     // `subject`: the id of the workload that has it
  IdTaken,       // `subject`: the id that another workload has
  NotEnough,     // valid, but too few free ways now; `subject`: the cache id
  NoClass,       // valid, but every class of service is in use
  Unsupported,   // this node lacks the capability
  Busy,          // withdrawn before it began; try again
  Conflict,      // another operation or state prevents it; `subject`: the operation's id, if it is one
  Stale,         // the client knows an older state (If-Match)
  KeyReused,     // an Idempotency-Key already used with another request
  Locked,        // frozen by an administrator
  Frozen,        // the store's state is unknown; no writes until it is clear
  Hardware,      // the hardware did not apply what was written
  Store,         // nothing was stored, nothing was changed
  Internal,
};

struct Error {
  ErrorCode code = ErrorCode::Internal;
  std::string field;    // JSON pointer into the request ("/cache/min"), empty if no single field is at fault
  std::string message;  // one line for the client
  std::string detail;   // one line for the journal
  std::string allowed;  // what would be accepted; empty if that does not fit on a line
  std::string subject;  // the bare subject of the error as described above, for clients that match texts

  friend bool operator==(const Error&, const Error&) = default;
};

template <typename T>
using Result = tl::expected<T, Error>;

using Failure = tl::unexpected<Error>;

inline Failure fail(ErrorCode code, std::string message, std::string detail = {}) {
  return Failure(Error{code, {}, std::move(message), std::move(detail), {}, {}});
}

inline Failure fail_at(ErrorCode code, std::string field, std::string message, std::string allowed = {},
                       std::string subject = {}) {
  return Failure(Error{code, std::move(field), std::move(message), {}, std::move(allowed), std::move(subject)});
}

// For calls that are all made: the first one that fails is what failed.
inline void note_failure(Result<void>& first, Result<void> done) {
  if (first && !done) first = std::move(done);
}

// Of a namespace of its own, so that argument-dependent lookup does not find it.
namespace try_result {

template <typename T, typename E>
T value_of(tl::expected<T, E>&& result) {
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

template <typename T, typename E>
T value_of(const tl::expected<T, E>& result) {
  if constexpr (!std::is_void_v<T>) return *result;
}

}  // namespace try_result

}  // namespace nrd

// The value of a Result, or return its error from the enclosing function:
//
//   const std::string text = TRY(read_file(path));
//   TRY(check(text));
//
// Only as a whole statement or initialiser: a return in the middle of an expression leaks its temporaries (GCC 12).
// As a statement it destroys the value at once: initialise a variable with a lock that must last.
#define TRY(...) NRD_TRY_AS(__COUNTER__, __VA_ARGS__)
#define NRD_TRY_AS(number, ...) NRD_TRY_NAMED(number, __VA_ARGS__)
#define NRD_TRY_NAMED(number, ...)                                                       \
  __extension__({                                                                        \
    auto&& result##number = (__VA_ARGS__);                                               \
    if (!result##number) return ::tl::unexpected(result##number.error());                \
    ::nrd::try_result::value_of(std::forward<decltype(result##number)>(result##number)); \
  })
