// An operation of Onload as a list of steps. Pure: from the JSON of GET /v1/onload/operations/{id} to text.
//
//   done         switch 9.0.1.86                 0.0 s
//   failed       insert sfc_resource             0.1 s   syscall_table: sfc_resource cannot be loaded: ...
//                [sfc efrm] init_sfc_resource: ERROR: failed to find syscall table
//   running      close_door
#pragma once

#include <cstddef>
#include <string>

#include "api/json/value.h"

namespace nrd::cli {

// One step; several lines if the kernel said something.
std::string draw_step(const json::Value& step);
// How many of its first steps have ended; these do not change any more.
size_t ended_steps(const json::Value& operation);
// What is under way; empty: nothing.
std::string draw_running(const json::Value& operation);
// The last line: what became of it, and why.
std::string draw_outcome(const json::Value& operation);

}  // namespace nrd::cli
