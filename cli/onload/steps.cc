#include "cli/onload/steps.h"

#include <fmt/core.h>

#include <cstdint>
#include <cstdio>
#include <optional>

#include "base/control.h"
#include "cli/answer.h"

namespace nrd::cli {
namespace {

// "2026-11-21T12:00:00.123Z" as milliseconds of the day; a step takes less than one.
std::optional<int64_t> time_of_day(const std::string& text) {
  int hours = 0;
  int minutes = 0;
  int seconds = 0;
  int milliseconds = 0;
  const size_t at = text.find('T');
  if (at == std::string::npos) return std::nullopt;
  const int read = std::sscanf(text.c_str() + at, "T%2d:%2d:%2d.%3d", &hours, &minutes, &seconds, &milliseconds);
  if (read < 3) return std::nullopt;
  return ((int64_t{hours} * 60 + minutes) * 60 + seconds) * 1000 + milliseconds;
}

std::string duration(const json::Value& step) {
  constexpr int64_t kDay = 86'400'000;
  const std::optional<int64_t> from = time_of_day(text_at(step, "started"));
  const std::optional<int64_t> to = time_of_day(text_at(step, "finished"));
  if (!from || !to) return "";
  const int64_t took = (*to - *from + kDay) % kDay;
  return took < kDay / 2 ? fmt::format("{:.1f} s", static_cast<double>(took) / 1000) : "";  // the clock was set back
}

std::string act_of(const json::Value& step) {
  const std::string subject = text_at(step, "subject");
  return text_at(step, "act") + (subject == "-" ? "" : " " + subject);
}

bool is_running(const json::Value& step) { return text_at(step, "progress") == "running"; }

}  // namespace

std::string draw_step(const json::Value& step) {
  std::string line = fmt::format("  {} {}", padded(text_at(step, "progress"), 12), padded(act_of(step), 40));
  if (!is_running(step)) line += " " + duration(step);
  const std::string cause = text_at(step, "cause");
  if (cause != "-") line += fmt::format("   {}: {}", cause, text_at(step, "message"));
  while (line.ends_with(' ')) line.pop_back();
  line += "\n";
  for (const json::Value& line_of_kernel : part(step, "kernel").items()) {
    if (const std::string* text = line_of_kernel.as_string())
      line += fmt::format("               {}\n", without_controls(*text));
  }
  return line;
}

size_t ended_steps(const json::Value& operation) {
  size_t ended = 0;
  for (const json::Value& step : part(operation, "steps").items()) {
    if (is_running(step)) break;
    ++ended;
  }
  return ended;
}

std::string draw_running(const json::Value& operation) {
  const auto& steps = part(operation, "steps").items();
  return steps.empty() || !is_running(steps.back())
             ? ""
             : fmt::format("  {} {}", padded("running", 12), act_of(steps.back()));
}

std::string draw_outcome(const json::Value& operation) {
  const std::string outcome = text_at(operation, "outcome");
  const std::string why = fmt::format("{}: {}", text_at(operation, "cause"), text_at(operation, "message"));
  const std::string number = "operation " + text_at(operation, "id");
  if (outcome == "succeeded") return number + " succeeded\n";
  if (outcome == "rolled_back") {
    const std::string to = text_at(operation, "fallback");
    return fmt::format("{} was rolled back to {}\n{}\n", number, to == "0" ? "the state before it" : "generation " + to,
                       why);
  }
  return fmt::format("{} failed; Onload accepts no new users until this is fixed, see docs/onload.md\n{}\n", number,
                     why);
}

}  // namespace nrd::cli
