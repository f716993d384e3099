// CPU lists: what is taken prints in canonical form, which is taken again as the same set.
#include "base/cpu_set.h"
#include "tests/fuzz/one_input.h"

int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const auto cpus = nrd::CpuSet::parse(nrd::fuzz::as_text(bytes, size));
  if (!cpus) return 0;
  const auto again = nrd::CpuSet::parse(cpus->to_string());
  nrd::fuzz::promise(again && *again == *cpus && cpus->size() <= nrd::CpuSet::kMaxCpus);
  return 0;
}
