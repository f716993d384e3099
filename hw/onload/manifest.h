// The manifest of a version: the SHA-256 of each file at its import, in the format of sha256sum(1), so that operators
// can check a tree without nrd: `sha256sum --quiet -c SHA256SUMS`.
//
//   3f786850e387550fdab836ed7e6dc881de23001b53c8f4d3bd6b0d7b2f4b6c1a  sbin/onload_cp_server
//
// Pure; any thread.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace nrd::onload {

inline constexpr std::string_view kManifestName = "SHA256SUMS";  // at the top of the tree

using Manifest = std::map<std::string, std::string>;  // path in the tree, hash

std::string manifest_text(const Manifest& manifest);
// Hardware: not exactly the output of manifest_text().
Result<Manifest> parse_manifest(std::string_view text);

}  // namespace nrd::onload
