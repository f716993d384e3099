// What can be shown without a kernel that takes our modules. Loading itself is shown in a virtual machine.
#include "hw/onload/modules.h"

#include <doctest/doctest.h>
#include <fcntl.h>

#include <ostream>

#include "tests/unit/hw_onload_modules/folder.h"
#include "tests/unit/hw_onload_modules/ko.h"

namespace nrd::onload::modules_test {

using nrd::testing::a_module;
using nrd::testing::Folder;

namespace {

constexpr const char* kKernel = "6.1.0-56-amd64";
const std::string kFolder = std::string("lib/modules/") + kKernel;

// Modules of a node, with the index that depmod makes of them. The names are such that no kernel has them loaded.
class Node {
 public:
  Node() {
    folder_.put("etc/modprobe.d/empty.conf", "");
    put("kernel/drivers/nrd_mtd.ko",
        a_module("nrd_mtd").is("intree", "Y").exports("nrd_mtd_add").build_id("\x01\x02").bytes());
    put("kernel/drivers/nrd_sfc.ko", a_module("nrd_sfc").uses("nrd_mtd_add").is("intree", "Y").bytes());
    put("extra/nrd_sfc.ko", a_module("nrd_sfc").uses("nrd_mtd_add").is("version", "6.4").bytes());
    put("kernel/drivers/nrd_ptp.ko", a_module("nrd_ptp").is("intree", "Y").bytes());
    put("modules.builtin", "kernel/lib/nrd_builtin.ko\n");
    put("modules.builtin.modinfo", std::string("nrd_builtin.license=GPL\0", 24));
    put("modules.order", "kernel/drivers/nrd_mtd.ko\nkernel/drivers/nrd_sfc.ko\n");
  }
  void index(const std::string& preference = "override nrd_sfc * extra") {
    folder_.put("depmod.conf", preference + "\n");
    const std::string command =
        std::string(DEPMOD) + " -C " + folder_.path("depmod.conf") + " -b " + folder_.path("") + " " + kKernel;
    REQUIRE(std::system(command.c_str()) == 0);
  }
  void put(const std::string& file, const std::string& bytes) { folder_.put(in_modules(file), bytes); }
  void configure(const std::string& text) { folder_.put("etc/modprobe.d/nrd.conf", text); }
  Folder& folder() { return folder_; }

  LoadResult load(const std::string& name) const {
    return load_system_module(name, {folder_.path(kFolder), {folder_.path("etc/modprobe.d")}});
  }

