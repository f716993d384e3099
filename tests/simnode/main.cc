// nrd-simnode [options] -- COMMAND ARGS…: runs a command on a simulated node. See README.md.
#include <cstdio>
#include <exception>

#include "launcher.h"
#include "node.h"
#include "options.h"

int main(int argc, char** argv) {
  using namespace nrd::simnode;
  const auto parsed = parse_options(argc, argv);
  if (const int* status = std::get_if<int>(&parsed)) return *status;
  const Options& options = std::get<Options>(parsed);
  try {
    Node node(options.shape);
    return run(options, node);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "nrd-simnode: %s\n", failure.what());
    return 125;
  }
}
