#include "hw/onload/load_order.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <ostream>

namespace nrd::onload::load_order_test {
namespace {

using Names = std::vector<std::string>;

VersionModule a_module(const std::string& name, Names depends = {}) {
  return {.path = "extra/" + name + ".ko", .file = {.name = name, .depends = std::move(depends)}};
}

Names order_of(std::vector<VersionModule> modules) {
  Names names;
  const std::vector<VersionModule> order = load_order(std::move(modules)).value();
  for (const VersionModule& module : order) names.push_back(module.file.name);
  return names;
}

}  // namespace

TEST_CASE("current modules have one load order, whatever the input order") {
  std::vector<VersionModule> modules{a_module("onload", {"sfc_char", "sfc_resource"}), a_module("sfc", {"mtd", "ptp"}),
                                     a_module("sfc_char", {"sfc_resource"}), a_module("sfc_resource")};
  const auto by_path = [](const VersionModule& a, const VersionModule& b) { return a.path < b.path; };
  std::sort(modules.begin(), modules.end(), by_path);
  do {
    CHECK(order_of(modules) == Names{"sfc", "sfc_resource", "sfc_char", "onload"});
  } while (std::next_permutation(modules.begin(), modules.end(), by_path));
}

TEST_CASE("symbols take precedence over the known order") {
  CHECK(order_of({a_module("sfc_resource", {"zz_new"}), a_module("zz_new"), a_module("sfc", {"sfc_resource"})}) ==
        Names{"zz_new", "sfc_resource", "sfc"});
}

TEST_CASE("historical helpers come before their users") {
  CHECK(order_of({a_module("onload", {"sfc_char", "sfc_resource"}), a_module("sfc_char", {"sfc_resource"}),
                  a_module("sfc_resource", {"sfc_driverlink"}), a_module("sfc", {"sfc_driverlink"}),
                  a_module("sfc_driverlink"), a_module("virtual_bus")}) ==
        Names{"virtual_bus", "sfc_driverlink", "sfc", "sfc_resource", "sfc_char", "onload"});
}

TEST_CASE("unknown modules come last, by name") {
  CHECK(order_of({a_module("zebra"), a_module("ant"), a_module("onload")}) == Names{"onload", "ant", "zebra"});
  CHECK(order_of({}).empty());
}

TEST_CASE("duplicate modules and cycles are refused") {
  CHECK(load_order({a_module("sfc"), a_module("sfc")}).error().code == ErrorCode::BadRequest);
  CHECK(load_order({a_module("a", {"b"}), a_module("b", {"a"})}).error().code == ErrorCode::BadRequest);
  CHECK(load_order({a_module("a", {"a"})}).error().code == ErrorCode::BadRequest);
}

TEST_CASE("distribution modules are listed once, in dependency order") {
  CHECK(needed_of_system({a_module("sfc", {"mtd", "ptp"}), a_module("sfc_resource", {"ptp", "auxiliary"}),
                          a_module("onload", {"sfc_resource"})}) == Names{"mtd", "ptp", "auxiliary"});
  CHECK(needed_of_system({}).empty());
}

}  // namespace nrd::onload::load_order_test
