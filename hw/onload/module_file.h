// Reads what a kernel module file says about itself: the strings of its section .modinfo (linux/moduleinfo.h and
// linux/module.h write them), and the build ID. The home of libelf.
//
// libkmod can read .modinfo, but no build ID, and only by path; here the descriptor was already checked
// (trusted_dir.h). Compressed modules (.ko.xz, .ko.zst) are refused: finit_module(2) does not accept them.
//
//   name=onload  version=9.0.2.140  vermagic=6.1.0-56-amd64 SMP preempt mod_unload modversions
//   depends=sfc_char,sfc_resource  parm=phys_mode_gid:group that may use physical addresses
//
// Any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "hw/onload/types.h"

namespace nrd::onload {

// The release of the module's kernel: "6.1.0-56-amd64".
std::string kernel_of(const ModuleFile& module);

// BadRequest: not a module, or one without name or vermagic. Keeps the offset of `fd`.
Result<ModuleFile> read_module_file(int fd);

// The name of a module or parameter: letters, digits, "_" and "-", at most 55 (MODULE_NAME_LEN - 1).
bool is_module_name(std::string_view name);

}  // namespace nrd::onload
