#include "hw/onload/module_state.h"

#include <doctest/doctest.h>

#include <ostream>

#include "hw/onload/parameter_text.h"
#include "tests/unit/hw_onload/tree.h"

namespace nrd::onload::module_state_test {

using nrd::testing::Tree;

namespace {

void load_onload(Tree& tree) {
  tree.load("onload", 3);
  tree.put(Tree::module("onload", "version"), "8.1.2.26\n");
  tree.put(Tree::module("onload", "srcversion"), "0123456789ABCDEF0123456\n");
  tree.put(Tree::module("onload", "parameters/cplane_spawn_server"), "Y\n");
  tree.put(Tree::module("onload", "parameters/max_packets_per_stack"), "524288\n");
  tree.put(Tree::module("onload", "parameters/cplane_server_params"), "-K\n");
}

}  // namespace

TEST_CASE("a loaded module is read completely") {
  Tree tree;
  load_onload(tree);
  tree.load("sfc_resource", 2);
  tree.hold("sfc_resource", "onload");
  tree.hold("sfc_resource", "sfc_char");
  tree.put(Tree::module("onload", "parameters/ci_log_options"), "9\n");
  tree.mode(Tree::module("onload", "parameters/ci_log_options"), 0444);
  tree.put(Tree::module("onload", "parameters/secret"), "");
  tree.mode(Tree::module("onload", "parameters/secret"), 0200);
  const Module onload{.name = "onload",
                      .state = ModuleState::Live,
                      .version = "8.1.2.26",
                      .srcversion = "0123456789ABCDEF0123456",
                      .build_id = "1234abcd",
                      .refcnt = 3,
                      .taint = "OE",
                      .in_tree = false,
                      .parameters = {{"ci_log_options", {"9", false}},
                                     {"cplane_server_params", {"-K", true}},
                                     {"cplane_spawn_server", {"Y", true}},
                                     {"max_packets_per_stack", {"524288", true}},
                                     {"secret", {std::nullopt, true}}}};
  CHECK(read_module(tree.root(), "onload").value() == onload);
  const Module resource = read_module(tree.root(), "sfc_resource").value().value();
  CHECK(resource.version.empty());
  CHECK(resource.holders == std::vector<std::string>{"onload", "sfc_char"});
}

TEST_CASE("a missing module is not an error") {
  const Tree tree;
  CHECK(read_module(tree.root(), "onload").value() == std::nullopt);
}

TEST_CASE("module states are distinguished, and one without a state is built in") {
  Tree tree;
  tree.load("onload");
  const auto state = [&tree] { return read_module(tree.root(), "onload").value()->state; };
  CHECK(state() == ModuleState::Live);
  tree.put(Tree::module("onload", "initstate"), "coming\n");
  CHECK(state() == ModuleState::Coming);
  tree.put(Tree::module("onload", "initstate"), "going\n");
  CHECK(state() == ModuleState::Going);
  tree.remove(Tree::module("onload", "initstate"));
  CHECK(state() == ModuleState::Builtin);
}

TEST_CASE("a kernel in-tree driver is distinguished by its taint") {
  Tree tree;
  tree.load("sfc");
  CHECK_FALSE(read_module(tree.root(), "sfc").value()->in_tree);
  tree.put(Tree::module("sfc", "taint"), "E\n");
  CHECK(read_module(tree.root(), "sfc").value()->in_tree);
  tree.put(Tree::module("sfc", "taint"), "\n");
  CHECK(read_module(tree.root(), "sfc").value()->in_tree);
}

TEST_CASE("an empty, truncated, malformed or oversized module file is refused and quoted in the log") {
  for (const char* file : {"initstate", "refcnt", "version", "srcversion", "taint", "notes/.note.gnu.build-id"}) {
    for (const std::string& text : {std::string(), std::string("8.1"), std::string("a\nb"), std::string(5000, '9')}) {
      INFO(file << " \"" << text.substr(0, 10) << "\"");
      Tree tree;
      load_onload(tree);
      tree.put(Tree::module("onload", file), text);
      const auto module = read_module(tree.root(), "onload");
      REQUIRE_FALSE(module.has_value());
      CHECK(module.error().code == ErrorCode::Hardware);
      CHECK(module.error().detail.find(file) != std::string::npos);
      CHECK(module.error().message.find('/') == std::string::npos);
    }
  }
  for (const char* file : {"initstate", "refcnt"}) {
    INFO(file);
    Tree tree;
    load_onload(tree);
    tree.put(Tree::module("onload", file), "-1\n");
    CHECK_FALSE(read_module(tree.root(), "onload").has_value());
  }
}

TEST_CASE("a text parameter without a line end, or without any text, is read as the module of Onload shows it") {
  Tree tree;
  load_onload(tree);
  tree.put(Tree::module("onload", "parameters/cplane_server_path"), "/sbin/onload_cp_server");
  tree.put(Tree::module("onload", "parameters/cplane_server_params"), "");
  const Result<std::optional<Module>> module = read_module(tree.root(), "onload");
  REQUIRE(module.has_value());
  CHECK(module.value()->parameters.at("cplane_server_path").value == "/sbin/onload_cp_server");
  CHECK(module.value()->parameters.at("cplane_server_params").value == "");
}

TEST_CASE("an oversized module parameter is refused and quoted in the log") {
  Tree tree;
  load_onload(tree);
  tree.put(Tree::module("onload", "parameters/cplane_server_params"), std::string(5000, '9'));
  const auto module = read_module(tree.root(), "onload");
  REQUIRE_FALSE(module.has_value());
  CHECK(module.error().detail.find("parameters/cplane_server_params") != std::string::npos);
}

TEST_CASE("unavailable module properties stay empty") {
  Tree tree;
  tree.put(Tree::module("onload", "initstate"), "live\n");
  const Module module = read_module(tree.root(), "onload").value().value();
  CHECK(module == Module{.name = "onload"});
}

TEST_CASE("a parameter is written without a line end, which the kernel would keep in a text") {
  Tree tree;
  load_onload(tree);
  // What is written lies over what was there, so the line end of the old value ends the new one.
  CHECK(write_parameter(tree.root(), "onload", "cplane_server_params", "-s").has_value());
  CHECK(tree.get(Tree::module("onload", "parameters/cplane_server_params")) == "-s\n");
  CHECK(read_module(tree.root(), "onload").value()->parameters.at("cplane_server_params").value == "-s");
}

TEST_CASE("a text parameter is cleared by writing a line end") {
  Tree tree;
  load_onload(tree);
  tree.put(Tree::module("onload", "parameters/cplane_server_params"), "\n");
  CHECK(write_parameter(tree.root(), "onload", "cplane_server_params", "").has_value());
  CHECK(tree.get(Tree::module("onload", "parameters/cplane_server_params")) == "\n");
}

TEST_CASE("a value in the kernel's spelling is the same value") {
  struct Row {
    const char *wanted, *shown;
    bool same;
  };
  for (const Row& row :
       {Row{"1", "Y", true}, Row{"yes", "Y", true}, Row{"on", "Y", true}, Row{"0", "N", true}, Row{"N", "N", true},
        Row{"0", "Y", false}, Row{"2", "Y", false}, Row{"", "N", false}, Row{"0x10", "16", true},
        Row{"010", "10", true}, Row{"-2", "-2", true}, Row{"-2", "-3", false}, Row{"-K", "-K", true},
        Row{"-K", "", false}, Row{"1", "1 ", false}, Row{"a", "b", false}, Row{"", "", true}}) {
    INFO("\"" << row.wanted << "\" shown as \"" << row.shown << "\"");
    CHECK(says_same(row.wanted, row.shown) == row.same);
  }
}

TEST_CASE("a parameter that reads back differently is reported with its value") {
  Tree tree;
  load_onload(tree);
  const auto wrote = write_parameter(tree.root(), "onload", "max_packets_per_stack", "1");
  REQUIRE_FALSE(wrote.has_value());
  CHECK(wrote.error().code == ErrorCode::Hardware);
  CHECK(wrote.error().message == "parameter max_packets_per_stack of module onload: wrote \"1\", read back \"124288\"");
}

TEST_CASE("invalid settings are refused and nothing is written") {
  Tree tree;
  load_onload(tree);
  tree.mode(Tree::module("onload", "parameters/cplane_spawn_server"), 0444);
  const auto code = [&tree](const std::string& module, const std::string& parameter, const std::string& value) {
    const auto wrote = write_parameter(tree.root(), module, parameter, value);
    REQUIRE_FALSE(wrote.has_value());
    return wrote.error().code;
  };
  CHECK(code("onload", "cplane_spawn_server", "N") == ErrorCode::Unsupported);
  CHECK(code("onload", "no_such", "1") == ErrorCode::NotFound);
  CHECK(code("no_such", "cplane_spawn_server", "1") == ErrorCode::NotFound);
  CHECK(code("../module/onload", "max_packets_per_stack", "1") == ErrorCode::BadRequest);
  CHECK(code("onload", "../version", "1") == ErrorCode::BadRequest);
  CHECK(code("onload", "", "1") == ErrorCode::BadRequest);
  CHECK(code("onload", "max_packets_per_stack", "1\n2") == ErrorCode::BadRequest);
  CHECK(code("onload", "max_packets_per_stack", std::string(1024, '1')) == ErrorCode::BadRequest);
  CHECK(tree.get(Tree::module("onload", "parameters/max_packets_per_stack")) == "524288\n");
  CHECK(tree.get(Tree::module("onload", "parameters/cplane_spawn_server")) == "Y\n");
}

TEST_CASE("Onload's modules are known by name, including those of old releases") {
  for (const char* name :
       {"onload", "sfc", "sfc_resource", "sfc_char", "sfc_driverlink", "onload_cplane", "sfc_ef100"}) {
    CHECK(is_onload_module(name));
  }
  for (const char* name : {"", "onloa", "onload2", "mlx5_core"}) CHECK_FALSE(is_onload_module(name));
}

}  // namespace nrd::onload::module_state_test
