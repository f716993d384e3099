// Profiles that are nearly right: 20,000 of them, the same each time. The dev preset's sanitizers watch.
#include <doctest/doctest.h>

#include <array>
#include <string>
#include <vector>

#include "tests/fuzz/profile_input.h"
#include "tests/unit/dice.h"

namespace nrd::profiles::mutated_test {
namespace {

const std::vector<std::string> kSeeds = {
    "# spin\nonload_set EF_POLL_USEC 100000\nonload_set EF_INT_DRIVEN=0  # off\n\n##onload_set EF_X 1\n",
    "onload_set EF_A \"x $CALLER ${EF_CALLER}\"\nonload_set EF_B 'a \"b\" $c'\nonload_set EF_C a\\ b\\\\\\\nc\n",
    "onload_set EF_SIZE 4\nonload_set EF_MAX $(( (180000*32) / $EF_SIZE - -1 % 7 ))\nonload_set EF_N "
    "$((EF_MAX+0x1f))\n",
    "onload_set EF_A 1\nonload_import base \"$@\"\nonload_set EF_C 3\n== base.opf-fragment\nonload_set EF_B $EF_A\n"
    "onload_import more\n== more.opf\nonload_set EF_CALLER 2\n",
    "onload_import a\n== a.opf\nonload_import b\n== b.opf\nonload_import a\n"};
const std::vector<std::string> kPieces = {"\n",
                                          "'",
                                          "\"",
                                          "\\",
                                          "\\\n",
                                          "$",
                                          "${",
                                          "}",
                                          "$((",
                                          "))",
                                          "(",
                                          ")",
                                          "$(",
                                          "`",
                                          "#",
                                          "=",
                                          " ",
                                          "\t",
                                          "\r",
                                          "*",
                                          "~",
                                          ";",
                                          "%",
                                          "-",
                                          "/",
                                          "0",
                                          "08",
                                          "9223372036854775807",
                                          "$EMPTY",
                                          "$@",
                                          "\xff",
                                          "\xe2\x82\xac",
                                          std::string(1, '\0'),
                                          "onload_set ",
                                          "onload_import x\n",
                                          "LD_PRELOAD",
                                          "if",
                                          "== x.opf\n",
                                          "../",
                                          std::string(1100, 'A'),
                                          std::string(40, '(')};

class Mutator {
 public:
  std::string profile() {
    std::string text = dice_.one_of(kSeeds);
    for (size_t changes = dice_.below(4); changes > 0; --changes) change(text);
    return text;
  }

 private:
  void change(std::string& text) {
    const size_t at = dice_.below(text.size() + 1);
    switch (dice_.below(5)) {
      case 0: text.insert(at, dice_.one_of(kPieces)); break;
      case 1: text.erase(at, dice_.below(12)); break;
      case 2: text.insert(at, text.substr(dice_.below(text.size() + 1), dice_.below(60))); break;
      case 3: text.replace(at, dice_.below(8), dice_.one_of(kPieces)); break;
      case 4:
        if (at < text.size()) text[at] = static_cast<char>(dice_.below(256));
        break;
    }
  }

  testing::Dice dice_{20240611};
};

}  // namespace

TEST_CASE("20000 mutated profiles are evaluated, dynamic or refused, and never crash") {
  Mutator mutator;
  std::array<int, 3> exited{};
  for (int i = 0; i < 20'000; ++i) {
    const Winner winner = i % 2 == 0 ? Winner::Caller : Winner::Profiles;
    ++exited.at(static_cast<size_t>(fuzz::keep_profile_promises(mutator.profile(), winner)));
  }
  // Each way is gone often enough to mean something.
  for (const int times : exited) CHECK(times > 2000);
}

}  // namespace nrd::profiles::mutated_test
