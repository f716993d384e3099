#include "base/sha256.h"

#include <openssl/evp.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <vector>

#include "base/errno_text.h"
#include "base/hex.h"
#include "base/invariant.h"

namespace nrd {
namespace {

constexpr size_t kBlock = size_t{1} << 16;

}  // namespace

Sha256::Sha256() : context_(::EVP_MD_CTX_new(), &::EVP_MD_CTX_free) {
  // Fails only without memory or providers.
  INVARIANT(::EVP_DigestInit_ex(context_.get(), ::EVP_sha256(), nullptr) == 1);
}

void Sha256::add(std::string_view bytes) {
  INVARIANT(::EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1);
}

std::string Sha256::take() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned int size = 0;
  INVARIANT(::EVP_DigestFinal_ex(context_.get(), digest.data(), &size) == 1 && size == kDigestLength / 2);
  return hex_of({reinterpret_cast<const char*>(digest.data()), size});
}

std::string sha256_of(std::string_view text) {
  Sha256 digest;
  digest.add(text);
  return digest.take();
}

Result<std::string> sha256_of(int fd) {
  Sha256 digest;
  std::vector<char> block(kBlock);
  for (off_t at = 0;;) {
    const ssize_t got = ::pread(fd, block.data(), block.size(), at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      return fail(ErrorCode::Hardware, "cannot read a file", errno_text());
    }
    if (got == 0) return digest.take();
    digest.add({block.data(), static_cast<size_t>(got)});
    at += got;
  }
}

}  // namespace nrd
