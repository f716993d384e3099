#include "hw/onload/refcount_audit.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <map>
#include <ostream>

#include "base/unique_fd.h"

namespace nrd::onload::refcount_audit_test {
namespace {

OpenFile file(int fd, HandleKind kind = HandleKind::Stack) { return {.pid = 5, .fd = fd, .kind = kind}; }

}  // namespace

TEST_CASE("each open device is two references and each socket one") {
  struct Row {
    const char* module;
    uint32_t references;
    std::vector<OpenFile> files;
    uint32_t unexplained;
  };
  const OpenFile device = file(3);
  const OpenFile epoll = file(4, HandleKind::Epoll);
  const OpenFile socket = file(5, HandleKind::Socket);
  const OpenFile character = file(6, HandleKind::Char);
  for (const Row& row :
       {Row{"onload", 0, {}, 0}, Row{"onload", 1, {}, 1}, Row{"onload", 2, {device}, 0}, Row{"onload", 3, {device}, 1},
        Row{"onload", 5, {device, epoll, socket}, 0}, Row{"onload", 6, {device, epoll, socket}, 1},
        Row{"onload", 2, {character}, 2}, Row{"sfc_char", 2, {character, device}, 0},
        Row{"sfc_char", 4, {character}, 2}, Row{"sfc_resource", 1, {device, character}, 1}}) {
    INFO(row.module << ", " << row.references << " references, " << row.files.size() << " files");
    CHECK(unexplained(row.module, row.references, row.files) == row.unexplained);
  }
}

TEST_CASE("a module that takes one reference per device is explained as well") {
  CHECK(unexplained("onload", 2, {file(3), file(4)}) == 0);
  CHECK(unexplained("onload", 3, {file(3), file(4)}) == 1);
  CHECK(unexplained("onload", 1, {file(3), file(4)}) == 0);
}

TEST_CASE("descriptors that share a file count as one file") {
  // Descriptor -> file behind it.
  const std::map<int, int> behind = {{3, 70}, {4, 10}, {5, 70}, {6, 30}, {7, 10}, {8, 20}};
  const FileOrder order = [&behind](const OpenFile& a, const OpenFile& b) {
    return std::optional(behind.at(a.fd) <=> behind.at(b.fd));
  };
  const std::vector<OpenFile> files = {file(3), file(4), file(5), file(6), file(7), file(8)};
  CHECK(distinct_files(files, order) == std::vector<OpenFile>{file(4), file(8), file(6), file(3)});
  CHECK(distinct_files({}, order).empty());
}

TEST_CASE("descriptors that cannot be compared count as one, so that no reference is wrongly explained") {
  const FileOrder unknown = [](const OpenFile&, const OpenFile&) -> std::optional<std::strong_ordering> {
    return std::nullopt;
  };
  CHECK(distinct_files({file(3), file(4), file(5)}, unknown) == std::vector<OpenFile>{file(3)});
}

TEST_CASE("the kernel distinguishes a duplicated descriptor from a second open") {
  const UniqueFd first(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const UniqueFd copy(::fcntl(first.get(), F_DUPFD_CLOEXEC, 0));
  const UniqueFd second(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const auto of_this = [](const UniqueFd& fd) {
    return OpenFile{.pid = ::getpid(), .fd = fd.get(), .kind = HandleKind::Stack};
  };
  const std::vector<OpenFile> files = {of_this(first), of_this(copy), of_this(second)};
  // Without kcmp in the kernel files cannot be distinguished, and all count as one.
  const bool is_ordered = order_of_files(files[0], files[1]).has_value();
  CHECK(distinct_files(files, order_of_files).size() == (is_ordered ? 2 : 1));
  CHECK(order_of_files({.pid = ::getpid(), .fd = -1, .kind = HandleKind::Stack}, files[0]) == std::nullopt);
}

}  // namespace nrd::onload::refcount_audit_test
