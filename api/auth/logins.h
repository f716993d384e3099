// Asks PAM in processes of its own, a few at once, and never makes the caller wait.
//
//   client's thread      ask()  ->  queue  ->  one of kLoginsAtOnce threads  ->  nrd-pam  ->  `then`
//
// Each login is a process that lives for one question. It has kLoginDeadline from ask() on, its wait for a place
// included; then it is killed with all it has started. nrd-pam is run by its absolute path, with no environment.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "api/auth/pam_message.h"
#include "base/result.h"

namespace nrd::auth {

constexpr size_t kLoginsAtOnce = 4;
constexpr size_t kLoginsWaiting = 64;
constexpr std::chrono::seconds kLoginDeadline{10};

// What PAM said, or a Busy that says why nobody knows: too many at once, too slow, or the program ended without a word.
using LoginOutcome = Result<PamAnswer>;

class Logins {
 public:
  // Internal if `program` cannot be run.
  static Result<std::unique_ptr<Logins>> start(const std::string& program);
  virtual ~Logins() = default;  // kills what is under way; its `then` is dropped uncalled

  // `then` is called once, by another thread, or by this one if there is no place.
  virtual void ask(PamQuestion question, std::function<void(LoginOutcome)> then) = 0;
};

}  // namespace nrd::auth
