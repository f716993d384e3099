// Makes the bytes of a kernel module: an ELF file with the sections that say what it is, and no code.
//
//   Ko().is("name", "onload").is("vermagic", "6.1.0-56-amd64 SMP ").build_id("\x12\x34").bytes()
#pragma once

#include <elf.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace nrd::testing {

class Ko {
 public:
  // A line of .modinfo.
  Ko& is(const std::string& key, const std::string& value) {
    modinfo_ += key + "=" + value + std::string(1, '\0');
    return *this;
  }
  Ko& build_id(const std::string& id) {
    note_ = word(4) + word(static_cast<uint32_t>(id.size())) + word(NT_GNU_BUILD_ID) + std::string("GNU\0", 4) + id;
    return *this;
  }
  Ko& note(std::string bytes) {
    note_ = std::move(bytes);
    return *this;
  }
  // Symbols as depmod sees them: what others may use, and what this module uses.
  Ko& exports(const std::string& symbol) {
    exported_ += symbol + std::string(1, '\0');
    return *this;
  }
  Ko& uses(const std::string& symbol) {
    Elf64_Sym undefined = {};
    undefined.st_name = static_cast<Elf64_Word>(strings_.size());
    undefined.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_NOTYPE);
    symbols_.append(reinterpret_cast<const char*>(&undefined), sizeof undefined);
    strings_ += symbol + std::string(1, '\0');
    return *this;
  }

  std::string bytes() const {
    std::vector<Section> sections{{"", "", SHT_NULL}, {".text", std::string(16, '\x90'), SHT_PROGBITS}};
    if (!note_.empty()) sections.push_back({".note.gnu.build-id", note_, SHT_NOTE});
    if (!modinfo_.empty()) sections.push_back({".modinfo", modinfo_, SHT_PROGBITS});
    if (!exported_.empty()) sections.push_back({"__ksymtab_strings", exported_, SHT_PROGBITS});
    sections.push_back({".symtab", symbols_, SHT_SYMTAB});
    sections.push_back({".strtab", strings_, SHT_STRTAB});
    std::string names;
    for (const Section& section : sections) names += section.name + std::string(1, '\0');
    const size_t own = names.size();
    names += std::string(".shstrtab\0", 10);
    sections.push_back({".shstrtab", names, SHT_STRTAB});

    std::string body(sizeof(Elf64_Ehdr), '\0');
    std::string table;
    size_t name = 0;
    for (const Section& section : sections) {
      Elf64_Shdr header = {};
      header.sh_name = static_cast<Elf64_Word>(section.name == ".shstrtab" ? own : name);
      name += section.name.size() + 1;
      header.sh_type = section.type;
      header.sh_offset = body.size();
      header.sh_size = section.content.size();
      body += section.content;
      table.append(reinterpret_cast<const char*>(&header), sizeof header);
    }
    Elf64_Ehdr file = {};
    std::memcpy(file.e_ident, ELFMAG, SELFMAG);
    file.e_ident[EI_CLASS] = ELFCLASS64;
    file.e_ident[EI_DATA] = ELFDATA2LSB;
    file.e_ident[EI_VERSION] = EV_CURRENT;
    file.e_type = ET_REL;
    file.e_machine = EM_X86_64;
    file.e_version = EV_CURRENT;
    file.e_ehsize = sizeof file;
    file.e_shoff = body.size();
    file.e_shentsize = sizeof(Elf64_Shdr);
    file.e_shnum = static_cast<Elf64_Half>(sections.size());
    file.e_shstrndx = static_cast<Elf64_Half>(sections.size() - 1);
    std::memcpy(body.data(), &file, sizeof file);
    return body + table + tail_;
  }

 private:
  struct Section {
    std::string name;
    std::string content;
    Elf64_Word type;
  };
  static std::string word(uint32_t value) { return {reinterpret_cast<const char*>(&value), sizeof value}; }

  std::string modinfo_;
  std::string note_;
  std::string exported_;
  std::string symbols_ = std::string(sizeof(Elf64_Sym), '\0');  // the first one is unused
  std::string strings_ = std::string(1, '\0');
  std::string tail_;
};

inline Ko a_module(const std::string& name, const std::string& kernel = "6.1.0-56-amd64") {
  return Ko().is("name", name).is("vermagic", kernel + " SMP preempt mod_unload modversions ").is("license", "GPL v2");
}

}  // namespace nrd::testing
