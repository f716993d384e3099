// The version of this build; cmake/version.cmake says how it is made.
#pragma once

namespace nrd {

extern const char* const kVersion;  // 0.2.0, or between releases 0.2.0~git40.2357120

}  // namespace nrd