 private:
  static std::string in_modules(const std::string& file) { return kFolder + ("/" + file); }
  Folder folder_;
};

ModuleFile with_parameters(const std::vector<std::string>& names) {
  return {.name = "onload", .vermagic = "6.1", .parameters = names};
}

}  // namespace

TEST_CASE("parameters are formatted for the kernel") {
  const ModuleFile onload = with_parameters({"cplane_server_params", "cplane_spawn_server", "phys_mode_gid"});
  CHECK(parameter_line(onload, {}).value().empty());
  CHECK(parameter_line(onload, {{"phys_mode_gid", "0"}}).value() == "phys_mode_gid=0");
  CHECK(parameter_line(onload, {{"phys_mode_gid", "-2"}, {"cplane_server_params", "-K -s"}}).value() ==
        "cplane_server_params=\"-K -s\" phys_mode_gid=-2");
  CHECK(parameter_line(onload, {{"cplane_server_params", ""}}).value() == "cplane_server_params=");
  CHECK(parameter_line(onload, {{"phys-mode-gid", "1"}}).value() == "phys-mode-gid=1");
}

TEST_CASE("an unknown parameter is refused, because the kernel would ignore it") {
  const ModuleFile onload = with_parameters({"phys_mode_gid"});
  for (const char* name : {"phys_mode", "phys_mode_gid2", "", "a b", "phys_mode_gid=1 x"}) {
    INFO("parameter \"" << name << "\"");
    CHECK(parameter_line(onload, {{name, "1"}}).error().cause == Cause::UnknownParameter);
  }
  CHECK(parameter_line(onload, {{"speed", "1"}}).error().message ==
        "onload cannot be loaded: it has no such parameter: speed");
}

TEST_CASE("a value cannot inject another parameter") {
  const ModuleFile onload = with_parameters({"a", "b"});
  CHECK(parameter_line(onload, {{"a", "1 b=2"}}).value() == "a=\"1 b=2\"");
  for (const std::string& value :
       {std::string("1\" b=2"), std::string("\""), std::string("1\nb=2"), std::string("1\tb=2"), std::string("1\0", 2),
        std::string("\xc2\x85"), std::string(1024, 'x')}) {
    INFO("value \"" << value << "\"");
    CHECK(parameter_line(onload, {{"a", value}}).error().cause == Cause::BadParameter);
  }
  CHECK(parameter_line(onload, {{"a", std::string(1023, 'x')}}).has_value());
}

TEST_CASE("a file that is not a module is refused by the kernel") {
  Folder folder;
  folder.put("module.ko", "no module");
  const UniqueFd file(::open(folder.path("module.ko").c_str(), O_RDONLY | O_CLOEXEC));
  const LoadResult loaded = insert_module(file.get(), {.name = "nrd_none", .vermagic = "6.1"}, {});
  REQUIRE_FALSE(loaded.has_value());
  CHECK(loaded.error().error != 0);
  CHECK((loaded.error().cause == Cause::NotAModule || loaded.error().cause == Cause::NotAllowed));
}

TEST_CASE("a module that is not loaded cannot be removed") {
  const LoadResult removed = remove_module("nrd_none");
  REQUIRE_FALSE(removed.has_value());
  CHECK((removed.error().cause == Cause::NotLoaded || removed.error().cause == Cause::NotAllowed));
  CHECK(remove_module("../etc").error().cause == Cause::NotLoaded);
  CHECK(remove_module("../etc").error().message == "a module cannot be removed: it is not loaded");
}

TEST_CASE("an unknown module is not found, and neither is any without an index") {
  Node node;
  CHECK(node.load("nrd_mtd").error().cause == Cause::NoFile);
  node.index();
  for (const char* name : {"nrd_none", "../extra/nrd_sfc", ""}) CHECK(node.load(name).error().cause == Cause::NoFile);
  node.folder().remove("lib");
  CHECK(node.load("nrd_mtd").error().cause == Cause::NoFile);
}

TEST_CASE("a module that is built into the kernel needs no loading") {
  Node node;
  node.index();
  CHECK(node.load("nrd_builtin").has_value());
}

TEST_CASE("an alias of modprobe.d does not replace a module") {
  Node node;
  node.index();
  node.configure("alias nrd_mtd nrd_builtin\nalias nrd_none nrd_builtin\n");
  CHECK_FALSE(node.load("nrd_mtd").has_value());  // no kernel takes the file
  CHECK(node.load("nrd_none").error().cause == Cause::NoFile);
}

TEST_CASE("an install command is never run") {
  Node node;
  node.index();
  for (const char* module : {"nrd_sfc", "nrd_mtd"}) {  // itself, and what it needs
    node.configure(std::string("install ") + module + " /bin/touch " + node.folder().path("was-run") + "\n");
    const LoadResult loaded = node.load("nrd_sfc");
    REQUIRE_FALSE(loaded.has_value());
    CHECK(loaded.error().cause == Cause::InstallCommand);
    CHECK_FALSE(node.folder().has("was-run"));
  }
}

TEST_CASE("an install command of a dependency is never run") {
  Node node;
  node.index();
  node.configure("softdep nrd_mtd pre: nrd_ptp\ninstall nrd_ptp /bin/touch " + node.folder().path("was-run") + "\n");
  CHECK_FALSE(node.load("nrd_mtd").has_value());  // no kernel takes these files
  CHECK_FALSE(node.folder().has("was-run"));
}

}  // namespace nrd::onload::modules_test
