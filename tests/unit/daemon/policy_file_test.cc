#include "daemon/policy_file.h"

#include <doctest/doctest.h>

#include <ostream>

#include "api/tree/tree.h"
#include "daemon/config.h"
#include "engine/model/policies.h"
#include "tests/support/temporary_tree.h"

namespace nrd::daemon::policy_file_test {
namespace {

using Folder = testing::TemporaryTree;

const Part kSkylake{"GenuineIntel", 6, 0x55};
const Part kUnknown{"GenuineIntel", 6, 0xbd};

constexpr const char* kToml =
    "[default.gold.cache]\nmax = 2\nmin = 2\n"
    "[Skylake.Gold.Cache]\nMax = 4\nMin = 4\n"
    "[Skylake.Gold.pstate]\nratio = 1.5\n"
    "[Skylake.wide.mba]\npercentage = 50\n";
constexpr const char* kYaml =
    "default:\n  gold:\n    cache: {max: 2, min: 2}\n"
    "Skylake:\n  Gold:\n    Cache:\n      Max: 4\n      Min: 4\n    pstate:\n      ratio: 1.5\n"
    "  wide:\n    mba:\n      percentage: 50\n";

Policies of_skylake() {
  FrequencyRequest adaptive;
  adaptive.threshold = BranchMissThreshold{1.5};
  return {{"gold", {.cache = CacheRequest{4, 4}, .mba = {}, .frequency = adaptive}},
          {"wide", {.cache = {}, .mba = MbaRequest{MbaRequest::Unit::Percentage, 50}, .frequency = {}}}};
}

// The message for a file with this text.
std::string complaint(const std::string& file, const std::string& text) {
  const Folder folder;
  const auto found = load_policies({.policies = folder.put(file, text), .cpu_map = {}}, kSkylake);
  REQUIRE_FALSE(found);
  CHECK(found.error().code == ErrorCode::BadRequest);
  const std::string& message = found.error().message;
  REQUIRE(message.starts_with(folder.path(file)));
  return message.substr(folder.path(file).size());
}

}  // namespace

TEST_CASE("TOML and YAML are equivalent, and keys are case-insensitive") {
  const Folder folder;
  for (const std::string& path :
       {folder.put("p.toml", kToml), folder.put("p.yaml", kYaml), folder.put("p.yml", kYaml)}) {
    CAPTURE(path);
    const auto found = load_policies({.policies = path, .cpu_map = {}}, kSkylake);
    REQUIRE(found);
    CHECK(found->section == "skylake");
    CHECK(*found->policies == of_skylake());
  }
}

TEST_CASE("a CPU without its own section gets the default section") {
  const Folder folder;
  const auto found = load_policies({.policies = folder.put("p.toml", kToml), .cpu_map = {}}, kUnknown);
  REQUIRE(found);
  CHECK(found->section == "default");
  CHECK(*found->policies == Policies{{"gold", {.cache = CacheRequest{2, 2}}}});
  const auto none = load_policies(
      {.policies = folder.put("q.toml", "[skylake.gold.cache]\nmax = 1\nmin = 1\n"), .cpu_map = {}}, kUnknown);
  REQUIRE(none);
  CHECK(none->policies == nullptr);
}

TEST_CASE("RMD's own files are accepted unchanged") {
  const Folder folder;
  const std::string map = folder.put("cpu_map.toml",
                                     "# This is a cpu microarch config.\n\ntitle = \"cpu microarch\"\n\n"
                                     "[[Broadwell]]\nfamily=6\nmodel=61\n\n[[Broadwell]]\nfamily=6\nmodel=189\n");
  const std::string policies = folder.put("policy.toml",
                                          "[broadwell]\n  [broadwell.gold]\n    [broadwell.gold.cache]\n    max = 2\n"
                                          "    min = 2\n    [broadwell.gold.pstate]\n    ratio = 1.5\n");
  const auto found = load_policies({.policies = policies, .cpu_map = map}, kUnknown);  // 0xbd is 189
  REQUIRE(found);
  CHECK(found->section == "broadwell");
  CHECK(found->policies->at("gold").cache == CacheRequest{2, 2});
}

TEST_CASE("the shipped policies are valid on every kind of node") {
  for (const Part& part :
       {kSkylake, kUnknown, Part{"GenuineIntel", 6, 0x4f}, Part{"AuthenticAMD", 0x19, 0x11}, Part{}}) {
    const auto found = load_policies({.policies = NRD_SOURCE_DIR "/etc/policy.toml", .cpu_map = {}}, part);
    REQUIRE(found);
    REQUIRE(found->policies);
    CHECK(found->policies->size() == 3);
    CHECK(found->policies->at("bronze") == Policy{.cache = CacheRequest{0, 0}});
  }
}

TEST_CASE("an empty file has no policies, and a configured file must exist") {
  const Folder folder;
  for (const char* file : {"p.toml", "p.yaml"}) {
    for (const char* text : {"", "# nothing\n", "\n\n"}) {
      const auto found = load_policies({.policies = folder.put(file, text), .cpu_map = {}}, kSkylake);
      REQUIRE(found);
      CHECK(found->policies == nullptr);
    }
  }
  CHECK(load_policies({.policies = folder.path("gone.toml"), .cpu_map = {}}, kSkylake).error().message ==
        folder.path("gone.toml") + ": file not found");
  CHECK_FALSE(load_policies({.policies = {}, .cpu_map = folder.path("gone.toml")}, kSkylake));
  CHECK(complaint("p.json", "{}") == ": expected a file name ending in .toml, .yaml or .yml");
}

TEST_CASE("a truncated file is refused with its line") {
  CHECK(complaint("p.toml", "[a.b.cache]\nmax = 1\nmin =").starts_with(":3: "));
  CHECK(complaint("p.yaml", "a:\n  b:\n    cache: {max: 1, mi").starts_with(":3: "));
  CHECK(complaint("p.yaml", "a:\n  b:\n    \"cac").starts_with(":3: "));
  CHECK(complaint("p.toml", "[a.b.cache]\nmax = 1\n") == ": /a/b/cache/min: is missing");
  CHECK(complaint("p.yaml", "a:\n  b:\n    cache:\n") == ": /a/b/cache: expected a section, found null");
}

TEST_CASE("invalid policy contents are refused with their place") {
  const std::pair<const char*, const char*> rows[] = {
      {"a: 1\n", ": /a: expected a section, found a number"},
      {"a: {b: gold}\n", ": /a/b: expected a section, found a string"},
      {"a: {b: {}}\n", ": /a/b: names no resource; expected cache, pstate or mba"},
      {"a: {b: {pstate: {}}}\n", ": /a/b: names no resource; expected cache, pstate or mba"},
      {"a: {'': {cache: {max: 1, min: 1}}}\n", ": /a/: is not a valid policy name"},
      {"a: {b: {cahce: {}}}\n", ": /a/b/cahce: unknown key \"cahce\"; did you mean \"cache\"?"},
      {"a: {b: {cache: {max: -1, min: 1}}}\n",
       ": /a/b/cache/max: expected a whole number from 0 to 4294967295, found -1"},
      {"a: {b: {cache: {max: 1.5, min: 1}}}\n",
       ": /a/b/cache/max: expected a whole number from 0 to 4294967295, found 1.5"},
      {"a: {b: {cache: {max: '1', min: 1}}}\n",
       ": /a/b/cache/max: expected a whole number from 0 to 4294967295, found \"1\""},
      {"a: {b: {cache: {max: 010, min: 1}}}\n",
       ": /a/b/cache/max: expected a whole number from 0 to 4294967295, found \"010\""},
      {"a: {b: {cache: {max: 1, min: 2}}}\n", ": /a/b/cache: min is 2, but max is only 1"},
      {"a: {b: {mba: {percentage: 101}}}\n", ": /a/b/mba/percentage: expected a whole number from 1 to 100, found 101"},
      {"a: {b: {mba: {mbps: 4294967291}}}\n",
       ": /a/b/mba/mbps: expected a whole number from 1 to 4294967290, found 4294967291"},
      {"a: {b: {mba: {percentage: 1, mbps: 1}}}\n", ": /a/b/mba: expected one of percentage and mbps"},
      {"a: {b: {mba: {}}}\n", ": /a/b/mba: expected one of percentage and mbps"},
      {"a: {b: {pstate: {ratio: -1}}}\n",
       ": /a/b/pstate/ratio: expected a number above 0 (branch misses in percent of hits), found -1"},
      {"a: {b: {cache: {max: 1, min: 1}}, B: {}}\n", ":1: B is there twice"},
      {"a: {b: {cache: {max: 1, max: 2}}}\n", ":1: max is there twice"},
      {"- a\n", ": expected sections, one for each kind of CPU"},
      {"a: 1\n---\nb: 2\n", ":1: contains more than one document; expected one"},
      {"? [a]\n: 1\n", ":1: expected a plain key before the colon"},
  };
  for (const auto& [text, says] : rows) {
    CAPTURE(text);
    CHECK(complaint("p.yaml", text) == says);
  }
  CHECK(complaint("p.toml", "[a.b.cache]\nmax = 1979-05-27\n") == ":2: expected a string, number or boolean");
  CHECK(complaint("p.toml", "[a.b.cache]\nmax = inf\n") == ":2: expected a string, number or boolean");
  CHECK(complaint("p.toml", "[a.b.cache]\nmax = 1\nMax = 2\n") == ":2: max is there twice, in another case");
}

TEST_CASE("a file with self-references or unbounded growth is refused") {
  CHECK(complaint("p.yaml", "a: &a\n  b: *a\n").find("nested too deeply, or an alias to itself") != std::string::npos);
  std::string bomb = "l0: &l0 {x: 1, y: 1}\n";
  for (int level = 1; level < 7; ++level) {
    bomb += "l" + std::to_string(level) + ": &l" + std::to_string(level) + " {";
    for (int copy = 0; copy < 40; ++copy)
      bomb += "k" + std::to_string(copy) + ": *l" + std::to_string(level - 1) + ", ";
    bomb += "}\n";
  }
  CHECK(complaint("p.yaml", bomb).find("too many values") != std::string::npos);
  for (const std::string again : {", *t", ", {*t : 1}"}) {
    std::string texts = "a: [&t \"" + std::string(100'000, 'x') + "\"";
    for (int copy = 0; copy < 200; ++copy) texts += again;
    CHECK(complaint("p.yaml", texts + "]\n") == ":1: too many values");
  }
  CHECK_FALSE(complaint("p.yaml", std::string(100'000, '[')).empty());
  CHECK_FALSE(complaint("p.toml", "a = " + std::string(100'000, '[')).empty());
  std::string dotted = "# keys\na";
  for (int level = 0; level < 100'000; ++level) dotted += ".a";
  CHECK(complaint("p.toml", dotted + " = 1\n") == ":2: more than 4096 bytes");
  CHECK(complaint("p.toml", std::string(300'000, '#')).starts_with(": cannot read file"));
  std::string many;
  for (int n = 0; n < 65; ++n) many += "[a.p" + std::to_string(n) + ".cache]\nmax = 0\nmin = 0\n";
  CHECK(complaint("p.toml", many) == ": /a: too many policies; at most 64");
}

TEST_CASE("a contradictory or truncated CPU map is refused") {
  const auto refused = [](const std::string& text) {
    const auto models = tree::of_toml(text, "m");
    return models ? parse_cpu_map(*models, "m").error().message : models.error().message;
  };
  CHECK(refused("[[a]]\nfamily = 6\n") == "m: /a/0/model: is missing");
  CHECK(refused("[a]\nfamily = 6\nmodel = 1\n") == "m: /a: expected [[a]]");
  CHECK(refused("[[a]]\nfamily = 6\nmodel = 1\nstepping = 2\n").starts_with("m: /a/0/stepping: unknown key"));
  CHECK(refused("[[a]]\nfamily = 6\nmodel = 1\n[[b]]\nfamily = 6\nmodel = 1\n") == "m: /b/0: already named a");
  CHECK(refused("[[a]]\nfamily = 6\nmodel = \"85\"\n").starts_with("m: /a/0/model: expected a whole number"));
}

TEST_CASE("CPUs have the names used in policy files") {
  const std::pair<Part, const char*> rows[] = {
      {{"GenuineIntel", 6, 0x55}, "skylake"},
      {{"GenuineIntel", 6, 0x4f}, "broadwell"},
      {{"GenuineIntel", 6, 0x9e}, "kaby lake"},
      {{"GenuineIntel", 6, 0x6a}, "ice lake"},
      {{"GenuineIntel", 6, 0xae}, "granite rapids"},
      {{"AuthenticAMD", 0x17, 0x31}, "zen 2"},
      {{"AuthenticAMD", 0x19, 0x01}, "zen 3"},
      {{"AuthenticAMD", 0x19, 0x11}, "zen 4"},
      {{"AuthenticAMD", 0x1a, 0x02}, "zen 5"},
      {{"GenuineIntel", 15, 0x55}, ""},
      {{"AuthenticAMD", 6, 0x55}, ""},
      {{"HygonGenuine", 0x18, 0}, ""},
      {{}, ""},
  };
  for (const auto& [part, name] : rows) {
    INFO(to_string(part));
    CHECK(microarchitecture_of(part, {}) == name);
  }
  CHECK(microarchitecture_of({"GenuineIntel", 6, 0x55}, {{{6, 0x55}, "mine"}}) == "mine");
}

}  // namespace nrd::daemon::policy_file_test
