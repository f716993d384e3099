#include "cli/printer.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/control.h"
#include "base/hex.h"
#include "base/utf8.h"

namespace nrd::cli {
namespace {

// xterm sequences: alternate screen, cursor, line wrap, home, clear, clear line.
constexpr auto kMovements =
    std::to_array<std::string_view>({"\x1b[?1049h", "\x1b[?1049l", "\x1b[?25h", "\x1b[?25l", "\x1b[?7h", "\x1b[?7l",
                                     "\x1b[H", "\x1b[K", "\x1b[J", "\r\x1b[K"});

// Colours: "ESC [ number m".
size_t drawing_length(std::string_view text) {
  for (const std::string_view movement : kMovements) {
    if (text.starts_with(movement)) return movement.size();
  }
  if (!text.starts_with("\x1b[")) return 0;
  const size_t end = text.find_first_not_of("0123456789", 2);
  return end != std::string_view::npos && end > 2 && end < 6 && text[end] == 'm' ? end + 1 : 0;
}

// Keeps sequences for which `harmless` returns a length; passes all others to `replace`.
template <typename Harmless, typename Replace>
std::string replaced(std::string_view text, Harmless harmless, Replace replace) {
  std::string clean;
  while (!text.empty()) {
    size_t length = harmless(text);
    if (length > 0) {
      clean += text.substr(0, length);
    } else {
      length = std::max<size_t>(control_length(text), 1);
      clean += replace(text.substr(0, length));
    }
    text.remove_prefix(length);
  }
  return clean;
}

size_t harmless_length(std::string_view text) {
  if (text[0] == '\n' || text[0] == '\t') return 1;
  return control_length(text) > 0 ? 0 : first_code_point(text).length;
}

std::string question_mark(std::string_view) { return "?"; }

void write(std::string_view text, FILE* to) { std::fwrite(text.data(), 1, text.size(), to); }

}  // namespace

std::string printable(std::string_view text) { return replaced(text, harmless_length, question_mark); }

std::string printable_json(std::string_view text) {
  return replaced(text, harmless_length, [](std::string_view found) -> std::string {
    if (found == "\r") return " ";  // a blank in JSON; on a terminal it would overwrite the line
    const uint32_t code_point = first_code_point(found).value;
    if (code_point < 0x20) return "?";  // also bytes that are no character
    const std::array<char, 2> bytes{static_cast<char>(code_point >> 8), static_cast<char>(code_point)};
    return "\\u" + hex_of({bytes.data(), bytes.size()});
  });
}

void print(std::string_view text) { write(printable(text), stdout); }

void print_json(std::string_view text) { write(printable_json(text) + "\n", stdout); }

void print_drawn(std::string_view text) {
  const auto harmless = [](std::string_view rest) {
    const size_t drawing = drawing_length(rest);
    return drawing > 0 ? drawing : harmless_length(rest);
  };
  write(replaced(text, harmless, question_mark), stdout);
}

bool flush() { return std::fflush(stdout) == 0 && std::ferror(stdout) == 0; }

void print_error(std::string_view text) {
  write(fmt::format("nrdctl: {}{}", printable(text), text.ends_with('\n') ? "" : "\n"), stderr);
}

}  // namespace nrd::cli
