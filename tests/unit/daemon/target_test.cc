#include "daemon/onload/target.h"

#include <doctest/doctest.h>

#include "daemon/onload/launch_config.h"

namespace nrd::onload::target_test {
namespace {

constexpr const char* kKernel = "6.1.0-56-amd64";
constexpr const char* kTree = "/opt/nrd/onload/versions/9.0";

VersionModule a_module(const std::string& name, std::vector<std::string> parameters = {}) {
  return {.path = "lib/modules/" + name + ".ko",
          .file = {.name = name, .build_id = "id of " + name, .parameters = std::move(parameters)}};
}

Version a_version() {
  return {.name = "9.0",
          .kernels = {{kKernel,
                       {a_module("sfc"), a_module("sfc_resource"), a_module("sfc_char", {"phys_mode_gid"}),
                        a_module("onload", {"cplane_server_path", "cplane_server_params", "cplane_spawn_server",
                                            "cplane_server_uid"})}}},
          .control_plane = "sbin/onload_cp_server"};
}

Spec a_spec(Parameters parameters = {}) {
  return {.state = State::Loaded, .version = "9.0", .parameters = std::move(parameters)};
}

const std::vector<daemon::AllowedParameter> kAllowed = {{"sfc_char", "phys_mode_gid", "7"},
                                                        {"sfc_char", "phys_mode_gid", "a\"b"},
                                                        {"onload", "cplane_server_uid", std::nullopt},
                                                        {"onload", "no_such", std::nullopt}};

Result<onload::Target> target(const Spec& spec, const Version& version = a_version(),
                              const std::vector<daemon::AllowedParameter>& allowed = kAllowed) {
  return daemon::target_of(spec, version, kKernel, kTree, allowed);
}

std::string at_fault(const Result<onload::Target>& found) {
  if (found) return "nothing";
  CHECK(found.error().code == ErrorCode::BadRequest);
  return found.error().field;
}

}  // namespace

TEST_CASE("onload is loaded with the server of its own version and the requested arguments") {
  Spec spec = a_spec();
  spec.control_plane = {"-K", "--no-listen"};
  const auto found = target(spec);
  REQUIRE(found);
  CHECK(found->modules ==
        std::vector<TargetModule>{{"sfc_resource", "id of sfc_resource", {}},
                                  {"sfc_char", "id of sfc_char", {}},
                                  {"onload",
                                   "id of onload",
                                   {{"cplane_server_path", std::string(kTree) + "/sbin/onload_cp_server"},
                                    {"cplane_server_params", "-K --no-listen"},
                                    {"cplane_spawn_server", "Y"}}}});
}

TEST_CASE("a parameter of nrd that the module does not know is omitted") {
  Version version = a_version();
  version.kernels.at(kKernel).back().file.parameters = {"cplane_server_path"};
  CHECK(target(a_spec(), version)->modules.back().parameters.size() == 1);
  version.control_plane.clear();
  CHECK(target(a_spec(), version)->modules.back().parameters.empty());
}

TEST_CASE("requested parameters override nrd's own") {
  const auto found =
      target(a_spec({{"onload", {{"cplane_spawn_server", "N"}}}, {"sfc_char", {{"phys_mode_gid", "7"}}}}));
  REQUIRE(found);
  CHECK(found->modules.back().parameters.at("cplane_spawn_server") == "N");
  CHECK(found->modules[1].parameters == std::map<std::string, std::string>{{"phys_mode_gid", "7"}});
}

TEST_CASE("the driver is included only if it is managed") {
  Spec spec = a_spec();
  spec.sfc = Sfc::Managed;
  CHECK(target(spec)->modules.front().name == "sfc");
  CHECK(target(a_spec())->modules.front().name == "sfc_resource");
}

TEST_CASE("a version without modules for the running kernel is refused and lists its kernels") {
  const auto refused = daemon::target_of(a_spec(), a_version(), "6.12.0", kTree, {});
  CHECK(at_fault(refused) == "/version");
  CHECK(refused.error().message.find("6.12.0") != std::string::npos);
  CHECK(refused.error().allowed.find(kKernel) != std::string::npos);
  Version version = a_version();
  version.kernels.at(kKernel).pop_back();
  CHECK(at_fault(target(a_spec(), version)) == "/version");
}

TEST_CASE("parameters that a module would not accept are refused before anything is changed") {
  struct Row {
    Parameters parameters;
    const char* field;
  };
  const std::vector<Row> rows = {
      {{{"onload", {{"no_such", "1"}}}}, "/parameters/onload"},
      {{{"sfc_char", {{"phys_mode_gid", "a\"b"}}}}, "/parameters/sfc_char"},
      {{{"sfc", {{"rss_cpus", "1"}}}}, "/parameters/sfc"},
      {{{"onload_cplane", {}}}, "/parameters/onload_cplane"},
      {{{"onload", {{"cplane_server_uid", "1000000"}}}}, "/parameters/onload/cplane_server_uid"},
      {{{"onload", {{"cplane_server_uid", "-1"}}}}, "/parameters/onload/cplane_server_uid"},
      {{{"onload", {{"cplane_server_uid", "1 "}}}}, "/parameters/onload/cplane_server_uid"},
      {{{"onload", {{"cplane_server_uid", "999999"}}}}, "nothing"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.field);
    CHECK(at_fault(target(a_spec(row.parameters))) == row.field);
  }
  Spec quoted = a_spec();
  quoted.control_plane = {"\""};
  CHECK(at_fault(target(quoted)) == "/parameters/onload");
}

TEST_CASE("a privileged parameter is accepted only as root allowed it") {
  const Version version = a_version();
  const auto with = [&version](const std::string& module, const std::string& name, const std::string& value,
                               const std::vector<daemon::AllowedParameter>& allowed) {
    return at_fault(target(a_spec({{module, {{name, value}}}}), version, allowed));
  };
  for (const char* value : {"-1", "0", "8", "07", "7 ", ""}) {
    CAPTURE(value);
    CHECK(with("sfc_char", "phys_mode_gid", value, kAllowed) == "/parameters/sfc_char/phys_mode_gid");
    CHECK(with("sfc_char", "phys_mode_gid", value, {}) == "/parameters/sfc_char/phys_mode_gid");
  }
  CHECK(with("sfc_char", "phys_mode_gid", "7", kAllowed) == "nothing");
  for (const char* name :
       {"inject_kernel_gid", "scalable_filter_gid", "allow_insecure_setuid_sharing", "shrub_controller_uid",
        "cplane_server_uid", "a_parameter_to_come", "CPLANE_SPAWN_SERVER", "cplane-spawn-server"}) {
    CAPTURE(name);
    CHECK(with("onload", name, "1", {}) == std::string("/parameters/onload/") + name);
  }
  // Of another module it is another parameter.
  CHECK(with("sfc_char", "cplane_spawn_server", "1", {}) == "/parameters/sfc_char/cplane_spawn_server");
  CHECK(with("onload", "cplane_spawn_server", "Y", {}) == "nothing");
}

TEST_CASE("root allows parameters by module and name, with any value or one") {
  using daemon::AllowedParameter;
  CHECK(daemon::parse_allowed_parameter("sfc_char.phys_mode_gid=7") ==
        AllowedParameter{"sfc_char", "phys_mode_gid", "7"});
  CHECK(daemon::parse_allowed_parameter("onload.a") == AllowedParameter{"onload", "a", std::nullopt});
  CHECK(daemon::parse_allowed_parameter("onload.a=") == AllowedParameter{"onload", "a", ""});
  CHECK(daemon::parse_allowed_parameter("onload.a=b.c=d") == AllowedParameter{"onload", "a", "b.c=d"});
  for (const char* wrong :
       {"", "onload", "onload.", ".a", "onload.a b", "*.a", "onload.*", "on/load.a", "onload=a.b"}) {
    CAPTURE(wrong);
    CHECK_FALSE(daemon::parse_allowed_parameter(wrong));
  }
}

TEST_CASE("tuning parameters are allowed for the module that has them") {
  Version version = a_version();
  version.kernels.at(kKernel).back().file.parameters.emplace_back("xdp_headroom");
  CHECK(at_fault(target(a_spec({{"onload", {{"xdp_headroom", "512"}}}}), version)) == "nothing");
}

TEST_CASE("a program that the kernel runs as root must be in the version's own tree") {
  Version version = a_version();
  version.kernels.at(kKernel)[1].file.parameters = {"bpf_link_helper"};
  version.kernels.at(kKernel).back().file.parameters.emplace_back("shrub_controller_path");
  const auto with = [&version](const std::string& module, const std::string& name, const std::string& value) {
    return at_fault(target(a_spec({{module, {{name, value}}}}), version));
  };
  const std::string tree = kTree;
  for (const std::string& program :
       {std::string("/bin/sh"), std::string("bin/sh"), std::string(), tree, tree + "/", tree + "/../8.1/sbin/x",
        tree + "x/sbin/server", tree + "//bin/sh", tree + "/sbin/a -c reboot", "/." + tree + "/sbin/server"}) {
    CAPTURE(program);
    CHECK(with("onload", "cplane_server_path", program) == "/parameters/onload/cplane_server_path");
    CHECK(with("onload", "shrub_controller_path", program) == "/parameters/onload/shrub_controller_path");
    CHECK(with("sfc_resource", "bpf_link_helper", program) == "/parameters/sfc_resource/bpf_link_helper");
  }
  CHECK(with("onload", "cplane_server_path", tree + "/sbin/onload_cp_server") == "nothing");
  CHECK(with("onload", "shrub_controller_path", tree + "/sbin/shrub_controller") == "nothing");
  CHECK(with("sfc_resource", "bpf_link_helper", tree + "/usr/libexec/bpf_link_helper") == "nothing");
}

TEST_CASE("without modules only the policies are used") {
  const Spec spec{.state = State::Unloaded, .users = UsersPolicy::Term, .drain = std::chrono::seconds(7)};
  CHECK(daemon::target_without_modules(spec) ==
        onload::Target{.state = State::Unloaded, .users = UsersPolicy::Term, .drain = std::chrono::seconds(7)});
}

}  // namespace nrd::onload::target_test
