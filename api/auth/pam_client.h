// Asks PAM in separate processes, a few concurrently, without blocking the caller.
//
//   client's thread      ask()  ->  queue  ->  one of kLoginsAtOnce threads  ->  nrd-pam  ->  `then`
//
// Against timing attacks, failures are reported at multiples of kFailureStep after the request. Logins of users without
// a role fail without PAM, after the duration of a recent PAM failure. So the delay reveals neither whether PAM was
// asked nor what it compared.
//
// Each login runs in its own process. At kLoginDeadline after ask(), queueing included, nrd kills it with all processes
// it started. nrd runs nrd-pam by absolute path with an empty environment.
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
// The message for a wrong password and for a user without a role (pam_strerror(3) of PAM_AUTH_ERR).
constexpr int kAuthenticationError = 7;
constexpr const char* kAuthenticationFailure = "Authentication failure";

// The answer of PAM, or Busy with the reason for none: queue full, timeout, or the program ended without an answer.
using PamOutcome = Result<PamAnswer>;

class PamClient {
 public:
  // Internal if `program` cannot be run.
  static Result<std::unique_ptr<PamClient>> start(const std::string& program);
  virtual ~PamClient() = default;  // kills running logins, whose `then` gets Busy; others get no call

  using Then = std::function<void(PamOutcome)>;
  // Calls `then` once, on another thread, or on this one if the queue is full. `client`: for the queue limits.
  virtual void ask(const Client& client, PamQuestion question, Then then) = 0;
  // Fails like a wrong password, after a similar delay, without asking PAM.
  virtual void refuse(Then then) = 0;
};

}  // namespace nrd::auth
