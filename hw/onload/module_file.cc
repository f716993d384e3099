#include "hw/onload/module_file.h"

#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <system_error>
#include <type_traits>

#include "base/hex.h"

namespace nrd::onload {
namespace {

constexpr uint64_t kFileLimit = uint64_t{256} << 20;
constexpr size_t kSectionLimit = 4096;  // a module has dozens
constexpr uint64_t kNamesLimit = uint64_t{1} << 20;
constexpr uint64_t kModinfoLimit = uint64_t{1} << 20;
constexpr uint64_t kNoteLimit = 4096;
constexpr size_t kBuildIdLimit = 64;
constexpr size_t kNameLimit = 55;
constexpr std::string_view kSignatureMark = "~Module signature appended~\n";  // linux/module_signature.h

Failure no_module(const char* why) { return fail(ErrorCode::BadRequest, std::string("not a kernel module: ") + why); }

// A file of known size, read at any place. What would lie beyond its end is refused before it is read.
class Bytes {
 public:
  Bytes(int fd, uint64_t size) : fd_(fd), size_(size) {}

  Result<std::string> at(uint64_t offset, uint64_t length) const {
    if (offset > size_ || length > size_ - offset) return no_module("it is truncated");
    std::string bytes(length, '\0');
    for (size_t have = 0; have < length;) {
      const ssize_t got = ::pread(fd_, bytes.data() + have, length - have, static_cast<off_t>(offset + have));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) {
        return fail(ErrorCode::Hardware, "cannot read a module file", std::generic_category().message(errno));
      }
      if (got == 0) return no_module("it is truncated");
      have += static_cast<size_t>(got);
    }
    return bytes;
  }

  template <typename T>
  Result<T> read(uint64_t offset) const {
    static_assert(std::is_trivially_copyable_v<T>);
    const std::string bytes = TRY(at(offset, sizeof(T)));
    T value{};
    bytes.copy(reinterpret_cast<char*>(&value), sizeof(T));
    return value;
  }

  uint64_t size() const { return size_; }

 private:
  int fd_;
  uint64_t size_;
};

// The sections of an ELF file by name.
class Sections {
 public:
  static Result<Sections> read(const Bytes& file) {
    const Elf64_Ehdr header = TRY(file.read<Elf64_Ehdr>(0));
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return no_module("it is not ELF, or it is compressed");
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_type != ET_REL ||
        header.e_shentsize != sizeof(Elf64_Shdr)) {
      return no_module("it is not relocatable 64-bit little-endian ELF");
    }
    if (header.e_shnum == 0 || header.e_shnum > kSectionLimit || header.e_shstrndx >= header.e_shnum) {
      return no_module("its section table is invalid");
    }
    const std::string table = TRY(file.at(header.e_shoff, uint64_t{header.e_shnum} * sizeof(Elf64_Shdr)));
    Sections sections;
    sections.headers_.resize(header.e_shnum);
    std::memcpy(sections.headers_.data(), table.data(), table.size());
    const Elf64_Shdr& names = sections.headers_[header.e_shstrndx];
    if (names.sh_size > kNamesLimit) return no_module("its section names are too long");
    sections.names_ = TRY(file.at(names.sh_offset, names.sh_size));
    return sections;
  }

  // nullopt: there is none of this name.
  Result<std::optional<std::string>> content(const Bytes& file, std::string_view name, uint64_t limit) const {
    for (const Elf64_Shdr& header : headers_) {
      if (header.sh_type == SHT_NOBITS || !is_called(header, name)) continue;
      if (header.sh_size > limit) return no_module("a section is too large");
      std::string bytes = TRY(file.at(header.sh_offset, header.sh_size));
      return bytes;
    }
    return std::nullopt;
  }

 private:
  bool is_called(const Elf64_Shdr& header, std::string_view name) const {
    if (header.sh_name >= names_.size()) return false;
    const std::string_view rest = std::string_view(names_).substr(header.sh_name);
    return rest.substr(0, rest.find('\0')) == name;
  }

  std::vector<Elf64_Shdr> headers_;
  std::string names_;
};

