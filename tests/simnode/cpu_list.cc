#include "cpu_list.h"

#include <cctype>
#include <charconv>
#include <cstdio>
#include <vector>

namespace nrd::simnode {
namespace {

constexpr int kBitsPerChunk = 32;
constexpr size_t kDigitsPerChunk = 8;
constexpr long kHighestCpu = 8191;

bool separates(char c) { return c == ',' || std::isspace(static_cast<unsigned char>(c)) != 0; }

bool add_range(std::string_view text, Cpus& cpus) {
  const size_t dash = text.find('-');
  const auto first = parse_number(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : parse_number(text.substr(dash + 1));
  if (!first || !last || *first < 0 || *first > *last || *last > kHighestCpu) return false;
  for (long cpu = *first; cpu <= *last; ++cpu) cpus.insert(cpus.end(), static_cast<int>(cpu));
  return true;
}

// From the right, as the kernel reads: a chunk ends at a separator or after eight digits.
std::vector<std::string_view> chunks_from_right(std::string_view text) {
  std::vector<std::string_view> chunks;
  while (true) {
    while (!text.empty() && separates(text.back())) text.remove_suffix(1);
    if (text.empty()) return chunks;
    size_t length = 0;
    while (length < kDigitsPerChunk && length < text.size() && !separates(text[text.size() - 1 - length])) ++length;
    chunks.push_back(text.substr(text.size() - length));
    text.remove_suffix(length);
  }
}

}  // namespace

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.remove_suffix(1);
  return text;
}

std::optional<std::string_view> cut(std::optional<std::string_view>& rest, char separator) {
  if (!rest) return std::nullopt;
  const size_t end = rest->find(separator);
  const std::string_view head = rest->substr(0, end);
  if (end == std::string_view::npos) {
    rest.reset();
  } else {
    rest->remove_prefix(end + 1);
  }
  return head;
}

std::optional<long> parse_number(std::string_view digits, int base) {
  if (base == 16 && (digits.starts_with("0x") || digits.starts_with("0X"))) digits.remove_prefix(2);
  long value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

std::optional<Cpus> parse_list(std::string_view text) {
  Cpus cpus;
  std::optional<std::string_view> rest = trimmed(text);
  while (const auto range = cut(rest, ',')) {
    if (!trimmed(*range).empty() && !add_range(trimmed(*range), cpus)) return std::nullopt;
  }
  return cpus;
}

std::optional<Cpus> parse_mask(std::string_view text) {
  Cpus cpus;
  int base = 0;
  for (const std::string_view chunk : chunks_from_right(text)) {
    const auto bits = parse_number(chunk, 16);
    if (!bits || *bits < 0) return std::nullopt;
    for (int bit = 0; bit < kBitsPerChunk; ++bit) {
      if ((*bits >> bit) & 1) cpus.insert(base + bit);
    }
    base += kBitsPerChunk;
  }
  return cpus;
}

std::string list_of(const Cpus& cpus) {
  std::string text;
  for (auto cpu = cpus.begin(); cpu != cpus.end();) {
    const int first = *cpu;
    int last = first;
    while (++cpu != cpus.end() && *cpu == last + 1) last = *cpu;
    if (!text.empty()) text += ',';
    text += std::to_string(first);
    if (last != first) text += '-' + std::to_string(last);
  }
  return text;
}

std::string mask_of(const Cpus& cpus, int cpu_count) {
  std::string text;
  for (int base = (cpu_count - 1) / kBitsPerChunk * kBitsPerChunk; base >= 0; base -= kBitsPerChunk) {
    unsigned bits = 0;
    for (auto cpu = cpus.lower_bound(base); cpu != cpus.end() && *cpu < base + kBitsPerChunk; ++cpu)
      bits |= 1U << (*cpu - base);
    const bool highest = text.empty();
    const int width = highest ? (cpu_count - base + 3) / 4 : static_cast<int>(kDigitsPerChunk);
    char chunk[16];
    std::snprintf(chunk, sizeof chunk, "%s%0*x", highest ? "" : ",", width, bits);
    text += chunk;
  }
  return text;
}

}  // namespace nrd::simnode
