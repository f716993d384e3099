#include "daemon/signals.h"

#include <pthread.h>
#include <signal.h>

namespace nrd::daemon {
namespace {

sigset_t awaited() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, number);
  return signals;
}

timespec to_timespec(std::chrono::microseconds time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  return {.tv_sec = seconds.count(), .tv_nsec = std::chrono::nanoseconds(time - seconds).count()};
}

}  // namespace

void block_signals() {
  sigset_t signals = awaited();
  // libpqos ends its wait for a lock by SIGALRM. The signal goes to the process, so it must find no thread open but the
  // one that waits; hw/rdt lets it through there.
  sigaddset(&signals, SIGALRM);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  ::signal(SIGPIPE, SIG_IGN);  // a client that hangs up is an error of a write, not the end of the daemon
}

std::optional<Signal> wait_for_signal(std::optional<std::chrono::microseconds> timeout) {
  const sigset_t signals = awaited();
  const timespec time = to_timespec(timeout.value_or(std::chrono::microseconds(0)));
  // sigtimedwait() without a time waits for ever.
  const int number = ::sigtimedwait(&signals, nullptr, timeout ? &time : nullptr);
  if (number == SIGHUP) return Signal::Reload;
  if (number == SIGTERM || number == SIGINT) return Signal::Stop;
  return std::nullopt;  // EAGAIN: time is over; EINTR: another signal
}

}  // namespace nrd::daemon
