// Why a profile was not read, in words.
#pragma once

#include <string>

#include "hw/onload/profiles/outcome.h"

namespace nrd::profiles {

// "wrong: …" or "needs a shell: …".
inline std::string text_of(const Stop& stop) {
  if (const auto* dynamic = std::get_if<Dynamic>(&stop)) return "needs a shell: " + to_string(*dynamic);
  return "wrong: " + std::get<Error>(stop).message;
}

}  // namespace nrd::profiles
