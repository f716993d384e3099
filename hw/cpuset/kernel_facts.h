// What the kernel reports of CPUs and NUMA nodes beside their topology. A file that does not exist, or is not what it
// should be, counts as empty: kernels and machines without the feature have none.
#pragma once

#include <string>

#include "hw/cpuset/types.h"

namespace nrd::cpuset {

// CPUs that run without the periodic tick (nohz_full=). `root`: of the files, "" on a host.
CpuSet read_nohz_full(const std::string& root);
CoreKinds read_core_kinds(const std::string& root);
FreeHugePages read_free_huge_pages(const std::string& root);

}  // namespace nrd::cpuset
