// What the file of a kernel module says about itself: the strings of its section .modinfo (linux/moduleinfo.h and
// linux/module.h write them there), the build id that the linker noted, and whether a signature is appended.
//
// The parser is ours: libkmod can read .modinfo but knows no build id, and of all that is in such a file nrd needs two
// sections, so less code looks at bytes that came from elsewhere. It reads 64-bit little-endian ELF (what nrd runs on),
// with bounds for everything, by pread from a descriptor that was checked before (trusted_dir.h). Compressed modules
// (.ko.xz, .ko.zst) are refused: the kernel takes them only by way of libkmod, which wants a path.
//
//   name=onload  version=9.0.2.140  vermagic=6.1.0-56-amd64 SMP preempt mod_unload modversions
//   depends=sfc_char,sfc_resource  parm=phys_mode_gid:group that may use physical addresses
//
// Any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace nrd::onload {

struct ModuleFile {
  std::string name;
  std::string version;     // empty: it has none, as sfc_resource and sfc_char
  std::string srcversion;  // empty: it has none
  std::string vermagic;    // begins with the release of the kernel that it is for
  std::string license;
  std::string build_id;              // in hex, as `file` shows it; empty: it has none
  std::vector<std::string> depends;  // modules whose symbols it uses
  std::vector<std::string> parameters;
  bool in_tree = false;  // built together with the kernel
  bool is_signed = false;
  friend bool operator==(const ModuleFile&, const ModuleFile&) = default;
};

// The release of the kernel that the module is for: "6.1.0-56-amd64".
std::string kernel_of(const ModuleFile& module);

// BadRequest: it is no module, or has no name or no vermagic. The offset of `fd` is left alone.
Result<ModuleFile> read_module_file(int fd);

// Of a module or parameter: letters, digits, "_" and "-", at most 55 characters (MODULE_NAME_LEN on 64 bits less its
// end).
bool is_module_name(std::string_view name);

}  // namespace nrd::onload
