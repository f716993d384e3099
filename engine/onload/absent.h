// What an nrd built without Onload (NRD_ONLOAD=OFF) says to a request for it.
#pragma once

namespace nrd::onload {

constexpr const char* kAbsent = "this nrd was built without Onload";

}  // namespace nrd::onload
