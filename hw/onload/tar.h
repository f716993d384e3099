// Tar archives into a version tree in the making. The home of libarchive.
//
// Plain tar (ustar, pax, GNU), also compressed by gzip, bzip2, xz or zstd, all inside the library: no program is run.
// libarchive gets only bytes of an open file and hands out names and bytes; nothing is written by it, so its options
// for extracting safely are not needed: what may come to be is decided by Staging. One thread; blocking.
#pragma once

#include "base/result.h"
#include "hw/onload/staging.h"

namespace nrd::onload {

// BadRequest: it is no such archive, is cut off, or holds what a tree may not have.
Result<void> unpack_tar(int file, Staging& into);

}  // namespace nrd::onload
