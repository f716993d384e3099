#include "cli/new_workload.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string_view>

namespace nrd::cli::new_workload_test {

TEST_CASE("a workload is requested in the shape that the daemon takes") {
  const NewWorkload wanted{.cpus = "4-7",
                           .tasks = {"4711"},
                           .resources = {{"cache", {{"max", "3"}, {"min", "1"}}},
                                         {"mba", {{"percentage", "50"}}},
                                         {"pstate", {{"epp", "\"power\""}, {"turbo", "false"}}}},
                           .uuid = "u"};
  CHECK(workload_request(wanted, R"({"pid":1})") ==
        R"({"core_ids":["4-7"],"task_ids":["4711"],"cache":{"max":3,"min":1},"rdt":{"mba":{"percentage":50}},)"
        R"("pstate":{"epp":"power","turbo":false},"uuid":"u","owner":{"pid":1}})");
  CHECK(workload_request({}) == "{}");
}

TEST_CASE("bandwidth and a shared domain alone request nothing") {
  CHECK(asks_something({.resources = {{"l2", {{"ways", "4"}}}}}));
  CHECK(asks_something({.resources = {{"pstate", {{"shared_domain", "\"allow\""}, {"turbo", "false"}}}}}));
  CHECK_FALSE(asks_something({.cpus = "4"}));
  CHECK_FALSE(asks_something({.resources = {{"mba", {{"percentage", "50"}}}}}));
  CHECK_FALSE(asks_something({.resources = {{"pstate", {{"shared_domain", "\"allow\""}}}}}));
}

TEST_CASE("the options come from the description of a workload") {
  const auto argument_of = [](std::string_view flag) {
    const auto found =
        std::ranges::find_if(resource_options(), [&](const ResourceOption& each) { return each.option.flag == flag; });
    REQUIRE(found != resource_options().end());
    return found->argument;
  };
  using Argument = ResourceOption::Argument;
  CHECK(argument_of("--l2-ways") == Argument::Number);
  CHECK(argument_of("--max-mhz") == Argument::Number);
  CHECK(argument_of("--governor") == Argument::Text);
  CHECK(argument_of("--adaptive") == Argument::Text);
  CHECK(argument_of("--no-turbo") == Argument::None);
}

}  // namespace nrd::cli::new_workload_test
