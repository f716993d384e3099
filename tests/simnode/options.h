// The command line: a shape, a control socket, and the command to run inside.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "machine.h"

namespace nrd::simnode {

struct Options {
  Shape shape;
  std::string control;  // path of the control socket; empty: none
  std::vector<std::string> command;
};

// Options, or the exit status after help or a complaint was printed.
std::variant<Options, int> parse_options(int argc, char** argv);

}  // namespace nrd::simnode
