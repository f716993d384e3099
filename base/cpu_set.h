// A set of logical CPUs, and the kernel's list format for it: "0-3,8" (cpuset(7), "List format").
//
// parse() is strict: digits, '-' and ',' only, no blanks, ranges upwards, nothing above kMaxCpus. to_string() gives the
// canonical form, so parse(to_string(s)) == s and equal sets print alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/result.h"

namespace nrd {

class CpuSet {
 public:
  // The kernel's own limit (NR_CPUS with MAXSMP on x86). It bounds the memory of one hostile range.
  static constexpr uint32_t kMaxCpus = 8192;

  CpuSet() = default;
  CpuSet(std::initializer_list<uint32_t> cpus);

  // BadRequest with a message that quotes the item; the caller sets `field`.
  static Result<CpuSet> parse(std::string_view list);
  // A number or one range, without commas; the same errors.
  static Result<std::pair<CpuId, CpuId>> parse_range(std::string_view item);
  // All CPUs 0..count-1.
  static CpuSet first(uint32_t count);

  void add(CpuId cpu);
  void remove(CpuId cpu);
  // Adds `first` to `last` word by word: clients list the same thousands of CPUs repeatedly.
  void add(CpuId first, CpuId last);
  void remove(CpuId first, CpuId last);
  bool contains(CpuId cpu) const;
  bool empty() const { return words_.empty(); }
  size_t size() const;
  bool intersects(const CpuSet& other) const;
  bool is_subset_of(const CpuSet& other) const;

  // Members in ascending order.
  std::vector<CpuId> members() const;
  // "0-3,8"; "" for the empty set.
  std::string to_string() const;

  CpuSet& operator|=(const CpuSet& other);
  CpuSet& operator&=(const CpuSet& other);
  CpuSet& operator-=(const CpuSet& other);
  friend CpuSet operator|(CpuSet a, const CpuSet& b) { return a |= b; }
  friend CpuSet operator&(CpuSet a, const CpuSet& b) { return a &= b; }
  friend CpuSet operator-(CpuSet a, const CpuSet& b) { return a -= b; }
  friend bool operator==(const CpuSet&, const CpuSet&) = default;

 private:
  // Calls change(word, bits) for each word that has CPUs of first..last.
  template <typename Change>
  static void each_word(uint32_t first, uint32_t last, Change change);
  void trim();
  std::vector<uint64_t> words_;  // no trailing zero words, so that == means equal sets
};

}  // namespace nrd
