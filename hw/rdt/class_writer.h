// Who writes the masks of classes of service: libpqos (pqos.h), or where it does not start because a group of others
// holds a class it wants for itself, this room through the kernel's files (kernel_writer.h). Both write the same;
// nothing is believed before it is read back.
#pragma once

#include "base/result.h"
#include "hw/rdt/write_order.h"

namespace nrd::rdt {

class ClassWriter {
 public:
  virtual ~ClassWriter() = default;
  // Of level 2 or 3; with CDP both masks, that of code and that of data.
  virtual Result<void> set_ways(unsigned level, const WaysWrite& write) = 0;
};

}  // namespace nrd::rdt
