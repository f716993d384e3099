// Whether the references to a module are explained by the files that were found open.
//
// A module counts how often it is in use, not by whom. Each module that needs it is one of that number (holders). Each
// open device is two: the kernel takes one for the device and one for its functions (chrdev_open() in fs/char_dev.c;
// both owners are set in Onload's src/include/ci/driver/chrdev.h; seen on 6.1), and a socket of Onload is one. What is
// left over belongs to somebody who cannot be seen: a descriptor on its way through a Unix socket, one that io_uring or
// a thread with files of its own keeps, a mapping without descriptor.
//
// Descriptors are not files: fork(2) and dup(2) share one file among many of them. They are told apart with kcmp(2).
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "hw/onload/open_handles.h"

namespace nrd::onload {

// In what order two descriptors' files are, equal for one file; nullopt: it cannot be told.
using FileOrder = std::function<std::optional<std::strong_ordering>(const OpenFile&, const OpenFile&)>;

// By kcmp(2), of processes of this host.
std::optional<std::strong_ordering> order_of_files(const OpenFile& a, const OpenFile& b);

// Files that several descriptors share, once each. Where it cannot be told two count as one: rather a reference too
// many without an explanation than one too few.
std::vector<OpenFile> distinct_files(const std::vector<OpenFile>& files, const FileOrder& order);

// How many of `references` (without those of holders) `files` do not explain. A device of a module that takes one
// reference only explains one.
uint32_t unexplained(std::string_view module, uint32_t references, const std::vector<OpenFile>& distinct);

}  // namespace nrd::onload
