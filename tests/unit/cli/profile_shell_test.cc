#include "cli/onload/profile_shell.h"

#include <doctest/doctest.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "base/unique_fd.h"
#include "tests/support/temporary_tree.h"

namespace nrd::cli::profile_shell_test {
namespace {

class Profiles : public testing::TemporaryTree {
 public:
  Profiles& has(const std::string& file, const std::string& text) {
    put(file, text);
    return *this;
  }
  Result<ShellResult> run(std::vector<std::string> names, Environment caller = {}, Force force = Force::No) const {
    return run_profiles({.names = std::move(names),
                         .folders = {path("absent"), root()},
                         .caller = std::move(caller),
                         .force = force,
                         .application = {"server", "--port", "80 81"},
                         .deadline = deadline});
  }
  Environment of(std::vector<std::string> names, Environment caller = {}, Force force = Force::No) const {
    const auto result = run(std::move(names), std::move(caller), force);
    REQUIRE_MESSAGE(result, result.error().message);
    return result->changed;
  }
  std::chrono::milliseconds deadline{30000};
};

}  // namespace

TEST_CASE("a profile may compute its values") {
  Profiles profiles;
  profiles.has("p.opf", "for i in 1 2 3; do n=$((${n:-0} + i)); done\nonload_set EF_N $n\nonload_set EF_M=a=b\n");
  CHECK(profiles.of({"p"}) == Environment{{"EF_N", "6"}, {"EF_M", "a=b"}});
}

TEST_CASE("precedence is the same as in profiles without a shell") {
  Profiles profiles;
  profiles.has("one.opf", "true && onload_set EF_A one\nonload_set EF_A again\nonload_import two\n");
  profiles.has("two.opf", "onload_set EF_A two\nonload_set EF_B two\nonload_set EF_C ''\n");
  CHECK(profiles.of({"one"}) == Environment{{"EF_A", "one"}, {"EF_B", "two"}});
  CHECK(profiles.of({"two", "one"}) == Environment{{"EF_A", "two"}, {"EF_B", "two"}});
  CHECK(profiles.of({"one"}, {{"EF_A", "mine"}, {"EF_B", ""}}) == Environment{{"EF_B", "two"}});
  CHECK(profiles.of({"one"}, {{"EF_A", "mine"}}, Force::Yes) == Environment{{"EF_A", "one"}, {"EF_B", "two"}});
}

TEST_CASE("a profile receives the application's arguments and passes them on") {
  Profiles profiles;
  profiles.has("p.opf", "onload_import words \"$@\"\nonload_set EF_HERE $#\n");
  profiles.has("words.opf-fragment", "onload_set EF_LAST \"$3\"\n");
  CHECK(profiles.of({"p"}) == Environment{{"EF_LAST", "80 81"}, {"EF_HERE", "3"}});
  CHECK_FALSE(profiles.run({"words"}));  // a fragment
}

TEST_CASE("a value is never run as code") {
  Profiles profiles;
  profiles.has("p.opf", "true && onload_set EF_A \"$GIVEN\"\nonload_set EF_B \"$EF_A\"\n");
  const std::string given = "$(touch " + profiles.root() + "/made)`id`;x";
  const Environment expected{{"EF_A", given}, {"EF_B", given}};
  CHECK(profiles.of({"p"}, {{"GIVEN", given}}) == expected);
  CHECK_FALSE(std::filesystem::exists(profiles.root() + "/made"));
  profiles.has("name.opf", "true && onload_set 'x}; touch " + profiles.root() + "/made; : ${y' 1\n");
  CHECK_FALSE(profiles.run({"name"}));
  CHECK_FALSE(std::filesystem::exists(profiles.root() + "/made"));
}

TEST_CASE("variables that choose which code runs cannot be set") {
  Profiles profiles;
  for (const char* line : {"export LD_PRELOAD=x.so", "export PATH=/tmp:$PATH", "onload_set LD_LIBRARY_PATH /tmp",
                           "export BASH_ENV=/tmp/x", "export EF_A='two\nlines'"}) {
    CAPTURE(line);
    profiles.has("p.opf", std::string(line) + "\n");
    CHECK_FALSE(profiles.run({"p"}));
  }
}

TEST_CASE("programs are found in the system's folders, whatever the caller's PATH is") {
  Profiles profiles;
  profiles.has("p.opf", "onload_set EF_P $PATH\nonload_set EF_CAT \"$(command -v cat)\"\n");
  const Environment result = profiles.of({"p"}, {{"PATH", profiles.root()}, {"ENV", "/nowhere"}});
  CHECK(result.at("EF_P") == "/usr/sbin:/usr/bin:/sbin:/bin");
  CHECK(result.at("EF_CAT").ends_with("/bin/cat"));
}

TEST_CASE("profile output is shown to the user and never becomes a variable") {
  Profiles profiles;
  profiles.has("p.opf", "echo EF_X=1\nlog EF_Y=2\nonload_set EF_A 1\n");
  const auto result = profiles.run({"p"});
  REQUIRE(result);
  CHECK(result->changed == Environment{{"EF_A", "1"}});
  CHECK(result->output == "EF_X=1\nEF_Y=2\n");
}

TEST_CASE("a profile that exits early has no effect") {
  Profiles profiles;
  for (const char* end : {"exit 0", "exit 3", "fail no", "kill -9 $$", "onload_import nowhere", "if"}) {
    CAPTURE(end);
    profiles.has("p.opf", "onload_set EF_A 1\n" + std::string(end) + "\n");
    CHECK_FALSE(profiles.run({"p"}));
  }
  CHECK_FALSE(profiles.run({"nowhere"}));
  profiles.has("p.opf", "onload_import p\n");
  CHECK_FALSE(profiles.run({"p"}));
}

TEST_CASE("a profile that runs too long or writes too much is killed with its children") {
  Profiles profiles;
  profiles.has("endless.opf", "sleep 1000 & echo $! > " + profiles.root() + "/pid\nwait\n");
  profiles.has("loud.opf", "while :; do echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; done\n");
  const auto loud = profiles.run({"loud"});
  REQUIRE_FALSE(loud);
  CHECK(loud.error().message.find("too much") != std::string::npos);
  pid_t child = 0;
  // Again where a busy host takes longer to start the child.
  for (profiles.deadline = std::chrono::milliseconds(300); child == 0; profiles.deadline *= 2) {
    const auto endless = profiles.run({"endless"});
    REQUIRE_FALSE(endless);
    CHECK(endless.error().message.find("timed out") != std::string::npos);
    std::ifstream(profiles.root() + "/pid") >> child;
  }
  const UniqueFd handle(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
  const bool is_reaped = !handle.valid() && errno == ESRCH;
  pollfd ended{.fd = handle.get(), .events = POLLIN, .revents = 0};
  CHECK((is_reaped || ::poll(&ended, 1, 10000) == 1));
}

}  // namespace nrd::cli::profile_shell_test
