// Masks of classes of service through the files of resctrl (Documentation/filesystems/resctrl), without libpqos.
#pragma once

#include "hw/rdt/mask_writer.h"

namespace nrd::rdt {

class ResctrlWriter final : public MaskWriter {
 public:
  Result<void> set_ways(const WaysWrite& write, bool cdp) override;
};

}  // namespace nrd::rdt
