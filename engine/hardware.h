// The whole node as the engine sees it. daemon/hardware.cc joins the hardware rooms behind it; tests have a fake one.
#pragma once

#include <string>

#include "base/result.h"
#include "hw/rdt/types.h"

namespace nrd {

// Never stored, always computed: setting_of() in engine/setting.h. A new resource is a new field.
struct Setting {
  rdt::Setting rdt;
  friend bool operator==(const Setting&, const Setting&) = default;
};

struct Observed {
  rdt::Observed rdt;
  friend bool operator==(const Observed&, const Observed&) = default;
};

struct NodeFacts {
  std::string boot_id;  // /proc/sys/kernel/random/boot_id
  rdt::Node rdt;
  friend bool operator==(const NodeFacts&, const NodeFacts&) = default;
};

// Called by the engine thread only.
class Hardware {
 public:
  virtual ~Hardware() = default;
  virtual Result<NodeFacts> discover() = 0;
  virtual Result<Observed> observe() = 0;
  virtual Result<void> converge(const Setting& wanted) = 0;
};

}  // namespace nrd
