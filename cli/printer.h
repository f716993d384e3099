// All that nrdctl writes on standard output and standard error goes through here (tests/house looks for other ways).
//
// Most of it is foreign: names of programs, refusals, texts of servers that may not be nrd. A terminal obeys control
// characters, so none gets through: C0 but for line ends and tabs, DEL, C1 in UTF-8, and bytes that are not UTF-8,
// among which a terminal of eight bits has its own C1. Each becomes a "?".
#pragma once

#include <string>
#include <string_view>

namespace nrd::cli {

// As it may be printed.
std::string printable(std::string_view text);
// The same of JSON: what is in its strings is escaped there, so that it means what it meant.
std::string printable_json(std::string_view text);

void print(std::string_view text);
// As printf(3); what was put together is printed as foreign text.
__attribute__((format(printf, 1, 2))) void print_format(const char* format, ...);
// An answer of the daemon's as it is, and a line end.
void print_json(std::string_view text);
// What we draw ourselves: colours and movements of the list in printer.cc stay; the rest as print().
void print_drawn(std::string_view text);
// "nrdctl: ...", on standard error.
void print_error(std::string_view text);

}  // namespace nrd::cli
