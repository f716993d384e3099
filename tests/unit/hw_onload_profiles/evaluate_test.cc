#include "hw/onload/profiles/evaluate.h"

#include <doctest/doctest.h>

#include <ostream>

#include "hw/onload/profiles/profile_text.h"
#include "hw/onload/profiles/variable.h"
#include "tests/unit/hw_onload_profiles/stopped.h"

namespace nrd::profiles::evaluate_test {
namespace {

using Files = std::map<std::string, std::string>;

// A user's directory before the one that is installed.
Library library_of(Files files, Paths paths = Paths::Refused) {
  return {.directories = {"/home/p", "/lib/p"},
          .paths = paths,
          .read = [files = std::move(files)](const std::string& path) -> Result<std::optional<ProfileFile>> {
            const auto found = files.find(path);
            if (found == files.end()) return std::nullopt;
            return ProfileFile{found->second};
          }};
}

std::string text_of(const Parsed<Evaluated>& known) {
  if (!known) return text_of(known.error());
  std::string text;
  for (const auto& [name, value] : known->environment) {
    text += (text.empty() ? "" : " ") + name + "=" + value;
  }
  return text;
}

std::string evaluated(const Files& files, std::vector<std::string> profiles, Environment caller = {},
                      Winner winner = Winner::Caller) {
  return text_of(evaluate(library_of(files), {std::move(profiles), std::move(caller), winner}));
}

// One profile, "/lib/p/x.opf".
std::string evaluated(const std::string& text, Environment caller = {}) {
  return evaluated(Files{{"/lib/p/x.opf", text}}, {"x"}, std::move(caller));
}

// What the profiles that come with Onload are made of.
const Files kShipped{
    {"/lib/p/latency.opf",
     "# Spin, and no fast start.\n"
     "onload_set EF_POLL_USEC 100000\n"
     "onload_set EF_TCP_FASTSTART_INIT 0  # new connections\n"
     "onload_set EF_TCP_FASTSTART_IDLE 0  # idle ones\n"
     "##onload_set EF_NONAGLE_INFLIGHT_MAX 65535\n"},
    {"/lib/p/throughput.opf-fragment",
     "onload_set EF_TCP_SHARED_LOCAL_PORTS 570000\n"
     "onload_set EF_TCP_SHARED_LOCAL_PORTS_MAX $EF_TCP_SHARED_LOCAL_PORTS\n"
     "onload_set EF_MAX_ENDPOINTS 1000000\n"
     "onload_set EF_SOCKET_CACHE_MAX $(( $EF_MAX_ENDPOINTS / 4 ))\n"
     "onload_set EF_MAX_PACKETS $(( (180000*32) / $EF_CLUSTER_SIZE ))\n"
     "onload_import base\n"
     "onload_set EF_POLL_USEC 20\n"},
    {"/lib/p/base.opf-fragment", "onload_set EF_TX_PUSH 0\nonload_set EF_PIO 0\n"},
    {"/lib/p/proxy.opf",
     "onload_set EF_CLUSTER_SIZE \"$num_workers\"\n"
     "onload_set EF_SCALABLE_FILTERS \"any=rss:active:passive\"\n"
     "onload_set EF_TX_PUSH 1\n"
     "onload_set EF_MAX_PACKETS $(( (180000*16) / $num_workers ))\n"
     "onload_import throughput \"$@\"\n"},
    {"/lib/p/server.opf", "onload_set EF_PIO 0\nif [ -n \"$1\" ]; then\n  onload_set EF_CTPIO 0\nfi\n"}};

const std::string kLatency = "EF_POLL_USEC=100000 EF_TCP_FASTSTART_IDLE=0 EF_TCP_FASTSTART_INIT=0";

}  // namespace

TEST_CASE("a profile of settings gives its values and ignores comments") {
  CHECK(evaluated(kShipped, {"latency"}) == kLatency);
  CHECK(evaluated(kShipped, {}).empty());
  CHECK(evaluated("").empty());
}

TEST_CASE("arithmetic and references use earlier values, imports included") {
  CHECK(evaluated(kShipped, {"proxy"}, {{"num_workers", "4"}}) ==
        "EF_CLUSTER_SIZE=4 EF_MAX_ENDPOINTS=1000000 EF_MAX_PACKETS=720000 EF_PIO=0 EF_POLL_USEC=20 "
        "EF_SCALABLE_FILTERS=any=rss:active:passive EF_SOCKET_CACHE_MAX=250000 EF_TCP_SHARED_LOCAL_PORTS=570000 "
        "EF_TCP_SHARED_LOCAL_PORTS_MAX=570000 EF_TX_PUSH=1");
}

TEST_CASE("a reference uses the caller's value where that takes precedence") {
  const std::string text = "onload_set EF_A 8\nonload_set EF_B $(( EF_A / 2 ))\n";
  CHECK(evaluated(text) == "EF_A=8 EF_B=4");
  CHECK(evaluated(text, {{"EF_A", "100"}}) == "EF_B=50");
  CHECK(evaluated({{"/lib/p/x.opf", text}}, {"x"}, {{"EF_A", "100"}}, Winner::Profiles) == "EF_A=8 EF_B=4");
  const std::string earlier = "onload_set EF_B $EF_A\nonload_set EF_A 8\n";
  CHECK(evaluated({{"/lib/p/x.opf", earlier}}, {"x"}, {{"EF_A", "100"}}, Winner::Profiles) == "EF_A=8 EF_B=100");
}

TEST_CASE("precedence is caller, first profile, second profile, then imports") {
  const Files files{{"/lib/p/one.opf", "onload_set EF_A 1\nonload_import part\nonload_set EF_B 1\nonload_set EF_C 1\n"},
                    {"/lib/p/two.opf", "onload_set EF_A 2\nonload_set EF_C 2\nonload_set EF_D 2\n"},
                    {"/lib/p/part.opf-fragment", "onload_set EF_A 3\nonload_set EF_B 3\n"}};
  CHECK(evaluated(files, {"one", "two"}) == "EF_A=1 EF_B=3 EF_C=1 EF_D=2");
  CHECK(evaluated(files, {"two", "one"}) == "EF_A=2 EF_B=3 EF_C=2 EF_D=2");
  CHECK(evaluated(files, {"one", "two"}, {{"EF_A", "0"}, {"EF_D", "0"}}) == "EF_B=3 EF_C=1");
  CHECK(evaluated(files, {"one", "one"}) == "EF_A=1 EF_B=3 EF_C=1");
}

TEST_CASE("a caller's empty value counts as unset") {
  CHECK(evaluated("onload_set EF_A 1\n", {{"EF_A", ""}}) == "EF_A=1");
}

TEST_CASE("profiles that override the caller keep their order") {
  const Files files{{"/lib/p/one.opf", "onload_set EF_A 1\nonload_import part\n"},
                    {"/lib/p/two.opf", "onload_set EF_A 2\nonload_set EF_B 2\n"},
                    {"/lib/p/part.opf-fragment", "onload_set EF_A 3\n"}};
  CHECK(evaluated(files, {"one", "two"}, {{"EF_A", "0"}, {"EF_B", "0"}, {"EF_C", "0"}}, Winner::Profiles) ==
        "EF_A=1 EF_B=2");
}

TEST_CASE("an empty value sets nothing and causes a warning") {
  const auto known =
      evaluate(library_of({{"/lib/p/x.opf", "onload_set EF_A \"\"\nonload_set EF_A 2\nonload_set EF_B=\n"}}),
               {.profiles = {"x"}});
  CHECK(known.value() == Evaluated{.environment = {{"EF_A", "2"}},
                                   .warnings = {"/lib/p/x.opf:1: EF_A is set to an empty value, which has no effect",
                                                "/lib/p/x.opf:3: EF_B is set to an empty value, which has no effect"}});
}

TEST_CASE("profiles are searched directory by directory, fragments for imports only") {
  const std::string imports = "onload_import part\n";
  Files files{{"/lib/p/x.opf", imports},
              {"/home/p/part.opf", "onload_set EF_A 1\n"},
              {"/home/p/part.opf-fragment", "onload_set EF_A 2\n"},
              {"/lib/p/part.opf", "onload_set EF_A 3\n"},
              {"/lib/p/part.opf-fragment", "onload_set EF_A 4\n"}};
  for (const char* path :
       {"/home/p/part.opf", "/home/p/part.opf-fragment", "/lib/p/part.opf", "/lib/p/part.opf-fragment"}) {
    INFO(path);
    CHECK(evaluated(files, {"x"}) == files[path].substr(11, 4) + "=" + files[path].substr(16, 1));
    files.erase(path);
  }
  CHECK(evaluated(files, {"x"}) ==
        "wrong: /lib/p/x.opf:1: profile `part` not found; searched /home/p/part.opf, /home/p/part.opf-fragment, "
        "/lib/p/part.opf, /lib/p/part.opf-fragment");
}

TEST_CASE("a fragment cannot be requested directly") {
  const Files files{{"/lib/p/x.opf", "onload_import part\n"}, {"/lib/p/part.opf-fragment", "onload_set EF_A 1\n"}};
  const std::string refusal = "wrong: profile `part` not found; searched /home/p/part.opf, /lib/p/part.opf";
  CHECK(evaluated(files, {"part"}) == refusal);
  CHECK(evaluated(files, {"x", "part"}) == refusal);
  CHECK(evaluated(files, {"x", "x", "part"}) == refusal);
  CHECK(std::get<Error>(evaluate(library_of(files), {.profiles = {"part"}}).error()).code == ErrorCode::NotFound);
}

TEST_CASE("a path is accepted as a profile only where the library allows paths") {
  const Files files{{"/tmp/own.opf", "onload_set EF_A 1\nonload_import ./more\n"}, {"./more", "onload_set EF_B 2\n"}};
  CHECK(text_of(evaluate(library_of(files, Paths::Accepted), {.profiles = {"/tmp/own.opf"}})) == "EF_A=1 EF_B=2");
  CHECK(evaluated(files, {"/tmp/own.opf"}) == "wrong: `/tmp/own.opf`: profiles must be given by name, not by path");
  CHECK(evaluated("onload_import ../../etc/shadow\n") ==
        "wrong: /lib/p/x.opf:1: `../../etc/shadow`: profiles must be given by name, not by path");
}

TEST_CASE("an invalid profile name is not looked up") {
  for (const char* name : {"", "a b", "a\nb", "a,b", "a*", "\xff", "~a"}) {
    INFO(name);
    CHECK(evaluated(kShipped, {name}).ends_with("is not a valid profile name"));
  }
  CHECK(evaluated("onload_import \"\"\n") == "wrong: /lib/p/x.opf:1: `` is not a valid profile name");
}

TEST_CASE("a name may be composed of references") {
  const Files files{{"/lib/p/x.opf", "onload_set EF_A low\nonload_import ${EF_A}-part\n"},
                    {"/lib/p/low-part.opf", "onload_set EF_B 2\n"}};
  CHECK(evaluated(files, {"x"}) == "EF_A=low EF_B=2");
}

TEST_CASE("one dynamic import makes the whole profile dynamic") {
  CHECK(evaluated(kShipped, {"latency", "server"}) == "needs a shell: /lib/p/server.opf:2: `if`");
  Files files = kShipped;
  files["/lib/p/x.opf"] = "onload_set EF_A 1\nonload_import server\n";
  CHECK(evaluated(files, {"x"}) == "needs a shell: /lib/p/server.opf:2: `if`");
}

TEST_CASE("an import cycle is refused with its path") {
  const Files files{{"/lib/p/a.opf", "onload_set EF_A 1\nonload_import b\n"},
                    {"/lib/p/b.opf-fragment", "\nonload_import c\n"},
                    {"/lib/p/c.opf", "onload_import b\n"},
                    {"/lib/p/self.opf", "onload_import self\n"}};
  CHECK(evaluated(files, {"a"}) ==
        "wrong: /lib/p/c.opf:1: import cycle: /lib/p/b.opf-fragment -> /lib/p/c.opf -> /lib/p/b.opf-fragment");
  CHECK(evaluated(files, {"self"}) == "wrong: /lib/p/self.opf:1: import cycle: /lib/p/self.opf -> /lib/p/self.opf");
}

TEST_CASE("importing a fragment twice is not a cycle") {
  const Files files{{"/lib/p/x.opf", "onload_import a\nonload_import b\n"},
                    {"/lib/p/a.opf", "onload_import base\n"},
                    {"/lib/p/b.opf", "onload_import base\n"},
                    {"/lib/p/base.opf", "onload_set EF_A 1\n"}};
  CHECK(evaluated(files, {"x"}) == "EF_A=1");
}

TEST_CASE("depth and number of imports are bounded") {
  Files chain;
  for (unsigned i = 0; i < kImportDepth; ++i) {
    chain["/lib/p/f" + std::to_string(i) + ".opf"] = "onload_import f" + std::to_string(i + 1) + "\n";
  }
  const std::string last = "/lib/p/f" + std::to_string(kImportDepth) + ".opf";
  chain[last] = "onload_set EF_A 1\n";
  CHECK(evaluated(chain, {"f1"}) == "EF_A=1");
  CHECK(evaluated(chain, {"f0"}) == "wrong: /lib/p/f15.opf:1: imports are nested deeper than 16");

  Files many{{"/lib/p/base.opf", "onload_set EF_A 1\n"}};
  for (unsigned i = 1; i < kFilesLimit; ++i) many["/lib/p/x.opf"] += "onload_import base\n";
  CHECK(evaluated(many, {"x"}) == "EF_A=1");
  CHECK(evaluated(many, {"x", "base"}) == "wrong: /lib/p/base.opf:1: more than 64 profiles and imports");
  many["/lib/p/x.opf"] += "onload_import base\n";
  CHECK(evaluated(many, {"x"}) == "wrong: /lib/p/x.opf:64: more than 64 profiles and imports");
}

TEST_CASE("variables and values are bounded, however references multiply") {
  std::string text;
  for (size_t i = 0; i < kVariablesLimit; ++i) text += "onload_set EF_" + std::to_string(i) + " 1\n";
  CHECK(evaluate(library_of({{"/lib/p/x.opf", text}}), {.profiles = {"x"}}).has_value());
  CHECK(evaluated(text + "onload_set EF_X 1\n") == "wrong: /lib/p/x.opf:513: more than 512 variables");

  std::string doubling = "onload_set A0 0123456789abcdef\n";
  for (int i = 1; i < 10; ++i) {
    const std::string before = "$A" + std::to_string(i - 1);
    doubling += "onload_set A" + std::to_string(i) + " " + before + before + "\n";
  }
  CHECK(evaluated(doubling) == "wrong: /lib/p/x.opf:8: the value of A7 is longer than 1024 bytes");
  std::string long_word = "onload_set EF_X ";
  for (int i = 0; i < 10000; ++i) long_word += "$A";
  CHECK(evaluated(long_word + "\n", {{"A", std::string(1000, 'a')}}) ==
        "wrong: /lib/p/x.opf:1: a word is longer than 64 KiB");
}

TEST_CASE("an error in an import is reported with the import's file and line") {
  const std::map<std::string, std::string> messages{
      {"onload_set EF_A $EF_B", "EF_B is not set"},
      {"onload_set EF_A $((1 / 0))", "arithmetic: division by zero"},
      {"onload_set EF_A $(( $EF_CLUSTER_SIZE * 2 ))", "EF_CLUSTER_SIZE is not set"},
      {"onload_set EF_A 'x", "unterminated quote `'`"},
      {"onload_set EF_A 'x\ny'", "the value of EF_A contains a line feed or another control character"},
      {"onload_set EF_A \xff", "the value of EF_A is not UTF-8"},
      {"onload_set LD_PRELOAD x.so", "onload_set: a profile must not set LD_PRELOAD"},
      {"onload_import nowhere",
       "profile `nowhere` not found; searched /home/p/nowhere.opf, /home/p/nowhere.opf-fragment, "
       "/lib/p/nowhere.opf, /lib/p/nowhere.opf-fragment"}};
  for (const auto& [line, message] : messages) {
    INFO(line);
    CHECK(evaluated({{"/lib/p/x.opf", "onload_import y\n"}, {"/lib/p/y.opf", "# y\n" + line + "\n"}}, {"x"}) ==
          "wrong: /lib/p/y.opf:2: " + message);
  }
}

TEST_CASE("a reference that a shell would split or expand must be quoted") {
  for (const char* value : {"a b", "eth*", "a\tb", "x?", "[x]"}) {
    INFO(value);
    CHECK(evaluated("onload_set EF_A $VALUE\n", {{"VALUE", value}}) ==
          "wrong: /lib/p/x.opf:1: VALUE contains spaces or a pattern; write \"$VALUE\"");
  }
  CHECK(evaluated("onload_set EF_A \"x $VALUE\"\n", {{"VALUE", "eth* 1"}}) == "EF_A=x eth* 1");
  CHECK(evaluated("onload_set EF_A '$VALUE'\n", {{"VALUE", "1"}}) == "EF_A=$VALUE");
}

TEST_CASE("a value is not expanded again") {
  CHECK(evaluated("onload_set EF_A '$EF_B'\nonload_set EF_B 1\nonload_set EF_C \"$EF_A\"\n") ==
        "EF_A=$EF_B EF_B=1 EF_C=$EF_B");
}

TEST_CASE("read errors are passed on, and a truncated file is refused") {
  const Library library{.directories = {"/lib/p"},
                        .read = [](const std::string& path) -> Result<std::optional<ProfileFile>> {
                          return fail(ErrorCode::Hardware, "cannot read a profile", path + ": Permission denied");
                        }};
  const auto failed = evaluate(library, {.profiles = {"x"}});
  REQUIRE_FALSE(failed.has_value());
  CHECK(failed.error() == Stop{Error{.code = ErrorCode::Hardware,
                                     .message = "cannot read a profile",
                                     .detail = "/lib/p/x.opf: Permission denied"}});
  CHECK(evaluated("onload_set EF_POLL_USEC 1000") ==
        "wrong: /lib/p/x.opf:1: the last line has no line feed; the text may be truncated");
}

// What came over the API, and what root installed.
std::string evaluated_as_data(const Files& files, Environment caller = {}) {
  Library library = library_of(files, Paths::Accepted);
  library.directories = {"/api/p", "/lib/p"};
  library.read = [read = library.read](const std::string& path) {
    Result<std::optional<ProfileFile>> file = read(path);
    if (file && *file && path.starts_with("/api/")) (*file)->origin = Origin::Api;
    return file;
  };
  return text_of(evaluate(library, {.profiles = {"x"}, .caller = std::move(caller)}));
}

TEST_CASE("a profile stored over the API sets Onload settings") {
  CHECK(evaluated_as_data({{"/api/p/x.opf", "onload_set EF_A $(( $EF_B / 2 ))\nonload_import part\n"},
                           {"/api/p/part.opf-fragment", "onload_set EF_C any=rss:active\n"}},
                          {{"EF_B", "8"}}) == "EF_A=4 EF_C=any=rss:active");
  CHECK(evaluated_as_data({{"/api/p/x.opf", "onload_import root\n"}, {"/lib/p/root.opf", "onload_set WORKERS 1\n"}}) ==
        "WORKERS=1");
}

TEST_CASE("a profile stored over the API sets nothing else") {
  for (const char* name : {"LD_AUDIT", "PATH", "OMP_TOOL_LIBRARIES", "GIT_SSH_COMMAND", "WORKERS", "ef_poll_usec", "EF",
                           "XEF_A", "EF_LD_PRELOAD", "EF_LOG_FILE", "EF_VI_CLUSTER_SOCKET"}) {
    CAPTURE(name);
    const std::string text = std::string("onload_set ") + name + " 1\n";
    CHECK(evaluated_as_data({{"/api/p/x.opf", text}}).starts_with("wrong: /api/p/x.opf:1: onload_set:"));
    CHECK(evaluated_as_data({{"/api/p/x.opf", "onload_import part\n"}, {"/api/p/part.opf-fragment", text}})
              .starts_with("wrong: /api/p/part.opf-fragment:1: onload_set:"));
  }
}

TEST_CASE("no value of a profile stored over the API is a path") {
  for (const char* text : {"onload_set EF_A /tmp/x.so\n", "onload_set EF_A \"$HOME\"\n", "onload_set EF_A=tmp/x\n"}) {
    CAPTURE(text);
    CHECK(evaluated_as_data({{"/api/p/x.opf", text}}, {{"HOME", "/root"}}) ==
          "wrong: /api/p/x.opf:1: the value of EF_A contains a slash; paths are not accepted over the API");
  }
}

TEST_CASE("a profile stored over the API imports by plain names") {
  for (const char* text : {"onload_import /tmp/evil.opf\n", "onload_import ./evil\n", "onload_import \"$EVIL\"\n",
                           "onload_import $EF_A\n", "onload_import part$EF_A\n"}) {
    CAPTURE(text);
    CHECK(evaluated_as_data({{"/api/p/x.opf", text}, {"/tmp/evil.opf", "onload_set EF_A 1\n"}},
                            {{"EVIL", "/tmp/evil.opf"}, {"EF_A", "/tmp/evil.opf"}})
              .find("import only by name, not by path or variable") != std::string::npos);
  }
}

TEST_CASE("a profile stored over the API that needs a shell is wrong, not dynamic") {
  CHECK(evaluated_as_data({{"/api/p/x.opf", "touch x\n"}}).starts_with("wrong: /api/p/x.opf:1: `touch` needs a shell"));
  CHECK(evaluated_as_data({{"/lib/p/x.opf", "touch x\n"}}).starts_with("needs a shell: /lib/p/x.opf:1"));
}

}  // namespace nrd::profiles::evaluate_test
