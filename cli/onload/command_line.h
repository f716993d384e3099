// The command line of nrdctl onload.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/onload/interfaces.h"
#include "cli/onload/onload.h"

namespace nrd::cli {

struct OnloadArguments {
  OnloadRequest request;
  InterfaceArgs interfaces;
  std::string id;  // of an operation
  std::string source;
  std::string module;
  std::vector<std::string> settings;
  bool reload = false;
  std::string reason;
  std::optional<uint64_t> generation;
};

void declare_onload(CLI::App& app, OnloadArguments& a);
Outcome<> execute_onload(const CLI::App& onload, const Client& client, Output output, const OnloadArguments& a);

}  // namespace nrd::cli
