// The folder info of resctrl: which files there are on a part by this vendor under this kernel, and what they say.
// What has to do with monitoring is in monitor_tree.h.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "resctrl.h"

namespace nrd::simnode {

class ResctrlInfo {
 public:
  ResctrlInfo(const Machine& machine, Resctrl& resctrl) : machine_(machine), resctrl_(resctrl) {}

  std::optional<mode_t> mode(const std::string& path) const;
  std::vector<std::string> list(const std::string& folder) const;
  int read(const std::string& path, std::string& content);
  int write(const std::string& path, std::string_view text);

 private:
  std::optional<MaskKind> mask_kind(const std::string& folder) const;  // whose folder that is
  std::vector<std::string> cache_files() const;
  std::vector<std::string> mb_files() const;
  int read_io_alloc(const MaskKind& kind, const std::string& file, std::string& content);
  std::string cache_file(const MaskKind& kind, const std::string& file) const;
  std::string mb_file(const std::string& file) const;

  const Machine& machine_;
  Resctrl& resctrl_;
};

}  // namespace nrd::simnode
