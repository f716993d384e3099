// Masks of classes of service through the files of resctrl (Documentation/filesystems/resctrl), without libpqos.
#pragma once

#include "hw/rdt/class_writer.h"

namespace nrd::rdt {

class KernelWriter final : public ClassWriter {
 public:
  Result<void> set_ways(const Level& level, const WaysWrite& write) override;
};

}  // namespace nrd::rdt
