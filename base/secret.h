// A text that must not stay in memory: a password, or a header that contains one.
//
// It is stored on the heap in one piece and is never copied; moving it moves the pointer. The destructor overwrites it.
// It cannot be logged by accident: readers must call view().
#pragma once

#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

namespace nrd {

// A guaranteed overwrite: a compiler may remove a memset() of memory that is not read again.
inline void wipe(std::span<char> bytes) {
  if (!bytes.empty()) ::explicit_bzero(bytes.data(), bytes.size());
}

class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string_view text) : bytes_(new char[text.size()]), size_(text.size()) {
    text.copy(bytes_.get(), text.size());
  }
  // `size` zero bytes, to be filled through bytes().
  explicit Secret(size_t size) : bytes_(new char[size]()), size_(size) {}
  Secret(Secret&& other) noexcept : bytes_(std::move(other.bytes_)), size_(std::exchange(other.size_, 0)) {}
  Secret& operator=(Secret&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~Secret() { wipe(bytes()); }

  bool empty() const { return size_ == 0; }
  std::string_view view() const { return {bytes_.get(), size_}; }
  std::span<char> bytes() { return {bytes_.get(), size_}; }
  void shorten(size_t size) {
    wipe(bytes().subspan(size));
    size_ = size;
  }

 private:
  std::unique_ptr<char[]> bytes_;
  size_t size_ = 0;
};

}  // namespace nrd
