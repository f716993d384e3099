#include "cpu_list.h"

#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <vector>

namespace nrd::simnode {
namespace {

constexpr int kBitsPerChunk = 32;
constexpr size_t kDigitsPerChunk = 8;

bool separates(char c) { return c == ',' || std::isspace(static_cast<unsigned char>(c)) != 0; }

// A CPU of a region; "N" is the last one.
std::optional<long> parse_cpu(std::string_view text, int cpu_count) {
  if (text == "N") return cpu_count - 1;
  const auto number = parse_number(text);
  return number && *number >= 0 ? number : std::nullopt;
}

// "3", "0-7", "all", and of these so many of each group: "0-7:2/4".
int add_region(std::string_view text, int cpu_count, Cpus& cpus) {
  const size_t colon = text.find(':');
  const std::string_view range = text.substr(0, colon);
  const size_t dash = range.find('-');
  const bool is_all = range == "all";
  const auto first = is_all ? 0 : parse_cpu(range.substr(0, dash), cpu_count);
  const auto last = is_all ? cpu_count - 1 : dash == range.npos ? first : parse_cpu(range.substr(dash + 1), cpu_count);
  if (!first || !last || *first > *last || (colon != text.npos && dash == range.npos && !is_all)) return EINVAL;
  if (*last >= cpu_count) return ERANGE;
  std::optional<long> used = 1;
  std::optional<long> group = 1;
  if (colon != text.npos) {
    const std::string_view pattern = text.substr(colon + 1);
    const size_t slash = pattern.find('/');
    used = parse_number(pattern.substr(0, slash));
    group = slash == pattern.npos ? std::nullopt : parse_number(pattern.substr(slash + 1));
    if (!used || !group || *used < 0 || *group <= 0 || *used > *group) return EINVAL;
  }
  for (long cpu = *first; cpu <= *last; ++cpu) {
    if ((cpu - *first) % *group < *used) cpus.insert(static_cast<int>(cpu));
  }
  return 0;
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

std::optional<unsigned long> parse_unsigned(std::string_view text, int base) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  if (text.starts_with('+')) text.remove_prefix(1);
  if (base == 16 && (text.starts_with("0x") || text.starts_with("0X"))) text.remove_prefix(2);
  unsigned long value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

int parse_list(std::string_view text, int cpu_count, Cpus& cpus) {
  while (true) {
    while (!text.empty() && separates(text.front())) text.remove_prefix(1);
    if (text.empty()) return 0;
    size_t length = 0;
    while (length < text.size() && !separates(text[length])) ++length;
    if (const int error = add_region(text.substr(0, length), cpu_count, cpus)) return error;
    text.remove_prefix(length);
  }
}

int parse_mask(std::string_view text, int cpu_count, Cpus& cpus) {
  int base = 0;
  for (const std::string_view chunk : chunks_from_right(text)) {
    if (base >= cpu_count) return EOVERFLOW;
    const auto bits =
        chunk.find_first_not_of("0123456789abcdefABCDEF") == chunk.npos ? parse_number(chunk, 16) : std::nullopt;
    if (!bits) return EINVAL;
    for (int bit = 0; bit < kBitsPerChunk; ++bit) {
      if (((*bits >> bit) & 1) == 0) continue;
      if (base + bit >= cpu_count) return EOVERFLOW;
      cpus.insert(base + bit);
    }
    base += kBitsPerChunk;
  }
  return 0;
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
