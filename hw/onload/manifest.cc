#include "hw/onload/manifest.h"

#include "base/sha256.h"
#include "hw/onload/trusted_dir.h"

namespace nrd::onload {
namespace {

constexpr std::string_view kGap = "  ";

bool is_digest(std::string_view text) {
  return text.size() == kDigestLength && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace

std::string manifest_text(const Manifest& manifest) {
  std::string text;
  for (const auto& [path, digest] : manifest) text.append(digest).append(kGap).append(path).append("\n");
  return text;
}

Result<Manifest> parse_manifest(std::string_view text) {
  Manifest manifest;
  const std::string_view whole = text;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    if (end == std::string_view::npos || !is_digest(line.substr(0, kDigestLength)) ||
        line.substr(kDigestLength, kGap.size()) != kGap || !parts_of(line.substr(kDigestLength + kGap.size()))) {
      return fail(ErrorCode::Hardware, "the manifest of a version is damaged", std::string(line));
    }
    manifest.emplace(line.substr(kDigestLength + kGap.size()), line.substr(0, kDigestLength));
    text.remove_prefix(end + 1);
  }
  if (manifest.empty() || manifest_text(manifest) != whole) {
    return fail(ErrorCode::Hardware, "the manifest of a version is damaged", "empty, unsorted or with duplicates");
  }
  return manifest;
}

}  // namespace nrd::onload
