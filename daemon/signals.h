// Waits for signals in the main thread and returns them as values.
#pragma once

#include <chrono>
#include <optional>

namespace nrd::daemon {

enum class Signal { Stop, Reload, Wake };

// Blocks the signals we wait for, and SIGALRM, which only the engine thread unblocks; ignores SIGPIPE. Call before any
// thread is started.
void block_signals();

// Makes the main thread return from wait_for_signal() with Signal::Wake. Any thread.
void wake_main_thread();

// Waits for SIGTERM or SIGINT (Stop), SIGHUP (Reload) or wake_main_thread(); nullopt after `timeout`. Without a timeout
// it waits forever.
std::optional<Signal> wait_for_signal(std::optional<std::chrono::microseconds> timeout);

}  // namespace nrd::daemon
