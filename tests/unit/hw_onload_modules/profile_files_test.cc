#include "hw/onload/profile_files.h"

#include <doctest/doctest.h>

#include <string>

#include "hw/onload/user_files.h"
#include "tests/unit/hw_onload_modules/folder.h"

namespace nrd::profile_files_test {

using nrd::ErrorCode;
using nrd::onload::find_libraries;
using nrd::onload::is_profile_file;
using nrd::onload::ProfileFolder;
using nrd::testing::Folder;
using Names = std::vector<std::string>;

namespace {

std::string content_of(const ProfileFolder& folder, const std::string& file) {
  const auto text = folder.read(file);
  REQUIRE(text);
  return text->value_or("(none)");
}

}  // namespace

TEST_CASE("profile file names are plain, never paths") {
  for (const char* good : {"latency.opf", "a.b.opf", "throughput.opf-fragment", "x_1+2-3.opf"})
    CHECK(is_profile_file(good));
  for (const char* bad :
       {"", ".opf", ".new", ".a.opf", "latency", "a/b.opf", "../a.opf", "a b.opf", "a.opf~", "a.opf\n"}) {
    CAPTURE(bad);
    CHECK_FALSE(is_profile_file(bad));
  }
  CHECK_FALSE(is_profile_file(std::string(80, 'a') + ".opf"));
}

TEST_CASE("a written profile is readable and listed until it is removed") {
  const Folder root;
  const ProfileFolder folder(root.trust(), "/profiles");
  CHECK(folder.files() == Names());
  REQUIRE(folder.write("a.opf", "one\n"));
  REQUIRE(folder.write("a.opf", "two\n"));
  REQUIRE(folder.write("b.opf-fragment", ""));
  CHECK(folder.files() == Names{"a.opf", "b.opf-fragment"});
  CHECK(content_of(folder, "a.opf") == "two\n");
  CHECK(content_of(folder, "b.opf-fragment") == "");
  CHECK(root.mode("profiles/a.opf") == 0644);
  CHECK(folder.remove("a.opf") == true);
  CHECK(folder.remove("a.opf") == false);
  CHECK(content_of(folder, "a.opf") == "(none)");
}

TEST_CASE("leftovers of an interrupted write do no harm") {
  Folder root;
  root.put("profiles/.new", "half a pro");
  const ProfileFolder folder(root.trust(), "/profiles");
  CHECK(folder.files() == Names());
  REQUIRE(folder.write("a.opf", "whole\n"));
  CHECK(folder.files() == Names{"a.opf"});
  CHECK_FALSE(root.has("profiles/.new"));
}

TEST_CASE("other files in the folder are not profiles") {
  Folder root;
  root.put("profiles/README", "");
  root.put("profiles/a.opf.orig", "");
  const ProfileFolder folder(root.trust(), "/profiles");
  CHECK(folder.files() == Names());
  CHECK(content_of(folder, "README") == "(none)");
  CHECK(content_of(folder, "../profiles/README") == "(none)");
  CHECK_FALSE(folder.write("README", ""));
  CHECK_FALSE(folder.write("../a.opf", ""));
}

TEST_CASE("a profile that is a link or writable by others is refused with its path") {
  Folder root;
  root.put("secret", "EF_SECRET\n");
  root.link("profiles/a.opf", "../secret");
  root.put("profiles/b.opf", "text\n");
  root.mode("profiles/b.opf", 0666);
  const ProfileFolder folder(root.trust(), "/profiles");
  for (const char* file : {"a.opf", "b.opf"}) {
    CAPTURE(file);
    const auto text = folder.read(file);
    REQUIRE_FALSE(text);
    CHECK(text.error().code == ErrorCode::BadRequest);
    CHECK(text.error().message.starts_with(root.path("profiles/") + file + ": "));
  }
}

TEST_CASE("a folder writable by others neither provides nor accepts profiles") {
  Folder root;
  root.put("profiles/a.opf", "text\n");
  root.mode("profiles", 0777);
  const ProfileFolder folder(root.trust(), "/profiles");
  CHECK_FALSE(folder.files());
  CHECK_FALSE(folder.read("a.opf"));
  CHECK_FALSE(folder.write("c.opf", ""));
  CHECK_FALSE(root.has("profiles/c.opf"));
}

TEST_CASE("a profile or folder beyond the limits is refused") {
  Folder root;
  const std::string most(nrd::onload::kProfileLimit, 'x');
  const ProfileFolder folder(root.trust(), "/profiles");
  REQUIRE(folder.write("a.opf", most));
  CHECK(content_of(folder, "a.opf") == most);
  CHECK_FALSE(folder.write("b.opf", most + "x"));
  root.put("profiles/b.opf", most + "x");
  const auto text = folder.read("b.opf");
  REQUIRE_FALSE(text);
  CHECK(text.error().code == ErrorCode::BadRequest);
  for (size_t i = 2; i < nrd::onload::kProfilesLimit - 1; ++i) root.put("profiles/" + std::to_string(i) + ".opf", "");
  CHECK_FALSE(folder.write("one-more.opf", ""));
  CHECK(folder.write("a.opf", "there already\n"));
}

TEST_CASE("the library of a version is found with its companions") {
  Folder root;
  root.put("opt/versions/9.0/usr/lib64/libonload.so", "");
  root.put("opt/versions/9.0/usr/lib64/libonload_ext.so.2", "");
  root.put("opt/versions/9.0/usr/lib64/libcitools.so", "");
  root.folder("opt/versions/8.1");
  const std::string lib = "/opt/versions/9.0/usr/lib64/";
  CHECK(find_libraries(root.trust(), "/opt", "9.0") == Names{lib + "libonload.so", lib + "libonload_ext.so.2"});
  CHECK(find_libraries(root.trust(), "/opt", "8.1") == Names());
  CHECK(find_libraries(root.trust(), "/opt", "7") == Names());
  root.mode("opt/versions/9.0/usr/lib64/libonload.so", 0666);
  CHECK_FALSE(find_libraries(root.trust(), "/opt", "9.0"));
}

}  // namespace nrd::profile_files_test
