#include "hw/onload/trusted_dir.h"

#include <doctest/doctest.h>

#include <optional>
#include <ostream>

#include "tests/unit/hw_onload_modules/folder.h"

namespace nrd::onload::trusted_dir_test {

using nrd::testing::content_of;
using nrd::testing::Folder;

namespace {

// The code of the refusal, or nothing if the file was opened.
std::optional<ErrorCode> refusal(const Folder& folder, const std::string& path) {
  const Result<UniqueFd> file = open_trusted_file(folder.trust(), path);
  if (file) return std::nullopt;
  return file.error().code;
}

}  // namespace

TEST_CASE("files that only root can write are opened") {
  Folder folder;
  folder.put("opt/nrd/onload.ko", "module");
  CHECK(content_of(open_trusted_file(folder.trust(), "/opt/nrd/onload.ko").value()) == "module");
  const TrustedDir opt = TrustedDir::open(folder.trust(), "/opt").value();
  CHECK(content_of(opt.file("nrd/onload.ko").value()) == "module");
  CHECK(content_of(opt.dir("nrd").value().file("onload.ko").value()) == "module");
  CHECK(opt.path() == folder.path("opt"));
  CHECK(TrustedDir::open(folder.trust(), "/").has_value());
  folder.put("at-the-top", "");
  CHECK(refusal(folder, "/at-the-top") == std::nullopt);
}

TEST_CASE("a path consists of plain names from the root on") {
  Folder folder;
  folder.put("opt/file", "x");
  const std::string long_name(256, 'n');
  std::string deep = "/opt";
  for (int i = 0; i < 40; ++i) deep += "/d";
  for (const std::string& path :
       {std::string(), std::string("opt/file"), std::string("/opt/../opt/file"), std::string("/opt/./file"),
        std::string("//opt/file"), std::string("/opt//file"), std::string("/opt/file/"), std::string("/.."),
        std::string("/opt/fi\nle"), std::string("/opt/fi\0le", 10), "/" + long_name, deep + "/file"}) {
    INFO("path \"" << path << "\"");
    CHECK(refusal(folder, path) == ErrorCode::BadRequest);
  }
  CHECK(parts_of("a/b.c/..d").value() == std::vector<std::string>{"a", "b.c", "..d"});
}

TEST_CASE("a link is never followed") {
  Folder folder;
  folder.put("opt/real/file", "x");
  folder.link("opt/to-folder", "real");
  folder.link("opt/real/to-file", "file");
  folder.link("top", "opt");
  folder.link("opt/out", "/etc");
  CHECK(refusal(folder, "/opt/to-folder/file") == ErrorCode::BadRequest);
  CHECK(refusal(folder, "/opt/real/to-file") == ErrorCode::BadRequest);
  CHECK(refusal(folder, "/top/real/file") == ErrorCode::BadRequest);
  CHECK(refusal(folder, "/opt/out/passwd") == ErrorCode::BadRequest);
  CHECK(refusal(folder, "/opt/real/file") == std::nullopt);
}

TEST_CASE("a parent directory writable by others makes everything below untrusted") {
  for (const unsigned bits : {0775U, 0757U, 0777U, 01777U, 01775U}) {
    Folder folder;
    folder.put("opt/nrd/versions/file", "x");
    for (const char* spoilt : {"opt", "opt/nrd", "opt/nrd/versions", ""}) {
      INFO("mode " << bits << " of /" << spoilt);
      folder.mode(spoilt, bits);
      CHECK(refusal(folder, "/opt/nrd/versions/file") == ErrorCode::BadRequest);
      folder.mode(spoilt, 0755);
      CHECK(refusal(folder, "/opt/nrd/versions/file") == std::nullopt);
    }
  }
}

TEST_CASE("a file writable by others is refused") {
  Folder folder;
  folder.put("opt/file", "x");
  for (const unsigned bits : {0664U, 0646U, 0666U}) {
    folder.mode("opt/file", bits);
    CHECK(refusal(folder, "/opt/file") == ErrorCode::BadRequest);
  }
  folder.mode("opt/file", 0600);
  CHECK(refusal(folder, "/opt/file") == std::nullopt);
}

TEST_CASE("files of other owners are refused") {
  Folder folder;
  folder.put("opt/file", "x");
  Trust stranger = folder.trust();
  stranger.owner += 1;
  const Result<UniqueFd> file = open_trusted_file(stranger, "/opt/file");
  REQUIRE_FALSE(file.has_value());
  CHECK(file.error().message == "a file or directory is not owned by root");
  if (::geteuid() != 0) return;  // only root can give things away
  for (const char* given : {"opt", "opt/file"}) {
    REQUIRE(::chown(folder.path(given).c_str(), 65534, 0) == 0);
    CHECK(refusal(folder, "/opt/file") == ErrorCode::BadRequest);
    REQUIRE(::chown(folder.path(given).c_str(), 0, 0) == 0);
    CHECK(refusal(folder, "/opt/file") == std::nullopt);
  }
}

TEST_CASE("only regular files are opened, and a FIFO does not block") {
  Folder folder;
  folder.folder("opt/folder");
  REQUIRE(::mkfifo(folder.path("opt/fifo").c_str(), 0600) == 0);
  CHECK(refusal(folder, "/opt/folder") == ErrorCode::BadRequest);
  CHECK(refusal(folder, "/opt/fifo") == ErrorCode::BadRequest);
  folder.put("opt/file", "x");
  CHECK(refusal(folder, "/opt/file/below") == ErrorCode::BadRequest);
  CHECK(refusal(folder, "/opt/gone") == ErrorCode::NotFound);
  CHECK(refusal(folder, "/gone/file") == ErrorCode::NotFound);
}

TEST_CASE("the checked file is the one that is used, whatever is renamed afterwards") {
  Folder folder;
  folder.put("opt/versions/9/onload.ko", "checked");
  const TrustedDir versions = TrustedDir::open(folder.trust(), "/opt/versions").value();
  const UniqueFd file = versions.file("9/onload.ko").value();
  // Another tree comes to stand where the path leads.
  folder.rename("opt/versions", "opt/moved");
  folder.put("opt/versions/9/onload.ko", "exchanged");
  CHECK(content_of(file) == "checked");
  CHECK(content_of(versions.file("9/onload.ko").value()) == "checked");
  folder.remove("opt/versions");
  folder.link("opt/versions", "moved");
  CHECK(content_of(versions.file("9/onload.ko").value()) == "checked");
  CHECK(refusal(folder, "/opt/versions/9/onload.ko") == ErrorCode::BadRequest);
}

TEST_CASE("a directory is created once, readable by all and writable by root only") {
  Folder folder;
  const TrustedDir top = TrustedDir::open(folder.trust(), "/").value();
  ::umask(0);
  REQUIRE(top.make("opt").has_value());
  CHECK(folder.mode("opt") == 0755);
  ::umask(077);
  REQUIRE(top.make("opt").value().make("nrd").has_value());
  CHECK(folder.mode("opt/nrd") == 0755);
  folder.mode("opt", 0777);
  CHECK_FALSE(top.make("opt").has_value());
  folder.link("link", "opt/nrd");
  CHECK_FALSE(top.make("link").has_value());
}

TEST_CASE("names are sorted and limited") {
  Folder folder;
  for (const char* name : {"opt/c", "opt/a", "opt/.hidden", "opt/b/below"}) folder.put(name, "");
  const TrustedDir opt = TrustedDir::open(folder.trust(), "/opt").value();
  const std::vector<std::string> all{".hidden", "a", "b", "c"};
  CHECK(opt.names(4).value() == all);
  CHECK(opt.names(4).value() == all);  // again from the beginning
  CHECK(opt.names(3).error().code == ErrorCode::BadRequest);
  folder.remove("opt");
  CHECK(opt.names(4).value().empty());
}

}  // namespace nrd::onload::trusted_dir_test
