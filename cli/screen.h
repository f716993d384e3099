// The terminal's alternate screen for live output; restored by the destructor.
//
// Keys are read one by one without echo. SIGINT, SIGTERM and SIGHUP end the live output instead of the program.
#pragma once

#include <signal.h>
#include <termios.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

#include "base/unique_fd.h"

namespace nrd::cli {

// The width of the terminal on standard output: COLUMNS of the environment, or what the kernel knows; 0: unknown.
size_t columns_of_terminal();

class Screen {
 public:
  Screen();
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  size_t rows() const;                 // 24 if unknown; at least 3
  void show(const std::string& text);  // replaces the previous frame
  // Waits up to `time`. True at once on q, Ctrl-C, or when the terminal is gone.
  bool is_left_within(std::chrono::milliseconds time);
  int signals() const { return signals_.get(); }  // readable once a signal has arrived

 private:
  std::optional<termios> before_;  // previous settings of standard input; nullopt: not a terminal
  sigset_t mask_before_{};
  UniqueFd signals_;
};

}  // namespace nrd::cli
