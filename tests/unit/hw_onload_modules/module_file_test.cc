#include "hw/onload/module_file.h"

#include <doctest/doctest.h>
#include <fcntl.h>

#include <ostream>

#include "tests/unit/hw_onload_modules/folder.h"
#include "tests/unit/hw_onload_modules/ko.h"

namespace nrd::onload::module_file_test {

using nrd::testing::a_module;
using nrd::testing::Folder;
using nrd::testing::Ko;

namespace {

Result<ModuleFile> read(const std::string& bytes) {
  Folder folder;
  folder.put("module.ko", bytes);
  const UniqueFd file(::open(folder.path("module.ko").c_str(), O_RDONLY | O_CLOEXEC));
  return read_module_file(file.get());
}

std::string why_not(const std::string& bytes) {
  const Result<ModuleFile> module = read(bytes);
  return module ? "it is a module" : module.error().message;
}

Ko the_whole_onload() {
  return a_module("onload")
      .is("version", "9.0.2.140")
      .is("srcversion", "3667DBF7224E57462333F9F")
      .is("depends", "sfc_char,sfc_resource")
      .is("parm", "phys_mode_gid:group that may use physical addresses")
      .is("parmtype", "phys_mode_gid:int")
      .is("parmtype", "cplane_spawn_server:bool")
      .build_id("\x12\x34\xab\xcd");
}

}  // namespace

TEST_CASE("the properties of a module file are read") {
  const ModuleFile expected{.name = "onload",
                            .version = "9.0.2.140",
                            .vermagic = "6.1.0-56-amd64 SMP preempt mod_unload modversions ",
                            .build_id = "1234abcd",
                            .depends = {"sfc_char", "sfc_resource"},
                            .parameters = {"cplane_spawn_server", "phys_mode_gid"}};
  CHECK(read(the_whole_onload().bytes()).value() == expected);
  CHECK(kernel_of(expected) == "6.1.0-56-amd64");
}

TEST_CASE("absent properties stay empty") {
  const ModuleFile module = read(a_module("sfc_resource").is("depends", "").bytes()).value();
  CHECK(module == ModuleFile{.name = "sfc_resource", .vermagic = module.vermagic});
}

TEST_CASE("of duplicate properties the first counts") {
  CHECK(read(a_module("sfc").is("name", "onload").is("version", "1").is("version", "2").bytes()).value().version ==
        "1");
  CHECK(read(a_module("sfc").is("name", "onload").bytes()).value().name == "sfc");
}

TEST_CASE("a file that is not a module is refused with the reason") {
  CHECK(why_not("") == "not a kernel module: it is not ELF, or it is compressed");
  CHECK(why_not(std::string(100, 'x')) == "not a kernel module: it is not ELF, or it is compressed");
  CHECK(why_not(Ko().bytes()) == "not a kernel module: it has no section .modinfo");
  CHECK(why_not(Ko().is("license", "GPL").bytes()) == "not a kernel module: it has no valid name");
  CHECK(why_not(Ko().is("name", "a/b").is("vermagic", "6").bytes()) == "not a kernel module: it has no valid name");
  CHECK(why_not(Ko().is("name", "sfc").bytes()) == "not a kernel module: it has no vermagic");
  CHECK(why_not(a_module("sfc").is("depends", "mtd,../x").bytes()) ==
        "not a kernel module: its dependencies are invalid");
}

TEST_CASE("a truncated module is refused or reads the same") {
  const std::string whole = the_whole_onload().bytes();
  const ModuleFile expected = read(whole).value();
  for (size_t length = 0; length < whole.size(); ++length) {
    INFO("the first " << length << " bytes");
    CHECK_FALSE(read(whole.substr(0, length)).has_value());
  }
  CHECK(read(whole + "more").value() == expected);
}

TEST_CASE("a module with any one byte wrong is read within bounds") {
  // Nothing to compare with: AddressSanitizer looks on. What is read anyway has a name.
  const std::string whole = the_whole_onload().bytes();
  for (size_t at = 0; at < whole.size(); ++at) {
    for (const char wrong : {'\0', '\x01', '\x7f', '\xff'}) {
      std::string bytes = whole;
      bytes[at] = wrong;
      const Result<ModuleFile> module = read(bytes);
      if (module) CHECK(is_module_name(module->name));
    }
  }
}

TEST_CASE("a note that is not a build id is ignored") {
  const std::string good = the_whole_onload().bytes();
  CHECK(read(good).value().build_id == "1234abcd");
  const std::string name("GNU\0", 4);
  const auto note = [](uint32_t name_size, uint32_t size, uint32_t type, const std::string& rest) {
    std::string bytes;
    for (const uint32_t word : {name_size, size, type}) {
      bytes.append(reinterpret_cast<const char*>(&word), sizeof word);
    }
    return read(a_module("sfc").note(bytes + rest).bytes()).value().build_id;
  };
  CHECK(note(4, 2, 3, name + "\xab\xcd") == "abcd");
  CHECK(note(4, 3, 3, name + "\xab\xcd").empty());
  CHECK(note(4, 0xffffffff, 3, name + "\xab\xcd").empty());
  CHECK(note(4, 2, 1, name + "\xab\xcd").empty());
  CHECK(note(6, 2, 3, std::string("Linux\0", 6) + "\xab\xcd").empty());
  CHECK(note(4, 2, 3, "GN").empty());
  CHECK(note(4, 65, 3, name + std::string(65, 'x')).empty());
  CHECK(read(a_module("sfc").note("short").bytes()).value().build_id.empty());
}

TEST_CASE("module names are plain words") {
  for (const char* name : {"sfc", "sfc_char", "i2c-algo-bit", "x"}) CHECK(is_module_name(name));
  for (const std::string& name : {std::string(), std::string("a/b"), std::string("a b"), std::string(".."),
                                  std::string("sfc\n"), std::string(56, 'n')}) {
    CHECK_FALSE(is_module_name(name));
  }
  CHECK(is_module_name(std::string(55, 'n')));
}

}  // namespace nrd::onload::module_file_test
