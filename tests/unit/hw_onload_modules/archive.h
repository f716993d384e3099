// Makes tar archives byte by byte, also such as no program would make.
//
//   Tar().folder("usr/").file("usr/bin/onload", "text", 0755).bytes()
#pragma once

#include <archive.h>
#include <archive_entry.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <string>

namespace nrd::testing {

class Tar {
 public:
  Tar& file(const std::string& name, const std::string& content, unsigned mode = 0644) {
    return entry(name, '0', content, "", mode);
  }
  Tar& folder(const std::string& name) { return entry(name, '5', "", "", 0755); }
  Tar& symlink(const std::string& name, const std::string& target) { return entry(name, '2', "", target, 0777); }
  Tar& hardlink(const std::string& name, const std::string& existing) { return entry(name, '1', "", existing, 0644); }
  // '3' and '4' are devices, '6' is a FIFO.
  Tar& special(const std::string& name, char type) { return entry(name, type, "", "", 0644); }

  // With the two empty blocks that end it.
  std::string bytes() const { return blocks_ + std::string(1024, '\0'); }
  const std::string& blocks() const { return blocks_; }

 private:
  Tar& entry(const std::string& name, char type, const std::string& content, const std::string& target, unsigned mode) {
    std::array<char, 512> header{};
    std::memcpy(header.data(), name.data(), std::min(name.size(), size_t{100}));
    std::snprintf(&header[100], 8, "%07o", mode);
    std::snprintf(&header[108], 8, "%07o", 1234U);  // ignored when unpacked
    std::snprintf(&header[116], 8, "%07o", 1234U);
    std::snprintf(&header[124], 12, "%011zo", content.size());
    std::snprintf(&header[136], 12, "%011o", 0U);
    header[156] = type;
    std::memcpy(&header[157], target.data(), std::min(target.size(), size_t{100}));
    std::memcpy(&header[257],
                "ustar\0"
                "00",
                8);
    std::memset(&header[148], ' ', 8);
    unsigned sum = 0;
    for (const char c : header) sum += static_cast<unsigned char>(c);
    std::snprintf(&header[148], 7, "%06o", sum);
    blocks_.append(header.data(), header.size());
    blocks_ += content + std::string((512 - content.size() % 512) % 512, '\0');
    return *this;
  }

  std::string blocks_;
};

// By one of archive_write_add_filter_*.
inline std::string compressed(const std::string& bytes, int (*filter)(archive*)) {
  archive* const out = ::archive_write_new();
  std::string packed(bytes.size() + 65536, '\0');
  size_t used = 0;
  ::archive_write_set_format_raw(out);
  filter(out);
  ::archive_write_set_bytes_per_block(out, 0);
  ::archive_write_open_memory(out, packed.data(), packed.size(), &used);
  archive_entry* const entry = ::archive_entry_new();
  ::archive_entry_set_filetype(entry, AE_IFREG);
  ::archive_write_header(out, entry);
  ::archive_write_data(out, bytes.data(), bytes.size());
  ::archive_entry_free(entry);
  ::archive_write_close(out);
  ::archive_write_free(out);
  packed.resize(used);
  return packed;
}

}  // namespace nrd::testing
