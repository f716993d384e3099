// What the tree of a version held when it was imported: each file with its SHA-256, as sha256sum(1) writes and reads
// them, so that an operator can check a tree without nrd: `sha256sum --quiet -c SHA256SUMS`.
//
//   3f786850e387550fdab836ed7e6dc881de23001b53c8f4d3bd6b0d7b2f4b6c1a  sbin/onload_cp_server
//
// More is not kept. What a module says of itself stands in the module, and a file with the right hash says it still.
// Pure; any thread.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace nrd::onload {

inline constexpr std::string_view kManifestName = "SHA256SUMS";  // at the top of the tree

using Manifest = std::map<std::string, std::string>;  // path in the tree, hash

std::string render_manifest(const Manifest& manifest);
// Hardware error if it is not exactly what render_manifest() writes.
Result<Manifest> parse_manifest(std::string_view text);

}  // namespace nrd::onload
