// Compares values of module parameters, which the kernel shows in normal form: "1" becomes "Y", "0x10" becomes "16".
#pragma once

#include <string_view>

namespace nrd::onload {

bool says_same(std::string_view wanted, std::string_view shown);

}  // namespace nrd::onload
