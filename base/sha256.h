// SHA-256 in hex, as sha256sum(1) writes it. Any thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

struct evp_md_ctx_st;  // OpenSSL's EVP_MD_CTX

namespace nrd {

inline constexpr size_t kDigestLength = 64;  // characters

class Sha256 {
 public:
  Sha256();

  void add(std::string_view bytes);
  // The digest of all added bytes. Call once.
  std::string take();

 private:
  std::unique_ptr<evp_md_ctx_st, void (*)(evp_md_ctx_st*)> context_;
};

std::string sha256_of(std::string_view text);
// Of a whole file. Keeps the offset of `fd`.
Result<std::string> sha256_of(int fd);

}  // namespace nrd
