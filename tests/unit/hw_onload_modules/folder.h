// A temporary folder in place of "/". The user who runs the test owns it, and is trusted as root would be. A test
// creates what it needs in it, also files that must not be trusted.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "hw/onload/trusted_dir.h"
#include "tests/support/temporary_tree.h"

namespace nrd::testing {

class Folder : public TemporaryTree {
 public:
  Folder() { ::umask(022); }
  onload::Trust trust() const { return {.root = root(), .owner = ::geteuid()}; }
};

// All that can be read from a descriptor from here on.
inline std::string content_of(const UniqueFd& fd) {
  std::string text(size_t{1} << 16, '\0');
  const ssize_t got = ::read(fd.get(), text.data(), text.size());
  text.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return text;
}

}  // namespace nrd::testing
