// Asks PAM in processes of its own, a few at once, and never makes the caller wait.
//
//   client's thread      ask()  ->  queue  ->  one of kLoginsAtOnce threads  ->  nrd-pam  ->  `then`
//
// Failures are told at whole steps of time after they were asked, those about users whom PAM is not asked about after
// as long as a failure took lately: how long it takes tells neither whether PAM was asked nor what it compared.
//
// Each login is a process that lives for one question. It has kLoginDeadline from ask() on, its wait for a place
// included; then it is killed with all it has started. nrd-pam is run by its absolute path, with no environment.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "api/auth/pam_message.h"
#include "base/client.h"
#include "base/result.h"

namespace nrd::auth {

constexpr size_t kLoginsAtOnce = 4;
constexpr size_t kLoginsWaiting = 64;
constexpr std::chrono::seconds kLoginDeadline{10};
constexpr std::chrono::milliseconds kFailureStep{500};
// What PAM says of a wrong password, and nrd of a user who has no role (pam_strerror(3) of PAM_AUTH_ERR).
constexpr int kAuthenticationError = 7;
constexpr const char* kAuthenticationFailure = "Authentication failure";

// What PAM said, or a Busy that says why nobody knows: too many at once, too slow, or the program ended without a word.
using PamOutcome = Result<PamAnswer>;

class PamClient {
 public:
  // Internal if `program` cannot be run.
  static Result<std::unique_ptr<PamClient>> start(const std::string& program);
  virtual ~PamClient() = default;  // kills what is under way; its `then` is dropped uncalled

  using Then = std::function<void(PamOutcome)>;
  // `then` is called once, by another thread, or by this one if there is no place. `client`: whose place it takes.
  virtual void ask(const Client& client, PamQuestion question, Then then) = 0;
  // Fails as a wrong password does, and as late. PAM is not asked.
  virtual void refuse(Then then) = 0;
};

}  // namespace nrd::auth
