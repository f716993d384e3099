#include "hw/onload/versions.h"

#include <doctest/doctest.h>

#include <ostream>

#include "hw/onload/module_file.h"
#include "tests/unit/hw_onload_modules/archive.h"
#include "tests/unit/hw_onload_modules/folder.h"
#include "tests/unit/hw_onload_modules/ko.h"

namespace nrd::onload::versions_test {

using nrd::testing::a_module;
using nrd::testing::content_of;
using nrd::testing::Folder;
using nrd::testing::Ko;
using nrd::testing::Tar;

namespace {

constexpr const char* kKernel = "6.1.0-56-amd64";

std::string extra(const std::string& module, const std::string& kernel = kKernel) {
  return "lib/modules/" + kernel + "/extra/" + module + ".ko";
}

Ko the_onload(const std::string& version, const std::string& kernel = kKernel) {
  return a_module("onload", kernel).is("version", version).is("depends", "sfc_char,sfc_resource");
}

// A node whose releases are below /opt/onload, and what lies at /srv to be imported.
class Node {
 public:
  Node() { put_release("srv/9", "9.0.2"); }
  // As the installer makes it below a prefix.
  void put_release(const std::string& at, const std::string& version) {
    folder_.put(at + "/" + extra("onload"), the_onload(version).bytes());
    folder_.put(at + "/" + extra("sfc"), a_module("sfc").is("depends", "mtd,ptp").bytes());
    folder_.put(at + "/" + extra("sfc_char"), a_module("sfc_char").is("depends", "sfc_resource").bytes());
    folder_.put(at + "/" + extra("sfc_resource"), a_module("sfc_resource").bytes());
    folder_.put(at + "/sbin/onload_cp_server", "server of " + version);
    folder_.mode(at + "/sbin/onload_cp_server", 0755);
    folder_.put(at + "/usr/lib64/libonload.so", "library of " + version);
    folder_.put(at + "/usr/lib64/libonload_ext.so.2", "extensions");
    folder_.link(at + "/usr/lib64/libonload_ext.so", "libonload_ext.so.2");
    folder_.put(at + "/usr/libexec/onload/profiles/latency.opf", "onload_set EF_POLL_USEC 100000\n");
  }
  Versions versions() const { return Versions(folder_.trust(), "/opt/onload"); }
  Folder& folder() { return folder_; }
  std::string in_version(const std::string& name, const std::string& file) const {
    return "opt/onload/versions/" + name + "/" + file;
  }

