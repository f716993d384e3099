// The build ID in an ELF note (elf(5)), as the linker writes it. It identifies a module: only `onload` and `sfc` have a
// version, and srcversion exists on some kernels only.
//
//   04 00 00 00  14 00 00 00  03 00 00 00     "GNU\0"  20 bytes of SHA-1
//   name size    ID size      NT_GNU_BUILD_ID  name     ID
//
// Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace nrd::onload {

// In lower-case hex. nullopt: the notes are truncated or contain no build ID.
std::optional<std::string> parse_build_id(std::string_view notes);

}  // namespace nrd::onload
