// Draws an Onload operation as a list of steps. Pure: from the JSON of GET /v1/onload/operations/{id} to text.
//
//   done         switch 9.0.1.86                 0.0 s
//   failed       insert sfc_resource             0.1 s   syscall_table: sfc_resource cannot be loaded: ...
//                [sfc efrm] init_sfc_resource: ERROR: failed to find syscall table
//   running      close_device_access
#pragma once

#include <cstddef>
#include <string>

#include "base/json/value.h"

namespace nrd::cli {

// One step; several lines if the kernel logged something.
std::string draw_step(const json::Value& step);
// Number of leading steps that have ended and will not change.
size_t ended_steps(const json::Value& operation);
// The running step; empty: none.
std::string draw_running(const json::Value& operation);
// The last line: outcome and reason.
std::string draw_outcome(const json::Value& operation);

}  // namespace nrd::cli