 private:
  Folder folder_;
};

template <typename T>
std::string message_of(const Result<T>& result) {
  return result ? "" : result.error().message;
}

using Names = std::vector<std::string>;

Names names_of(const std::vector<VersionModule>& modules) {
  Names names;
  for (const VersionModule& module : modules) names.push_back(module.file.name);
  return names;
}

}  // namespace

TEST_CASE("a release becomes a version with its contents listed") {
  Node node;
  const Version version = node.versions().import("9.0.2", "/srv/9").value();
  CHECK(version.name == "9.0.2");
  REQUIRE(version.kernels.size() == 1);
  CHECK(names_of(version.kernels.at(kKernel)) == Names{"sfc", "sfc_resource", "sfc_char", "onload"});
  CHECK(version.kernels.at(kKernel).back().path == extra("onload"));
  CHECK(version.kernels.at(kKernel).back().file.version == "9.0.2");
  CHECK(version.control_plane == "sbin/onload_cp_server");
  CHECK(version.library == "usr/lib64/libonload.so");
  CHECK(node.versions().read("9.0.2").value() == version);
  CHECK(node.versions().names().value() == Names{"9.0.2"});
  CHECK(node.folder().get(node.in_version("9.0.2", "usr/lib64/libonload_ext.so")) == "extensions");
}

TEST_CASE("an archive of a release becomes the same version") {
  Node node;
  node.folder().put("srv/9.tar",
                    Tar()
                        .file("./" + extra("onload"), the_onload("9.0.2").bytes())
                        .file("./lib/modules/6.12.1/updates/dkms/onload.ko", the_onload("9.0.2", "6.12.1").bytes())
                        .file("./usr/lib/x86_64-linux-gnu/libonload.so", "library")
                        .bytes());
  const Version version = node.versions().import("9", "/srv/9.tar").value();
  CHECK(version.kernels.size() == 2);
  CHECK(version.kernels.at("6.12.1").front().path == "lib/modules/6.12.1/updates/dkms/onload.ko");
  CHECK(version.library == "usr/lib/x86_64-linux-gnu/libonload.so");
  CHECK(version.control_plane.empty());
  CHECK(node.versions().verify("9").value().empty());
}

TEST_CASE("version names are plain") {
  for (const char* name : {"9.0.2", "9.0.2+dfsg-1", "x", "onload_9", "-"}) CHECK(is_version_name(name));
  for (const std::string& name : {std::string(), std::string("."), std::string(".."), std::string(".9"),
                                  std::string("9/0"), std::string("9 0"), std::string("9\n"), std::string(65, '9')}) {
    INFO("name \"" << name << "\"");
    CHECK_FALSE(is_version_name(name));
    Node node;
    CHECK(node.versions().import(name, "/srv/9").error().code == ErrorCode::BadRequest);
    CHECK(node.versions().read(name).error().code == ErrorCode::BadRequest);
    CHECK(node.versions().remove(name).error().code == ErrorCode::BadRequest);
    CHECK(node.versions().select(name).error().code == ErrorCode::BadRequest);
    CHECK_FALSE(node.folder().has("opt"));
  }
}

TEST_CASE("a node without versions has none") {
  Node node;
  CHECK(node.versions().names().value().empty());
  CHECK(node.versions().current().value() == std::nullopt);
  CHECK(message_of(node.versions().read("9")) == "version 9 not found");
  CHECK(node.versions().verify("9").error().code == ErrorCode::NotFound);
  CHECK(node.versions().sweep().has_value());
}

TEST_CASE("a version is imported once") {
  Node node;
  REQUIRE(node.versions().import("9", "/srv/9").has_value());
  node.put_release("srv/10", "10");
  CHECK(message_of(node.versions().import("9", "/srv/10")) == "version 9 already exists");
  CHECK(node.folder().get(node.in_version("9", "sbin/onload_cp_server")) == "server of 9.0.2");
  REQUIRE(node.versions().import("10", "/srv/10").has_value());
  CHECK(node.versions().names().value() == Names{"10", "9"});
}

TEST_CASE("a source writable by others than root is refused") {
  for (const char* spoilt : {"srv", "srv/9", "srv/9/sbin", "srv/9/sbin/onload_cp_server"}) {
    Node node;
    node.folder().mode(spoilt, 0777);
    INFO(spoilt);
    CHECK(message_of(node.versions().import("9", "/srv/9")).ends_with("is writable by users other than root"));
    CHECK(node.versions().names().value().empty());
    CHECK_FALSE(node.folder().has("opt/onload/versions/.import-9"));
  }
  Node node;
  node.folder().put("srv/9.tar", Tar().file(extra("onload"), the_onload("9").bytes()).bytes());
  node.folder().mode("srv/9.tar", 0666);
  CHECK(message_of(node.versions().import("9", "/srv/9.tar")) ==
        "a file or directory is writable by users other than root");
}

TEST_CASE("a source that is a link, missing or neither directory nor file is refused") {
  Node node;
  node.folder().link("srv/link", "9");
  REQUIRE(::mkfifo(node.folder().path("srv/fifo").c_str(), 0600) == 0);
  CHECK(node.versions().import("9", "/srv/link").error().code == ErrorCode::BadRequest);
  CHECK(node.versions().import("9", "/srv/fifo").error().code == ErrorCode::BadRequest);
  CHECK(node.versions().import("9", "/srv/gone").error().code == ErrorCode::NotFound);
  CHECK(node.versions().import("9", "srv/9").error().code == ErrorCode::BadRequest);
  CHECK(node.versions().import("9", "/srv/../srv/9").error().code == ErrorCode::BadRequest);
  CHECK(node.versions().import("9", "").error().code == ErrorCode::BadRequest);
}

TEST_CASE("a tree with invalid modules is refused") {
  struct Row {
    std::string file;
    std::string bytes;
    std::string why;
  };
  for (const Row& row : {
           Row{extra("bad"), "no module",
               "lib/modules/6.1.0-56-amd64/extra/bad.ko: not a kernel module: it is not ELF, or it is compressed"},
           Row{extra("new", "6.12.1"), a_module("new").bytes(),
               "lib/modules/6.12.1/extra/new.ko is for kernel 6.1.0-56-amd64, but not in that kernel's directory"},
           Row{"lib/modules/6.1.0-56-amd64/updates/onload.ko", the_onload("8").bytes(),
               "the version has two modules of the same name for one kernel"},
           Row{extra("packed") + ".xz", "x",
               "lib/modules/6.1.0-56-amd64/extra/packed.ko.xz is compressed; decompress the modules first"},
       }) {
    Node node;
    node.folder().put("srv/9/" + row.file, row.bytes);
    CHECK(message_of(node.versions().import("9", "/srv/9")) == row.why);
    CHECK(node.versions().names().value().empty());
  }
  Node node;
  node.folder().remove("srv/9/lib");
  CHECK(message_of(node.versions().import("9", "/srv/9")) == "the tree has no modules in lib/modules/*/");
}

TEST_CASE("an intact version verifies, and each change to it is reported") {
  Node node;
  REQUIRE(node.versions().import("9", "/srv/9").has_value());
  CHECK(node.versions().verify("9").value().empty());
  node.folder().put(node.in_version("9", "sbin/onload_cp_server"), "Server of 9.0.2");
  node.folder().put(node.in_version("9", "usr/new"), "x");
  node.folder().link(node.in_version("9", "usr/linked"), "new");
  node.folder().remove(node.in_version("9", "usr/lib64/libonload_ext.so"));
  node.folder().mode(node.in_version("9", "usr/lib64/libonload.so"), 0666);
  CHECK(node.versions().verify("9").value() ==
        Names{"usr/linked was added", "usr/new was added", "sbin/onload_cp_server was changed",
              "usr/lib64/libonload.so: a file or directory is writable by users other than root",
              "usr/lib64/libonload_ext.so is missing"});
}

TEST_CASE("a version without its manifest, or with a damaged one, does not verify") {
  Node node;
  REQUIRE(node.versions().import("9", "/srv/9").has_value());
  const std::string manifest = node.in_version("9", "SHA256SUMS");
  const std::string good = node.folder().get(manifest);
  node.folder().put(manifest, "");
  CHECK(message_of(node.versions().verify("9")) == "the manifest of a version is damaged");
  node.folder().put(manifest, good.substr(0, good.size() / 2));
  CHECK(message_of(node.versions().verify("9")) == "the manifest of a version is damaged");
  CHECK_FALSE(node.versions().open("9", extra("onload")).has_value());
  node.folder().remove(manifest);
  CHECK(node.versions().verify("9").error().code == ErrorCode::NotFound);
}

TEST_CASE("a file is handed out only if it is unmodified") {
  Node node;
  REQUIRE(node.versions().import("9", "/srv/9").has_value());
  CHECK(content_of(node.versions().open("9", "sbin/onload_cp_server").value()) == "server of 9.0.2");
  const UniqueFd module = node.versions().open("9", extra("onload")).value();
  CHECK(read_module_file(module.get()).value().version == "9.0.2");
  node.folder().put(node.in_version("9", "sbin/onload_cp_server"), "server of 9.0.3");
  CHECK(node.versions().open("9", "sbin/onload_cp_server").error().code == ErrorCode::Store);
  node.folder().put(node.in_version("9", "sbin/new"), "x");
  CHECK(node.versions().open("9", "sbin/new").error().code == ErrorCode::NotFound);
  CHECK(node.versions().open("9", "../9/sbin/onload_cp_server").error().code == ErrorCode::NotFound);
  node.folder().remove(node.in_version("9", extra("onload")));
  CHECK(node.versions().open("9", extra("onload")).error().code == ErrorCode::NotFound);
}

TEST_CASE("the current version changes atomically") {
  Node node;
  node.put_release("srv/10", "10");
  REQUIRE(node.versions().import("9", "/srv/9").has_value());
  REQUIRE(node.versions().import("10", "/srv/10").has_value());
  CHECK(node.versions().current().value() == std::nullopt);
  for (const char* name : {"9", "10", "9", "9"}) {
    REQUIRE(node.versions().select(name).has_value());
    CHECK(node.versions().current().value() == name);
    CHECK(node.folder().get("opt/onload/current/usr/lib64/libonload.so") ==
          std::string("library of ") + (name == std::string("9") ? "9.0.2" : "10"));
  }
  CHECK(node.versions().select("11").error().code == ErrorCode::NotFound);
  CHECK(node.versions().current().value() == "9");
}

TEST_CASE("an interrupted switch does no harm") {
  Node node;
  REQUIRE(node.versions().import("9", "/srv/9").has_value());
  node.folder().link("opt/onload/.current-next", "versions/gone");
  CHECK(node.versions().current().value() == std::nullopt);
  REQUIRE(node.versions().select("9").has_value());
  CHECK(node.versions().current().value() == "9");
}

TEST_CASE("a current link that leads elsewhere is an error") {
  for (const char* target : {"/etc", "versions/../..", "versions/", "versions/.hidden", "9"}) {
    Node node;
    node.folder().link("opt/onload/current", target);
    CHECK(node.versions().current().error().code == ErrorCode::Store);
  }
  Node node;
  node.folder().put("opt/onload/current", "a file");
  CHECK(node.versions().current().error().code == ErrorCode::Store);
}

TEST_CASE("a version is removed completely, but not the current one") {
  Node node;
  node.put_release("srv/10", "10");
  REQUIRE(node.versions().import("9", "/srv/9").has_value());
  REQUIRE(node.versions().import("10", "/srv/10").has_value());
  REQUIRE(node.versions().select("9").has_value());
  CHECK(message_of(node.versions().remove("9")) == "version 9 is the current version");
  REQUIRE(node.versions().remove("10").has_value());
  CHECK(node.versions().names().value() == Names{"9"});
  CHECK_FALSE(node.folder().has("opt/onload/versions/10"));
  CHECK_FALSE(node.folder().has("opt/onload/versions/.remove-10"));
  CHECK(node.versions().remove("10").error().code == ErrorCode::NotFound);
  CHECK(node.versions().verify("9").value().empty());
}

TEST_CASE("leftovers of interrupted work are removed and never count as a version") {
  Node node;
  REQUIRE(node.versions().import("9", "/srv/9").has_value());
  node.folder().put("opt/onload/versions/.import-10/half", "x");
  node.folder().put("opt/onload/versions/.remove-8/half", "x");
  CHECK(node.versions().names().value() == Names{"9"});
  REQUIRE(node.versions().sweep().has_value());
  CHECK_FALSE(node.folder().has("opt/onload/versions/.import-10"));
  CHECK_FALSE(node.folder().has("opt/onload/versions/.remove-8"));
  CHECK(node.versions().verify("9").value().empty());
}

TEST_CASE("a versions directory writable by others is not used") {
  Node node;
  REQUIRE(node.versions().import("9", "/srv/9").has_value());
  for (const char* spoilt : {"opt", "opt/onload", "opt/onload/versions"}) {
    node.folder().mode(spoilt, 0777);
    INFO(spoilt);
    CHECK(node.versions().names().error().code == ErrorCode::BadRequest);
    CHECK(node.versions().read("9").error().code == ErrorCode::BadRequest);
    CHECK(node.versions().open("9", extra("onload")).error().code == ErrorCode::BadRequest);
    CHECK_FALSE(node.versions().select("9").has_value());
    CHECK_FALSE(node.versions().remove("9").has_value());
    CHECK_FALSE(node.versions().import("10", "/srv/9").has_value());
    node.folder().mode(spoilt, 0755);
  }
  CHECK(node.versions().verify("9").value().empty());
}

TEST_CASE("a version can be made from a copy of another one") {
  Node node;
  REQUIRE(node.versions().import("9", "/srv/9").has_value());
  REQUIRE(node.versions().import("9-copy", "/opt/onload/versions/9").has_value());
  CHECK(node.versions().verify("9-copy").value().empty());
}

}  // namespace nrd::onload::versions_test
