// Signals, as return values of one wait in the main thread.
#pragma once

#include <chrono>
#include <optional>

namespace nrd::daemon {

enum class Signal { Stop, Reload };

// Blocks the signals we wait for, and SIGALRM, which only the engine thread lets through; ignores SIGPIPE. Call before
// any thread is started.
void block_signals();

// Waits for SIGTERM or SIGINT (Stop) or SIGHUP (Reload); nullopt when `timeout` is over. Without a timeout the thread
// sleeps for good.
std::optional<Signal> wait_for_signal(std::optional<std::chrono::microseconds> timeout);

}  // namespace nrd::daemon
