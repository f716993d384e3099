// Checks whether the open files that were found explain the reference count of a module.
//
// The count includes one reference for each dependent module (holders), two for each open device, of the device and its
// file operations (chrdev_open() in fs/char_dev.c; both owners are set in Onload's src/include/ci/driver/chrdev.h; seen
// on 6.1), and one for each Onload socket. The rest belongs to handles that cannot be seen: a descriptor in flight on a
// Unix socket, one held by io_uring or by a thread with its own files, a mapping without descriptor.
//
// fork(2) and dup(2) share one file among descriptors, so files are compared with kcmp(2).
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

// Orders the files of two descriptors; equal: the same file; nullopt: unknown.
using FileOrder = std::function<std::optional<std::strong_ordering>(const OpenFile&, const OpenFile&)>;

// Uses kcmp(2).
std::optional<std::strong_ordering> order_of_files(const OpenFile& a, const OpenFile& b);

// Removes duplicate descriptors of one file. Files that cannot be compared count as one, so that references are rather
// left unexplained than missed.
std::vector<OpenFile> distinct_files(const std::vector<OpenFile>& files, const FileOrder& order);

// How many of `references` (without holders) are not explained by `distinct`. A device explains two references, or one
// for modules that take only one.
uint32_t unexplained(std::string_view module, uint32_t references, const std::vector<OpenFile>& distinct);

}  // namespace nrd::onload
