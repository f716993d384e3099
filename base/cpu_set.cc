#include "base/cpu_set.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <optional>

namespace nrd {
namespace {

constexpr uint32_t kBits = 64;

constexpr size_t kQuoted = 40;  // enough to recognise the item, but bounded for the log

// kMaxCpus: this number or a larger one.
std::optional<uint32_t> parse_cpu(std::string_view text) {
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::invalid_argument || end != text.data() + text.size()) return std::nullopt;
  return error == std::errc::result_out_of_range ? CpuSet::kMaxCpus : std::min(value, CpuSet::kMaxCpus);
}

// Too large for a CpuSet, and therefore for any node.
Failure not_a_cpu(std::string_view number) {
  return fail(ErrorCode::BadRequest, fmt::format("CPU {} does not exist; Linux numbers CPUs from 0 to {}",
                                                 number.substr(0, kQuoted), CpuSet::kMaxCpus - 1));
}

Failure not_a_list(std::string_view item) {
  std::string quoted;
  for (const char c : item.substr(0, kQuoted)) quoted += (c >= ' ' && c <= '~') ? c : '?';
  return fail(ErrorCode::BadRequest,
              fmt::format("\"{}\" is not a CPU list; expected numbers and upward ranges such as \"0-3,8\"", quoted));
}

}  // namespace

CpuSet::CpuSet(std::initializer_list<uint32_t> cpus) {
  for (const uint32_t cpu : cpus) add(CpuId{cpu});
}

Result<std::pair<CpuId, CpuId>> CpuSet::parse_range(std::string_view item) {
  const size_t dash = item.find('-');
  const std::string_view end = dash == std::string_view::npos ? item : item.substr(dash + 1);
  const auto first = parse_cpu(item.substr(0, dash));
  const auto last = parse_cpu(end);
  if (!first || !last || *first > *last) return not_a_list(item);
  if (*last >= CpuSet::kMaxCpus) return not_a_cpu(end);
  return std::pair(CpuId{*first}, CpuId{*last});
}

Result<CpuSet> CpuSet::parse(std::string_view list) {
  CpuSet set;
  for (std::string_view rest = list;;) {
    const size_t comma = rest.find(',');
    const auto range = TRY(parse_range(rest.substr(0, comma)));
    set.add(range.first, range.second);
    if (comma == std::string_view::npos) return set;
    rest.remove_prefix(comma + 1);
  }
}

CpuSet CpuSet::first(uint32_t count) {
  CpuSet set;
  if (count > 0) set.add(CpuId{0}, CpuId{count - 1});
  return set;
}

void CpuSet::add(CpuId cpu) { add(cpu, cpu); }
void CpuSet::remove(CpuId cpu) { remove(cpu, cpu); }

template <typename Change>
void CpuSet::each_word(uint32_t first, uint32_t last, Change change) {
  for (uint32_t word = first / kBits; word <= last / kBits; ++word) {
    const uint32_t low = word == first / kBits ? first % kBits : 0;
    const uint32_t high = word == last / kBits ? last % kBits : kBits - 1;
    change(word, (~uint64_t{0} >> (kBits - 1 - high + low)) << low);
  }
}

void CpuSet::add(CpuId first, CpuId last) {
  words_.resize(std::max<size_t>(words_.size(), last.value / kBits + 1));
  each_word(first.value, last.value, [this](uint32_t word, uint64_t bits) { words_[word] |= bits; });
}

void CpuSet::remove(CpuId first, CpuId last) {
  each_word(first.value, last.value, [this](uint32_t word, uint64_t bits) {
    if (word < words_.size()) words_[word] &= ~bits;
  });
  trim();
}

bool CpuSet::contains(CpuId cpu) const {
  const size_t word = cpu.value / kBits;
  return word < words_.size() && ((words_[word] >> (cpu.value % kBits)) & 1) != 0;
}

size_t CpuSet::size() const {
  size_t count = 0;
  for (const uint64_t word : words_) count += static_cast<size_t>(std::popcount(word));
  return count;
}

bool CpuSet::intersects(const CpuSet& other) const {
  const size_t common = std::min(words_.size(), other.words_.size());
  for (size_t i = 0; i < common; ++i) {
    if ((words_[i] & other.words_[i]) != 0) return true;
  }
  return false;
}

bool CpuSet::is_subset_of(const CpuSet& other) const {
  if (words_.size() > other.words_.size()) return false;
  for (size_t i = 0; i < words_.size(); ++i) {
    if ((words_[i] & ~other.words_[i]) != 0) return false;
  }
  return true;
}

std::vector<CpuId> CpuSet::members() const {
  std::vector<CpuId> cpus;
  for (uint32_t word = 0; word < words_.size(); ++word) {
    for (uint64_t bits = words_[word]; bits != 0; bits &= bits - 1) {
      cpus.push_back(CpuId{word * kBits + static_cast<uint32_t>(std::countr_zero(bits))});
    }
  }
  return cpus;
}

std::string CpuSet::to_string() const {
  std::string text;
  const std::vector<CpuId> cpus = members();
  for (size_t i = 0; i < cpus.size();) {
    size_t last = i;
    while (last + 1 < cpus.size() && cpus[last + 1].value == cpus[last].value + 1) ++last;
    if (!text.empty()) text += ',';
    text += std::to_string(cpus[i].value);
    if (last > i) text += fmt::format("-{}", cpus[last].value);
    i = last + 1;
  }
  return text;
}

CpuSet& CpuSet::operator|=(const CpuSet& other) {
  words_.resize(std::max(words_.size(), other.words_.size()));
  for (size_t i = 0; i < other.words_.size(); ++i) words_[i] |= other.words_[i];
  return *this;
}

CpuSet& CpuSet::operator&=(const CpuSet& other) {
  words_.resize(std::min(words_.size(), other.words_.size()));
  for (size_t i = 0; i < words_.size(); ++i) words_[i] &= other.words_[i];
  trim();
  return *this;
}

CpuSet& CpuSet::operator-=(const CpuSet& other) {
  const size_t common = std::min(words_.size(), other.words_.size());
  for (size_t i = 0; i < common; ++i) words_[i] &= ~other.words_[i];
  trim();
  return *this;
}

void CpuSet::trim() {
  while (!words_.empty() && words_.back() == 0) words_.pop_back();
}

}  // namespace nrd
