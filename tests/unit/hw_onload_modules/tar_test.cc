#include "hw/onload/tar.h"

#include <doctest/doctest.h>
#include <fcntl.h>

#include <ostream>

#include "tests/unit/hw_onload_modules/archive.h"
#include "tests/unit/hw_onload_modules/folder.h"

namespace nrd::onload::tar_test {

using nrd::testing::compressed;
using nrd::testing::Folder;
using nrd::testing::Tar;

namespace {

// Unpacks it next to a version "9" that is not there yet.
Result<void> unpack(Folder& folder, const std::string& bytes, const TreeLimits& limits = {}) {
  folder.put("archive.tar", bytes);
  const TrustedDir versions = TrustedDir::open(folder.trust(), "/").value();
  Result<Staging> staging = Staging::begin(versions, "9", limits);
  const UniqueFd file(::open(folder.path("archive.tar").c_str(), O_RDONLY | O_CLOEXEC));
  if (Result<void> unpacked = unpack_tar(file.get(), *staging); !unpacked) return unpacked;
  if (Result<void> completed = staging->complete(); !completed) return completed;
  return staging->publish();
}

std::string why_not(const std::string& bytes, const TreeLimits& limits = {}) {
  Folder folder;
  const Result<void> unpacked = unpack(folder, bytes, limits);
  CHECK_FALSE(folder.has(".import-9"));
  return unpacked ? "it was unpacked" : unpacked.error().message;
}

Tar a_tree() {
  return Tar()
      .folder("./")
      .folder("./usr/")
      .file("./usr/lib64/libx.so.1", "library")
      .symlink("./usr/lib64/libx.so", "libx.so.1")
      .hardlink("./usr/lib64/liby.so", "./usr/lib64/libx.so.1")
      .file("sbin/onload_cp_server", std::string(100000, 's'), 06755);
}

}  // namespace

TEST_CASE("an archive becomes a tree") {
  Folder folder;
  REQUIRE(unpack(folder, a_tree().bytes()).has_value());
  for (const char* path : {"9/usr/lib64/libx.so.1", "9/usr/lib64/libx.so", "9/usr/lib64/liby.so"}) {
    CHECK(folder.get(path) == "library");
  }
  CHECK(folder.get("9/sbin/onload_cp_server") == std::string(100000, 's'));
}

TEST_CASE("no extracted file is setuid or has a foreign owner") {
  Folder folder;
  REQUIRE(unpack(folder, a_tree().bytes()).has_value());
  CHECK(folder.mode("9/sbin/onload_cp_server") == 0755);
  CHECK(folder.mode("9/usr/lib64/libx.so.1") == 0644);
  struct stat what = {};
  REQUIRE(::stat(folder.path("9/sbin/onload_cp_server").c_str(), &what) == 0);
  CHECK(what.st_uid == ::geteuid());
}

TEST_CASE("compressed archives are accepted") {
  for (const auto filter : {&::archive_write_add_filter_gzip, &::archive_write_add_filter_bzip2,
                            &::archive_write_add_filter_xz, &::archive_write_add_filter_zstd}) {
    Folder folder;
    REQUIRE(unpack(folder, compressed(a_tree().bytes(), filter)).has_value());
    CHECK(folder.get("9/usr/lib64/libx.so") == "library");
  }
}

TEST_CASE("an archive cannot write outside of its tree") {
  CHECK(why_not(Tar().file("/etc/passwd", "x").bytes()).starts_with("invalid path; expected names"));
  CHECK(why_not(Tar().file("../passwd", "x").bytes()).starts_with("invalid path; expected names"));
  CHECK(why_not(Tar().file("a/../../passwd", "x").bytes()).starts_with("invalid path; expected names"));
  CHECK(why_not(Tar().file("a/\x1b[2J", "x").bytes()).starts_with("invalid path; expected names"));
  CHECK(why_not(Tar().folder("/").bytes()).starts_with("invalid path; expected names"));
  CHECK(why_not(Tar().symlink("a", "/etc").bytes()) == "a is a symbolic link that points out of the tree");
  CHECK(why_not(Tar().symlink("a", "..").file("a/b", "x").bytes()) ==
        "a is a symbolic link that points out of the tree");
  CHECK(why_not(Tar().folder("b").symlink("a", "b").file("a/c", "x").bytes()) == "a occurs twice");
  CHECK(why_not(Tar().hardlink("a", "/etc/passwd").bytes()) == "a is a hard link to a file that is not in the tree");
  CHECK(why_not(Tar().symlink("a", "b").file("b", "x").hardlink("c", "a").bytes()) ==
        "c is a hard link to a file that is not in the tree");
}

TEST_CASE("other file types are refused") {
  for (const char type : {'3', '4', '6'}) {
    CHECK(why_not(Tar().special("dev/onload", type).bytes()) == "dev/onload is not a file, directory or link");
  }
}

TEST_CASE("a duplicate file is refused, so a checked one is never replaced") {
  CHECK(why_not(Tar().file("a", "good").file("a", "bad").bytes()) == "a occurs twice");
  CHECK(why_not(Tar().file("a", "good").folder("a").bytes()) == "a occurs twice");
}

TEST_CASE("a file that is not an archive, or damaged, is refused") {
  const std::string unreadable = "cannot read the tar archive: damaged, truncated or not a tar archive";
  CHECK(why_not("") == unreadable);
  CHECK(why_not("no archive") == unreadable);
  CHECK(why_not(std::string(10240, 'x')) == unreadable);
  std::string bad_sum = a_tree().bytes();
  bad_sum[512] ^= 1;
  CHECK(why_not(bad_sum) == unreadable);
  const std::string packed = compressed(a_tree().bytes(), &::archive_write_add_filter_gzip);
  for (const size_t length : {packed.size() / 4, packed.size() / 2, packed.size() - 9}) {
    CHECK(why_not(packed.substr(0, length)) == unreadable);
  }
}

TEST_CASE("an archive truncated within a file is refused") {
  const std::string whole = Tar().file("a", std::string(3000, 'a')).bytes();
  for (const size_t length : {size_t{1}, size_t{511}, size_t{513}, size_t{2000}, size_t{3500}}) {
    INFO("the first " << length << " bytes");
    CHECK(why_not(whole.substr(0, length)) != "it was unpacked");
  }
}

TEST_CASE("a small archive that unpacks to a large tree is stopped") {
  const std::string bomb =
      compressed(Tar().file("bomb", std::string(size_t{8} << 20, '\0')).bytes(), &::archive_write_add_filter_zstd);
  REQUIRE(bomb.size() < 10000);
  CHECK(why_not(bomb, {.file = 1 << 20}) == "bomb is larger than 1048576 bytes");
  CHECK(why_not(bomb, {.tree = 1 << 20}) == "the tree is larger than 1048576 bytes");
  CHECK(why_not(bomb) == "it was unpacked");
}

}  // namespace nrd::onload::tar_test
