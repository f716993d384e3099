#include "daemon/signals.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

namespace nrd::daemon {
namespace {

sigset_t awaited() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGUSR1}) sigaddset(&signals, number);
  return signals;
}

timespec to_timespec(std::chrono::microseconds time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  return {.tv_sec = seconds.count(), .tv_nsec = std::chrono::nanoseconds(time - seconds).count()};
}

}  // namespace

void block_signals() {
  sigset_t signals = awaited();
  // libpqos ends its wait for a lock by SIGALRM, a process-directed signal: only the waiting thread may have it
  // unblocked; hw/rdt unblocks it there.
  sigaddset(&signals, SIGALRM);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  ::signal(SIGPIPE, SIG_IGN);  // a disconnected client is a write error, not the end of the daemon
}

// Blocked in all threads, so the main thread takes it in sigtimedwait().
void wake_main_thread() { ::kill(::getpid(), SIGUSR1); }

std::optional<Signal> wait_for_signal(std::optional<std::chrono::microseconds> timeout) {
  const sigset_t signals = awaited();
  const timespec time = to_timespec(timeout.value_or(std::chrono::microseconds(0)));
  // sigtimedwait() without a timeout waits forever.
  const int number = ::sigtimedwait(&signals, nullptr, timeout ? &time : nullptr);
  // The lowest number comes first, so reloads that do not end would hide a stop.
  sigset_t stops;
  sigemptyset(&stops);
  for (const int stop : {SIGTERM, SIGINT}) sigaddset(&stops, stop);
  const timespec now{};
  if (number == SIGTERM || number == SIGINT || ::sigtimedwait(&stops, nullptr, &now) > 0) return Signal::Stop;
  if (number == SIGHUP) return Signal::Reload;
  if (number == SIGUSR1) return Signal::Wake;
  return std::nullopt;  // EAGAIN: timeout; EINTR: another signal
}

}  // namespace nrd::daemon
