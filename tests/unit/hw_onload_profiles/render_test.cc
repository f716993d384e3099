#include "hw/onload/profiles/render.h"

#include <doctest/doctest.h>

#include <ostream>

#include "hw/onload/profiles/variable.h"

namespace nrd::profiles::render_test {
namespace {

const Environment kPlain{{"EF_POLL_USEC", "100000"}, {"EF_SCALABLE_FILTERS", "any=rss:active"}};
const Environment kNasty{{"EF_X", R"(a "b" \c\ $d `e` %f 'g' #h: -)"}};

template <typename T>
std::string text_of(const Result<T>& result) {
  return result ? *result : "wrong: " + result.error().message;
}

}  // namespace

TEST_CASE("an environment file has one quoted variable per line") {
  CHECK(text_of(render_env(kPlain)) == "EF_POLL_USEC=\"100000\"\nEF_SCALABLE_FILTERS=\"any=rss:active\"\n");
  CHECK(text_of(render_env(kNasty)) == R"(EF_X="a \"b\" \\c\\ \$d \`e\` %f 'g' #h: -")"
                                       "\n");
  CHECK(text_of(render_env({})).empty());
}

TEST_CASE("a drop-in has the variables, the devices and the order after nrd") {
  CHECK(text_of(render_drop_in(kPlain)) ==
        "[Unit]\nAfter=nrd.service\n\n[Service]\n"
        "Environment=\"EF_POLL_USEC=100000\"\n"
        "Environment=\"EF_SCALABLE_FILTERS=any=rss:active\"\n"
        "DeviceAllow=/dev/onload rw\nDeviceAllow=/dev/onload_epoll rw\nDeviceAllow=/dev/sfc_char rw\n");
  CHECK(text_of(render_drop_in(kNasty))
            .find("\n"
                  R"(Environment="EF_X=a \"b\" \\c\\ $d `e` %%f 'g' #h: -")"
                  "\n") != std::string::npos);
}

TEST_CASE("a ConfigMap has one quoted key per variable, and documents are separated") {
  CHECK(text_of(render_config_maps({{"latency", kPlain}, {"empty", {}}, {"nasty", kNasty}})) ==
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: onload-latency-profile\n"
        "  labels:\n    app.kubernetes.io/part-of: onload\ndata:\n"
        "  \"EF_POLL_USEC\": \"100000\"\n  \"EF_SCALABLE_FILTERS\": \"any=rss:active\"\n"
        "---\n"
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: onload-empty-profile\n"
        "  labels:\n    app.kubernetes.io/part-of: onload\ndata: {}\n"
        "---\n"
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: onload-nasty-profile\n"
        "  labels:\n    app.kubernetes.io/part-of: onload\ndata:\n"
        R"(  "EF_X": "a \"b\" \\c\\ $d `e` %f 'g' #h: -")"
        "\n");
  CHECK(text_of(render_config_maps({})).empty());
}

TEST_CASE("a profile's name becomes a valid ConfigMap name") {
  CHECK(text_of(config_map_name("latency")) == "onload-latency-profile");
  CHECK(text_of(config_map_name("/etc/p/My_Profile.opf")) == "onload-my-profile-profile");
  CHECK(text_of(config_map_name("nginx.proxy--v2")) == "onload-nginx-proxy-v2-profile");
  CHECK(text_of(config_map_name("-a-")) == "onload-a-profile");
  CHECK(text_of(config_map_name("caf\xc3\xa9 au lait")) == "onload-caf-au-lait-profile");
  CHECK(text_of(config_map_name("A.OPF")) == "onload-a-profile");
  for (const char* name : {"", ".opf", "___", "/", "a/"}) {
    INFO(name);
    CHECK(text_of(config_map_name(name)).ends_with("cannot be turned into a ConfigMap name"));
  }
  CHECK(text_of(config_map_name(std::string(238, 'a'))).size() == 253);
  CHECK(text_of(config_map_name(std::string(239, 'a'))).ends_with("is too long for a ConfigMap"));
}

TEST_CASE("two profiles with the same ConfigMap name are refused") {
  CHECK(text_of(render_config_maps({{"a_b", kPlain}, {"c", kPlain}, {"A-B", kPlain}})) ==
        "wrong: two profiles would have the ConfigMap name onload-a-b-profile");
}

TEST_CASE("one invalid variable refuses the whole output, in every form") {
  Environment many;
  for (size_t i = 0; i <= kVariablesLimit; ++i) many["EF_" + std::to_string(i)] = "1";
  const std::map<std::string, Environment> refused{
      {"`EF-X` is not a valid variable name", {{"EF_A", "1"}, {"EF-X", "1"}}},
      {"`` is not a valid variable name", {{"", "1"}}},
      {"the value of EF_X contains a line feed or another control character",
       {{"EF_A", "1"}, {"EF_X", "1\nExecStart=/x"}}},
      {"the value of EF_X is not UTF-8", {{"EF_X", "\xff"}}},
      {"the value of EF_X is longer than 1024 bytes", {{"EF_X", std::string(1025, 'a')}}},
      {"more than 512 variables", many}};
  for (const auto& [message, environment] : refused) {
    INFO(message);
    CHECK(text_of(render_env(environment)) == "wrong: " + message);
    CHECK(text_of(render_drop_in(environment)) == "wrong: " + message);
    CHECK(text_of(render_config_maps({{"a", kPlain}, {"b", environment}})) == "wrong: " + message);
  }
}

}  // namespace nrd::profiles::render_test
