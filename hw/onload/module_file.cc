#include "hw/onload/module_file.h"

#include <libelf.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "base/ascii.h"
#include "base/errno_text.h"
#include "base/invariant.h"
#include "base/split.h"
#include "hw/onload/build_id.h"

namespace nrd::onload {
namespace {

constexpr off_t kFileLimit = off_t{256} << 20;
constexpr size_t kSectionLimit = size_t{1} << 20;  // bytes of one section
constexpr size_t kNameLimit = 55;

Failure not_a_module(const char* why) {
  return fail(ErrorCode::BadRequest, std::string("not a kernel module: ") + why);
}

using ElfFile = std::unique_ptr<Elf, int (*)(Elf*)>;

Result<ElfFile> open_elf(int fd) {
  INVARIANT(::elf_version(EV_CURRENT) != EV_NONE);
  ElfFile file(::elf_begin(fd, ELF_C_READ, nullptr), &::elf_end);
  if (::elf_kind(file.get()) != ELF_K_ELF) return not_a_module("it is not ELF, or it is compressed");
  const Elf64_Ehdr* header = ::elf64_getehdr(file.get());
  if (header == nullptr || header->e_ident[EI_DATA] != ELFDATA2LSB || header->e_type != ET_REL) {
    return not_a_module("it is not relocatable 64-bit little-endian ELF");
  }
  return file;
}

// nullopt: the section does not exist.
Result<std::optional<std::string_view>> section_of(Elf* file, std::string_view name) {
  size_t names = 0;
  if (::elf_getshdrstrndx(file, &names) != 0) return not_a_module("its section table is invalid");
  const Elf64_Shdr* names_header = ::elf64_getshdr(::elf_getscn(file, names));
  if (names_header == nullptr || names_header->sh_size > kSectionLimit) {
    return not_a_module("its section table is invalid");
  }
  for (Elf_Scn* section = ::elf_nextscn(file, nullptr); section != nullptr; section = ::elf_nextscn(file, section)) {
    const Elf64_Shdr* header = ::elf64_getshdr(section);
    const char* found = header == nullptr ? nullptr : ::elf_strptr(file, names, header->sh_name);
    if (found == nullptr || name != found || header->sh_type == SHT_NOBITS) continue;
    if (header->sh_size > kSectionLimit) return not_a_module("a section is too large");
    const Elf_Data* data = ::elf_rawdata(section, nullptr);
    if (data == nullptr) return not_a_module("it is truncated");
    return std::string_view(static_cast<const char*>(data->d_buf), data->d_size);
  }
  return std::nullopt;
}

// NUL-terminated strings "key=value", with padding between them. The first value of a key counts.
void parse_modinfo(std::string_view section, ModuleFile& module) {
  const auto once = [](std::string& field, std::string_view value) {
    if (field.empty()) field = value;
  };
  for (const std::string_view line : split(section, std::string_view("\0", 1))) {
    const size_t equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view key = line.substr(0, equals);
    const std::string_view value = line.substr(equals + 1);
    if (key == "name") once(module.name, value);
    if (key == "version") once(module.version, value);
    if (key == "vermagic") once(module.vermagic, value);
    if (key == "depends") {
      for (const std::string_view name : split(value, ",")) module.depends.emplace_back(name);
    }
    // "parmtype=name:type" for each parameter, "parm=name:description" if it has a description.
    if (key == "parm" || key == "parmtype") module.parameters.emplace_back(value.substr(0, value.find(':')));
  }
  std::ranges::sort(module.parameters);
  module.parameters.erase(std::unique(module.parameters.begin(), module.parameters.end()), module.parameters.end());
}

}  // namespace

std::string kernel_of(const ModuleFile& module) { return module.vermagic.substr(0, module.vermagic.find(' ')); }

bool is_module_name(std::string_view name) { return name.size() <= kNameLimit && is_word(name, "_-"); }

Result<ModuleFile> read_module_file(int fd) {
  struct stat what = {};
  if (::fstat(fd, &what) != 0) {
    return fail(ErrorCode::Hardware, "cannot read a module file", errno_text());
  }
  if (what.st_size > kFileLimit) return not_a_module("it is too large");
  const ElfFile file = TRY(open_elf(fd));
  const std::optional<std::string_view> modinfo = TRY(section_of(file.get(), ".modinfo"));
  if (!modinfo) return not_a_module("it has no section .modinfo");
  const std::optional<std::string_view> notes = TRY(section_of(file.get(), ".note.gnu.build-id"));

  ModuleFile module;
  parse_modinfo(*modinfo, module);
  if (!is_module_name(module.name)) return not_a_module("it has no valid name");
  if (module.vermagic.empty()) return not_a_module("it has no vermagic");
  if (!std::ranges::all_of(module.depends, is_module_name)) {
    return not_a_module("its dependencies are invalid");
  }
  module.build_id = parse_build_id(notes.value_or("")).value_or("");
  return module;
}

}  // namespace nrd::onload
