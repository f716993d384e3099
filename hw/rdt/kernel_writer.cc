#include "hw/rdt/kernel_writer.h"

#include <string>

#include "hw/rdt/resctrl.h"

namespace nrd::rdt {

Result<std::unique_ptr<ClassWriter>> KernelWriter::start() {
  constexpr uint32_t kMost = 1024;  // more than any part has; so that a tree that refuses nothing is an end, too
  for (ClosId clos{1}; clos.value < kMost; ++clos.value) {
    const Result<bool> made = make_group(clos);
    if (!made) return Failure(made.error());
    if (!*made) break;
  }
  return std::unique_ptr<ClassWriter>(new KernelWriter);
}

Result<void> KernelWriter::set_ways(const Level& level, const WaysWrite& write) {
  const auto line = [&](const char* of, WayMask ways) {
    return "L" + std::to_string(level.number) + of + ":" + std::to_string(write.cache.value) + "=" + ways.hex() + "\n";
  };
  const Split split = write.split.value_or(Split{.code = write.ways, .data = write.ways});
  return write_line(directory_of(write.clos), "schemata",
                    level.cdp ? line("CODE", split.code) + line("DATA", split.data) : line("", write.ways));
}

}  // namespace nrd::rdt
