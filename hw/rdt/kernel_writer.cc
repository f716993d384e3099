#include "hw/rdt/kernel_writer.h"

#include <string>

#include "hw/rdt/resctrl.h"

namespace nrd::rdt {

Result<std::unique_ptr<ClassWriter>> KernelWriter::start(bool cdp) {
  constexpr uint32_t kMost = 1024;  // more than any part has; so that a tree that refuses nothing is an end, too
  for (ClosId clos{1}; clos.value < kMost; ++clos.value) {
    const Result<bool> made = make_group(clos);
    if (!made) return Failure(made.error());
    if (!*made) break;
  }
  return std::unique_ptr<ClassWriter>(new KernelWriter(cdp));
}

Result<void> KernelWriter::set_ways(unsigned level, ClosId clos, CacheId cache, WayMask ways) {
  const std::string name = "L" + std::to_string(level);
  const std::string value = ":" + std::to_string(cache.value) + "=" + ways.hex() + "\n";
  return write_line(directory_of(clos), "schemata",
                    cdp_ ? name + "CODE" + value + name + "DATA" + value : name + value);
}

}  // namespace nrd::rdt
