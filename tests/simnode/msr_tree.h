// /dev/cpu over the rules of msr.h: N/msr is a file of registers (see Tree::has_registers), so the register 0x199 of
// CPU 3 is read and written as "3/msr/0x199", in hex. There is nothing in it when the node has no MSRs.
#pragma once

#include "msr.h"
#include "tree.h"

namespace nrd::simnode {

class MsrTree : public Tree {
 public:
  MsrTree(const Machine& machine, Msr& msr) : machine_(machine), msr_(msr) {}

  std::optional<mode_t> mode(const std::string& path) override;
  std::vector<std::string> list(const std::string& folder) override;
  bool has_registers(const std::string& path) override;
  int open(const std::string& path) override;
  int read(const std::string& path, std::string& content) override;
  int write(const std::string& path, std::string_view text, pid_t writer) override;

 private:
  const Machine& machine_;
  Msr& msr_;
};

}  // namespace nrd::simnode
