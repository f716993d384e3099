// Registers as a part has them: reading one that is not there finds nothing, and writes reach only some bits.
#pragma once

#include <map>

#include "hw/pstate/msr.h"

namespace nrd::testing {

class MapRegisters final : public pstate::Registers {
 public:
  explicit MapRegisters(std::map<uint32_t, uint64_t> words) : words_(std::move(words)) {}

  Result<std::optional<uint64_t>> read(uint32_t address) override {
    if (broken_) return fail(ErrorCode::Hardware, "broken");
    if (!words_.contains(address)) return std::nullopt;
    return words_.at(address);
  }
  Result<void> write(uint32_t address, uint64_t word) override {
    words_[address] = (words_[address] & ~writable_) | (word & writable_);
    return {};
  }

  uint64_t word(uint32_t address) const { return words_.at(address); }
  void set(uint32_t address, uint64_t word) { words_[address] = word; }
  void break_down() { broken_ = true; }
  void mask_off(uint64_t bits) { writable_ = ~bits; }

 private:
  std::map<uint32_t, uint64_t> words_;
  uint64_t writable_ = ~uint64_t{0};
  bool broken_ = false;
};

}  // namespace nrd::testing
