// The handlers of RMD's resources. Each resource has a file; the table of routes has the paths.
#pragma once

#include "api/routing/call.h"

namespace nrd::rmd {

// cache.cc: the node's caches in RMD's format, with actual values where RMD returns 0, and counts next to the masks.
//
// Names and types match RMD exactly: its clients reject a whole response if one number does not fit its type. nrd's own
// keys follow RMD's.
void show_caches(const routing::Call& call, http::Reply reply);
void show_cache_level(const routing::Call& call, http::Reply reply);
void show_cache(const routing::Call& call, http::Reply reply);

// mba.cc: memory bandwidth allocation of the node.
void show_mba(const routing::Call& call, http::Reply reply);

// hospitality.cc: a score per cache for one more workload. Read-only; POST for compatibility with RMD.
void show_hospitality(const routing::Call& call, http::Reply reply);

// pstate.cc: with ?view=rmd the monitored CPUs in the format of RMD 0.2, otherwise the same as v1::list_pstates().
void list_pstates(const routing::Call& call, http::Reply reply);

}  // namespace nrd::rmd
