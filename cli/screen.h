// The terminal's second screen, for a picture that moves: taken while this lives, and given back as it was.
//
// Keys come one by one and are not shown. SIGINT, SIGTERM and SIGHUP end the picture in order instead of the program.
#pragma once

#include <signal.h>
#include <termios.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

#include "base/unique_fd.h"

namespace nrd::cli {

class Screen {
 public:
  Screen();
  ~Screen() { leave(); }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  size_t rows() const;                 // 24 if the terminal does not tell; at least 3
  void show(const std::string& text);  // over what was shown before
  // Waits that long. True at once when somebody presses q or Ctrl-C, or the terminal has gone.
  bool is_left_within(std::chrono::milliseconds time);
  int signals() const { return signals_.get(); }  // readable when one of them has come
  void leave();                                   // before anything is written for good

 private:
  std::optional<termios> before_;  // of standard input, if that is a terminal
  sigset_t mask_before_{};
  UniqueFd signals_;
  bool is_left_ = false;
};

}  // namespace nrd::cli
