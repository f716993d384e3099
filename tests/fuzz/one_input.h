// What each fuzzer of this folder defines: one reader, one input. Whatever the bytes are, it returns; a promise that is
// broken ends the process (abort, AddressSanitizer, UBSan).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size);

namespace nrd::fuzz {

inline std::string_view as_text(const uint8_t* bytes, size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

inline void promise(bool kept) {
  if (!kept) std::abort();
}

}  // namespace nrd::fuzz
