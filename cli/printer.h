// All output of nrdctl to stdout and stderr goes through here (a source check rejects other ways).
//
// Most output contains foreign text: program names, error messages, responses of servers that may not be nrd. Control
// characters could drive the terminal, so each is replaced by "?": C0 except line ends and tabs, DEL, C1 in UTF-8,
// and bytes that are not UTF-8, which an 8-bit terminal could read as C1.
#pragma once

#include <fmt/core.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace nrd::cli {

struct Output {
  bool json = false;    // print the daemon's response unchanged
  bool names = false;   // of a list, the ids alone
  bool yaml = false;    // of workloads, a document for nrdctl apply
  bool wide = false;    // tables with all columns
  bool headers = true;  // of a table
  bool colour = false;
  bool terminal = false;  // standard output is a terminal, so lines may be overwritten
  size_t columns = 0;     // tables are cut to this width; 0: never
};

// `text` with control characters replaced.
std::string printable(std::string_view text);
// The same for JSON: inside strings they are escaped, which keeps the meaning.
std::string printable_json(std::string_view text);

void print(std::string_view text);
template <typename First, typename... More>
void print(fmt::format_string<First, More...> format, First&& first, More&&... more) {
  print(std::string_view(fmt::format(format, std::forward<First>(first), std::forward<More>(more)...)));
}
// A response of the daemon, unchanged but sanitised, and a line end.
void print_json(std::string_view text);
// For our own drawings: keeps the colours and cursor movements listed in printer.cc.
void print_drawn(std::string_view text);
// What was printed reaches a pipe now. False: not all of it could be written.
bool flush();
// "nrdctl: ...", on standard error.
void print_error(std::string_view text);

}  // namespace nrd::cli
