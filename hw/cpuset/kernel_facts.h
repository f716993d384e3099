// What the kernel reports of CPUs and NUMA nodes beside their topology. A file that does not exist, or is not what it
// should be, counts as empty: kernels and machines without the feature have none.
#pragma once

#include <string>

#include "hw/cpuset/types.h"

namespace nrd::cpuset {

// Without blanks around it.
std::string line_of(const std::string& path);

// `root`: of the files, "" on a host.
CpuSet online_cpus(const std::string& root = "");
// CPUs that run without the periodic tick (nohz_full=).
CpuSet read_nohz_full(const std::string& root);
CoreKinds read_core_kinds(const std::string& root);
FreeHugePages read_free_huge_pages(const std::string& root);

}  // namespace nrd::cpuset
