#include "cli/arguments.h"

#include <unistd.h>

#include <cstdlib>
#include <string_view>
#include <utility>

#include "cli/screen.h"

namespace nrd::cli {

CLI::App* declare(CLI::App& parent, Arguments& a, const char* name, const char* help, Arguments::Execute execute) {
  CLI::App* command = parent.add_subcommand(name, help);
  command->callback([&a, execute = std::move(execute)] { a.execute = execute; });
  return command;
}

void declare_default(CLI::App& parent, Arguments& a, Arguments::Execute execute) {
  parent.require_subcommand(0, 1);
  parent.callback([&a, execute = std::move(execute)] {  // after that of a subcommand
    if (!a.execute) a.execute = execute;
  });
}

CLI::Validator given() {
  return CLI::Validator([](const std::string& text) { return text.empty() ? "must not be empty" : ""; }, "");
}

void refuse_empty_options(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    const bool needs_value = option->get_expected_min() > 0;  // one may stand alone
    if (option->nonpositional() && needs_value && option->get_type_name().starts_with("TEXT")) option->check(given());
  }
  for (CLI::App* command : app.get_subcommands({})) refuse_empty_options(*command);
}

void declare_output(CLI::App& app, Arguments& a) {
  app.add_flag("--json", a.json, "the same as -o json");
  app.add_option("-o,--output-format", a.format,
                 "table, wide (all columns), json (the daemon's response unchanged, errors too), yaml (workloads as a "
                 "document) or name (ids)")
      ->check(CLI::IsMember({"table", "wide", "json", "yaml", "name"}))
      ->capture_default_str();
  app.add_flag("--no-headers", a.no_headers, "tables without the line of titles");
}

Output output_of(const Arguments& a) {
  const bool terminal = ::isatty(STDOUT_FILENO) == 1;
  const bool colour = terminal && std::getenv("NO_COLOR") == nullptr;
  return {.json = a.json || a.format == "json",
          .names = a.format == "name",
          .yaml = a.format == "yaml",
          .wide = a.format == "wide",
          .headers = !a.no_headers,
          .colour = colour,
          .terminal = terminal,
          .columns = terminal ? columns_of_terminal() : 0};
}

bool asks_for_json(int argc, const char* const* argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--") return false;
    if (word == "--json" || word == "-ojson" || word == "--output-format=json") return true;
    const bool is_format = word == "-o" || word == "--output-format";
    if (is_format && i + 1 < argc && std::string_view(argv[i + 1]) == "json") return true;
  }
  return false;
}

}  // namespace nrd::cli
