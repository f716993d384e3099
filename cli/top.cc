#include "cli/top.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <optional>
#include <thread>
#include <utility>

#include "base/joined.h"
#include "cli/answer.h"
#include "cli/screen.h"

namespace nrd::cli {
namespace {

constexpr size_t kBar = 20;
constexpr double kMiB = 1024.0 * 1024.0;
constexpr const char* kUnknown = "?";
constexpr std::array kHeads = {"WORKLOAD", "POOL", "CLASS", "CACHE", "WAYS"};

std::string fixed(double value) { return fmt::format("{:.1f}", value); }

std::string number_of(const json::Value& cache, std::string_view key) {
  const std::optional<double> value = part(cache, key).as_double();
  return value ? fixed(*value) : kUnknown;
}

std::string right(const std::string& text, size_t width) {
  return text.size() < width ? std::string(width - text.size(), ' ') + text : text;
}

// "########............  1.2 of 3.0 MiB"
std::string bar_of(const json::Value& cache, bool in_colour) {
  const std::optional<double> occupied = part(cache, "occupancy_bytes").as_double();
  const std::optional<double> all = part(cache, "ways_bytes").as_double();
  if (!occupied) return kUnknown;
  if (!all || *all <= 0) return fixed(*occupied / kMiB) + " MiB";
  const double share = std::clamp(*occupied / *all, 0.0, 1.0);
  const auto filled = static_cast<size_t>(std::lround(share * kBar));
  const std::string bar(filled, '#');
  const std::string rest(kBar - filled, '.');
  const std::string drawn = in_colour ? "\x1b[32m" + bar + "\x1b[0m" + rest : bar + rest;
  return fmt::format("{}  {} of {} MiB", drawn, fixed(*occupied / kMiB), fixed(*all / kMiB));
}

struct Line {
  std::array<std::string, kHeads.size()> cells;
  std::string bar;
  size_t bar_width = 0;  // visible width, without colour sequences
  std::string total, local;
};

std::string name_of(const Watched& one) {
  const uint64_t in_class = part(one.usage, "workloads_in_class").as_unsigned().value_or(1);
  return text_at(one.workload, "id") + (in_class > 1 ? fmt::format(" +{}", in_class - 1) : "");
}

std::vector<Line> lines_of(const Watched& one, bool in_colour) {
  const std::string pool = text_at(one.workload, "pool");
  if (!one.usage.is_object()) {
    constexpr const char* kWhy = "has no class of its own";
    return {{.cells = {name_of(one), pool, "-", "-", "-"}, .bar = kWhy, .bar_width = std::string(kWhy).size()}};
  }
  std::vector<Line> lines;
  for (const json::Value& cache : part(one.usage, "caches").items()) {
    lines.push_back(
        {.cells = {name_of(one), pool, text_at(one.usage, "cos_name"), text_at(cache, "id"), text_at(cache, "ways")},
         .bar = bar_of(cache, in_colour),
         .bar_width = bar_of(cache, false).size(),
         .total = number_of(cache, "total_mb_per_second"),
         .local = number_of(cache, "local_mb_per_second")});
  }
  return lines;
}

std::string without_end_blanks(const std::string& line) { return line.substr(0, line.find_last_not_of(' ') + 1); }

}  // namespace

std::string draw_top(const std::vector<Watched>& watched, size_t rows, bool in_colour) {
  std::vector<Line> lines;
  for (const Watched& one : watched) std::ranges::move(lines_of(one, in_colour), std::back_inserter(lines));
  std::array<size_t, kHeads.size()> widths;
  for (size_t i = 0; i < kHeads.size(); ++i) {
    widths[i] = std::string_view(kHeads[i]).size();
    for (const Line& line : lines) widths[i] = std::max(widths[i], line.cells[i].size());
  }
  size_t bars = kBar;
  for (const Line& line : lines) bars = std::max(bars, line.bar_width);
  std::string text;
  for (size_t i = 0; i < kHeads.size(); ++i) text += padded(kHeads[i], widths[i] + 2);
  text += padded("OCCUPANCY", bars + 2) + "MEMORY MB/s  LOCAL MB/s\n";
  const bool is_cut = rows > 0 && lines.size() + 1 > rows;
  const size_t shown = is_cut ? std::max<size_t>(rows, 2) - 2 : lines.size();
  for (size_t i = 0; i < shown; ++i) {
    const Line& line = lines[i];
    std::string row;
    for (size_t cell = 0; cell < kHeads.size(); ++cell) row += padded(line.cells[cell], widths[cell] + 2);
    row +=
        line.bar + std::string(bars - line.bar_width + 2, ' ') + right(line.total, 11) + "  " + right(line.local, 10);
    text += without_end_blanks(row) + "\n";
  }
  if (is_cut) text += fmt::format("and {} more\n", lines.size() - shown);
  return text;
}

namespace {

struct Frame {
  std::vector<Watched> watched;
  std::vector<std::string> bodies;  // unchanged responses with usage
  bool has_rates = true;            // true as well if the node has no rates
};

// Usage of one workload, null if it has no class; nullopt: the workload is gone.
OrStop<std::optional<json::Value>> usage_of(const Client& client, const std::string& id, Frame& frame) {
  const Result<Answer> answer = client.get("/v1/workloads/" + id + "/monitoring");
  if (answer && answer->status == kConflict) return json::Value::null();
  if (answer && answer->status == kNotFound) return std::nullopt;
  json::Value usage = TRY(value_of(answer));
  frame.bodies.push_back(answer->body);
  if (part(usage, "interval_seconds").is_null()) frame.has_rates = false;
  return usage;
}

// Requests usage of at most `most` workloads (0: all); further ones are only counted.
OrStop<Frame> look(const Client& client, size_t most) {
  const json::Value workloads = TRY(value_of(client.get("/v1/workloads")));
  Frame frame;
  for (const json::Value& workload : workloads.items()) {
    if (most > 0 && frame.watched.size() >= most) {
      frame.watched.push_back({workload, json::Value::null()});
      continue;
    }
    std::optional<json::Value> usage = TRY(usage_of(client, text_at(workload, "id"), frame));
    if (usage) frame.watched.push_back({workload, *std::move(usage)});
  }
  return frame;
}

OrStop<> show_once(const Client& client, Output output) {
  constexpr int kTries = 5;  // rates need two samples, which are at most seconds apart
  Frame frame = TRY(look(client, 0));
  for (int i = 1; i < kTries && !frame.has_rates; ++i) {
    std::this_thread::sleep_for(std::chrono::seconds(1));
    frame = TRY(look(client, 0));
  }
  if (output.json) {
    print_json("[" + joined(frame.bodies, ",") + "]");
  } else {
    print_drawn(draw_top(frame.watched, 0, output.colour));
  }
  return {};
}

bool is_away(const Stop& stop) { return stop.exit == kUnreachable || stop.exit == kTryLater; }

OrStop<> show_live(const Client& client, Output output) {
  Screen screen;
  const Client impatient = client.broken_off_by(screen.signals());
  std::string shown;
  std::chrono::steady_clock::time_point answered;
  for (;;) {
    const size_t rows = screen.rows();
    // Each workload takes at least one line, so request no more than fit on the screen.
    const OrStop<Frame> frame = look(impatient, rows);
    const auto now = std::chrono::steady_clock::now();
    if (frame) {
      shown = draw_top(frame->watched, rows - 1, output.colour);
      answered = now;
    } else if (screen.is_left_within(std::chrono::milliseconds(0))) {
      return {};
    } else if (shown.empty() || !is_away(frame.error()) || now >= answered + kRestartTime) {
      return tl::unexpected(frame.error());  // printed after the screen is restored
    }
    screen.show(shown + (frame ? "" : std::string(kReconnecting) + "; ") + "q quits");
    if (screen.is_left_within(std::chrono::seconds(1))) return {};
  }
}

}  // namespace

OrStop<> show_top(const Client& client, Output output, Frames frames) {
  const bool is_live = frames == Frames::Live && output.terminal && !output.json;
  return is_live ? show_live(client, output) : show_once(client, output);
}

}  // namespace nrd::cli