// An ELF note: sizes of name and content, its type, both padded to four bytes. Empty: this is no build id.
std::string build_id_of(std::string_view note) {
  Elf64_Nhdr header;
  if (note.size() < sizeof header) return {};
  std::memcpy(&header, note.data(), sizeof header);
  note.remove_prefix(sizeof header);
  constexpr std::string_view kOwner("GNU\0", 4);
  if (header.n_type != NT_GNU_BUILD_ID || header.n_namesz != kOwner.size() || !note.starts_with(kOwner)) return {};
  note.remove_prefix(kOwner.size());
  if (header.n_descsz > note.size() || header.n_descsz > kBuildIdLimit) return {};
  return hex_of(note.substr(0, header.n_descsz));
}

void split_names(std::string_view list, std::vector<std::string>& names) {
  while (!list.empty()) {
    const size_t comma = list.find(',');
    if (comma != 0) names.emplace_back(list.substr(0, comma));
    list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
  }
}

// Strings "key=value", each with its end, and padding between them. What is asked once counts where it stands first.
void parse_modinfo(std::string_view section, ModuleFile& module) {
  const auto once = [](std::string& field, std::string_view value) {
    if (field.empty()) field = value;
  };
  while (!section.empty()) {
    const size_t end = section.find('\0');
    const std::string_view line = section.substr(0, end);
    section.remove_prefix(end == std::string_view::npos ? section.size() : end + 1);
    const size_t equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view key = line.substr(0, equals);
    const std::string_view value = line.substr(equals + 1);
    if (key == "name") once(module.name, value);
    if (key == "version") once(module.version, value);
    if (key == "srcversion") once(module.srcversion, value);
    if (key == "vermagic") once(module.vermagic, value);
    if (key == "license") once(module.license, value);
    if (key == "intree") module.in_tree = value == "Y";
    if (key == "depends") split_names(value, module.depends);
    // "parm=name:description" where there is a description, "parmtype=name:type" for each.
    if (key == "parm" || key == "parmtype") module.parameters.emplace_back(value.substr(0, value.find(':')));
  }
  std::sort(module.parameters.begin(), module.parameters.end());
  module.parameters.erase(std::unique(module.parameters.begin(), module.parameters.end()), module.parameters.end());
}

Result<bool> has_signature(const Bytes& file) {
  if (file.size() < kSignatureMark.size()) return false;
  const std::string tail = TRY(file.at(file.size() - kSignatureMark.size(), kSignatureMark.size()));
  return tail == kSignatureMark;
}

}  // namespace

std::string kernel_of(const ModuleFile& module) { return module.vermagic.substr(0, module.vermagic.find(' ')); }

bool is_module_name(std::string_view name) {
  constexpr std::string_view kAllowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
  return !name.empty() && name.size() <= kNameLimit && name.find_first_not_of(kAllowed) == std::string_view::npos;
}

Result<ModuleFile> read_module_file(int fd) {
  struct stat what = {};
  if (::fstat(fd, &what) != 0) {
    return fail(ErrorCode::Hardware, "cannot read a module file", std::generic_category().message(errno));
  }
  if (what.st_size < 0 || static_cast<uint64_t>(what.st_size) > kFileLimit) return no_module("it is too large");
  const Bytes file(fd, static_cast<uint64_t>(what.st_size));
  const Sections sections = TRY(Sections::read(file));
  const std::optional<std::string> modinfo = TRY(sections.content(file, ".modinfo", kModinfoLimit));
  if (!modinfo) return no_module("it has no section .modinfo");
  const std::optional<std::string> note = TRY(sections.content(file, ".note.gnu.build-id", kNoteLimit));
  const bool is_signed = TRY(has_signature(file));

  ModuleFile module;
  parse_modinfo(*modinfo, module);
  if (!is_module_name(module.name)) return no_module("it has no valid name");
  if (module.vermagic.empty()) return no_module("it has no vermagic");
  if (!std::all_of(module.depends.begin(), module.depends.end(), is_module_name)) {
    return no_module("its dependencies are invalid");
  }
  module.build_id = build_id_of(note.value_or(""));
  module.is_signed = is_signed;
  return module;
}

}  // namespace nrd::onload
