// Unpacks tar archives into a version tree under construction. The home of libarchive's reader.
//
// Plain tar (ustar, pax, GNU), also compressed by gzip, bzip2, xz or zstd, all inside the library. libarchive reads
// from a descriptor and returns names and bytes; it writes nothing, so Staging alone decides what is created. One
// thread; blocking.
#pragma once

#include "base/result.h"
#include "hw/onload/staging.h"

namespace nrd::onload {

// BadRequest: not such an archive, truncated, or with entries that a tree must not have.
Result<void> unpack_tar(int file, Staging& into);

}  // namespace nrd::onload
