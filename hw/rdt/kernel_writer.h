// Classes of service through the files of resctrl (Documentation/filesystems/resctrl), without libpqos.
#pragma once

#include <memory>

#include "hw/rdt/class_writer.h"

namespace nrd::rdt {

class KernelWriter final : public ClassWriter {
 public:
  // Makes the groups COS1, COS2, … as long as the kernel has classes for them.
  static Result<std::unique_ptr<ClassWriter>> start();

  Result<void> set_ways(const Level& level, const WaysWrite& write) override;

 private:
  KernelWriter() = default;
};

}  // namespace nrd::rdt
