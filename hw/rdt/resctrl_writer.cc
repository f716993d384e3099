#include "hw/rdt/resctrl_writer.h"

#include <string>

#include "hw/rdt/groups.h"
#include "hw/rdt/resctrl.h"

namespace nrd::rdt {

Result<void> ResctrlWriter::set_ways(const WaysWrite& write, bool cdp) {
  const auto line = [&](const char* of, WayMask ways) {
    return "L" + std::to_string(write.cache.level) + of + ":" + std::to_string(write.cache.value) + "=" + ways.hex() +
           "\n";
  };
  const Split split = write.split.value_or(Split{.code = write.ways, .data = write.ways});
  return write_line(directory_of(write.clos), "schemata",
                    cdp ? line("CODE", split.code) + line("DATA", split.data) : line("", write.ways));
}

}  // namespace nrd::rdt
