// What the command line of nrdctl sets, and how its commands are declared. The declaration of a command with a type for
// its arguments holds these.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "cli/acceleration.h"
#include "cli/client.h"
#include "cli/commands.h"
#include "cli/launch.h"
#include "cli/new_workload.h"
#include "cli/password.h"
#include "cli/printer.h"
#include "cli/processes/run_processes.h"

namespace nrd::cli {

struct Arguments {
  using Execute = std::function<OrStop<>(const Client&, Output)>;
  Execute execute;  // of the command that was given
  Endpoint to;
  PasswordSource password;
  bool json = false;
  std::string format = "table";
  bool no_headers = false;
  NewWorkload wanted;
  WorkloadFilter filter;
  bool is_dry = false;
  bool is_forced = false;
  std::string id;
  std::vector<std::string> ids;
  std::string awaited = "successful";
  unsigned timeout = 60;
  std::string file;
  std::shared_ptr<AccelerationArguments> acceleration = acceleration_arguments();
  Launch launch;
  RunProcesses processes;
  bool once = false;  // for top
};

// A command without further options.
CLI::App* declare(CLI::App& parent, Arguments& a, const char* name, const char* help, Arguments::Execute execute);
// What `parent` does without one of its subcommands.
void declare_default(CLI::App& parent, Arguments& a, Arguments::Execute execute);
// Refuses an empty text: in a script it is a variable that is not set, and must not count as no option.
CLI::Validator given();
// The same for the options of all commands below `app`.
void refuse_empty_options(CLI::App& app);
// The options of all commands about output.
void declare_output(CLI::App& app, Arguments& a);
Output output_of(const Arguments& a);
// Before the command line could be parsed: true if it asks for JSON.
bool asks_for_json(int argc, const char* const* argv);

}  // namespace nrd::cli
