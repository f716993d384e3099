// Who writes the masks of classes of service: libpqos (pqos.h), or where it does not start because a group of others
// holds a class it wants for itself, this room through the kernel's files (kernel_writer.h). Both write the same;
// nothing is believed before it is read back.
#pragma once

#include "base/result.h"
#include "hw/rdt/write_order.h"

namespace nrd::rdt {

// Of caches.
struct Level {
  unsigned number = 3;  // 2 or 3
  bool cdp = false;     // both masks are written, that of code and that of data
};

class ClassWriter {
 public:
  virtual ~ClassWriter() = default;
  virtual Result<void> set_ways(const Level& level, const WaysWrite& write) = 0;
};

}  // namespace nrd::rdt
