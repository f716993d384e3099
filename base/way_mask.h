// The ways of one cache as bits, bit 0 the lowest way (a capacity bit mask, CBM, in the manuals' words).
//
// CAT requires contiguous masks (SDM vol. 3B, 18.19.4), so is_contiguous() and longest_run() are the main operations.
// 0x7f0 on an 11-way cache draws as "....#######", way 0 at the left.
#pragma once

#include <bit>
#include <cstdint>
#include <string>

#include "base/hex.h"

namespace nrd {

class WayMask {
 public:
  static constexpr unsigned kMaxWays = 32;  // resctrl's CBMs are 32 bits wide

  constexpr WayMask() = default;
  constexpr explicit WayMask(uint32_t bits) : bits_(bits) {}

  // `count` ways from way `lowest` upwards; `lowest + count` must not exceed kMaxWays.
  static constexpr WayMask run(unsigned lowest, unsigned count) {
    const uint64_t ones = (uint64_t{1} << count) - 1;
    return WayMask(static_cast<uint32_t>(ones << lowest));
  }
  // All ways of a cache with `ways` ways.
  static constexpr WayMask all(unsigned ways) { return run(0, ways); }

  constexpr uint32_t bits() const { return bits_; }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr unsigned count() const { return static_cast<unsigned>(std::popcount(bits_)); }
  constexpr unsigned lowest() const { return static_cast<unsigned>(std::countr_zero(bits_)); }  // 32 if empty
  constexpr unsigned end() const {
    return 32 - static_cast<unsigned>(std::countl_zero(bits_));
  }  // one past the highest
  constexpr bool contains(WayMask other) const { return (bits_ & other.bits_) == other.bits_; }
  constexpr bool intersects(WayMask other) const { return (bits_ & other.bits_) != 0; }
  // One run without holes. The empty mask is not contiguous: no class can have it.
  constexpr bool is_contiguous() const { return bits_ != 0 && end() - lowest() == count(); }

  // The longest run of set bits; of equal ones the highest. Empty if there is none.
  WayMask longest_run() const {
    WayMask best;
    for (WayMask rest = *this; !rest.empty();) {
      const WayMask next = rest.lowest_run();
      if (next.count() >= best.count()) best = next;
      rest = rest - next;
    }
    return best;
  }
  // The run of set bits that begins at lowest().
  constexpr WayMask lowest_run() const {
    if (bits_ == 0) return {};
    return run(lowest(), static_cast<unsigned>(std::countr_one(bits_ >> lowest())));
  }

  std::string hex() const { return hex_number(bits_); }  // "7f0", as resctrl writes it

  std::string list() const {  // "4-10", "4,7-9": way numbers, as in messages and for RMD's clients
    std::string text;
    for (WayMask rest = *this; !rest.empty(); rest = rest - rest.lowest_run()) {
      const WayMask next = rest.lowest_run();
      if (!text.empty()) text += ',';
      text += std::to_string(next.lowest());
      if (next.count() > 1) text += '-' + std::to_string(next.end() - 1);
    }
    return text;
  }

  friend constexpr WayMask operator|(WayMask a, WayMask b) { return WayMask(a.bits_ | b.bits_); }
  friend constexpr WayMask operator&(WayMask a, WayMask b) { return WayMask(a.bits_ & b.bits_); }
  friend constexpr WayMask operator-(WayMask a, WayMask b) { return WayMask(a.bits_ & ~b.bits_); }
  friend constexpr bool operator==(WayMask, WayMask) = default;

 private:
  uint32_t bits_ = 0;
};

}  // namespace nrd
