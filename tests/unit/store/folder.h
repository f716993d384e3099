// A folder for a database, gone with the test.
#pragma once

#include <string>

#include "tests/support/temporary_tree.h"

namespace nrd::testing {

class Folder : public TemporaryTree {
 public:
  std::string state() const { return path("state"); }
  std::string database() const { return state() + "/nrd.db"; }
  std::string other() const { return path("other"); }
};

}  // namespace nrd::testing
