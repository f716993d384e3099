#include "cli/onload/export.h"

#include <doctest/doctest.h>

#include "base/json/reader.h"
#include "cli/onload/onload.h"

namespace nrd::cli::export_test {
namespace {

constexpr const char* kAllocation = R"({"id": 7, "version": "9.0.2",
  "env": {"EF_A": "it's 100%", "LD_PRELOAD": "/opt/nrd/onload/versions/9.0.2/usr/lib64/libonload.so"},
  "devices": ["/dev/onload"],
  "mounts": [{"source": "/opt/nrd/onload/versions/9.0.2/usr/lib64/libonload.so", "target": "x", "read_only": true}]})";

std::string emitted(Kind kind, const char* text = kAllocation) {
  const auto result = export_text(kind, *json::parse(text));
  return result ? *result : "refused";
}

}  // namespace

TEST_CASE("container arguments are quoted for a shell, and paths go through current") {
  CHECK(emitted(Kind::Docker) ==
        "--device '/dev/onload' -v "
        "'/opt/nrd/onload/current/usr/lib64/libonload.so:/opt/nrd/onload/current/usr/lib64/libonload.so:ro' "
        "-e 'EF_A=it'\\''s 100%' -e 'LD_PRELOAD=/opt/nrd/onload/current/usr/lib64/libonload.so'\n");
}

TEST_CASE("a CDI file lists device nodes, mounts and variables") {
  const auto file = json::parse(emitted(Kind::Cdi));
  REQUIRE(file);
  CHECK(*file->find("kind")->as_string() == "amd.com/onload");
  const json::Value& edits = *file->find("devices")->items().front().find("containerEdits");
  CHECK(*edits.find("env")->items().front().as_string() == "EF_A=it's 100%");
  CHECK(*edits.find("deviceNodes")->items().front().find("path")->as_string() == "/dev/onload");
  CHECK(*edits.find("mounts")->items().front().find("hostPath")->as_string() ==
        "/opt/nrd/onload/current/usr/lib64/libonload.so");
}

TEST_CASE("a drop-in preloads the current library") {
  const std::string text = emitted(Kind::Systemd);
  CHECK(text.find("Environment=\"LD_PRELOAD=/opt/nrd/onload/current/usr/lib64/libonload.so\"\n") != std::string::npos);
  CHECK(text.find("Environment=\"EF_A=it's 100%%\"\n") != std::string::npos);
}

TEST_CASE("an incomplete response is refused") {
  for (const char* text : {"{}", "[]", R"({"env": {}, "devices": [], "mounts": []})"}) {
    CAPTURE(text);
    CHECK(emitted(Kind::Docker, text) == "refused");
  }
}

TEST_CASE("words are separated") {
  CHECK(words_of("a,b", ',') == std::vector<std::string>{"a", "b"});
  CHECK(words_of(",a,,", ',') == std::vector<std::string>{"a"});
  CHECK(words_of("", ',').empty());
}

}  // namespace nrd::cli::export_test
