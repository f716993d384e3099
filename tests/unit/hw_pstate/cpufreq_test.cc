#include "hw/pstate/cpufreq.h"

#include <doctest/doctest.h>

#include <ostream>

#include "tests/unit/hw_pstate/tree.h"

namespace nrd::pstate::cpufreq_test {

using nrd::testing::Tree;

namespace {

FrequencySetting window(uint32_t min, uint32_t max) { return {.min = {min}, .max = {max}}; }

FrequencySetting words(const char* governor, const char* epp) {
  return {.min = {800}, .max = {3500}, .governor = governor, .epp = epp};
}

// The words of a list of writes: "max 3500 kHz, min 3000 kHz".
std::string text_of(const std::vector<Write>& writes) {
  std::string text;
  for (const Write& write : writes) text += (text.empty() ? "" : ", ") + to_string(write);
  return text;
}

// What the kernel would say after a write.
void apply(FrequencySetting& knobs, const Write& write) {
  switch (write.knob) {
    case Knob::Governor: knobs.governor = write.value; break;
    case Knob::Epp: knobs.epp = write.value; break;
    case Knob::Min: knobs.min = *parse_khz(write.value + "\n"); break;
    case Knob::Max: knobs.max = *parse_khz(write.value + "\n"); break;
  }
}

}  // namespace

TEST_CASE("a window moves with max first upwards and min first downwards") {
  struct Row {
    FrequencySetting now, wanted;
    const char* writes;
  };
  for (const Row& row : {Row{window(800, 2000), window(800, 2000), ""},
                         Row{window(800, 2000), window(3000, 3500), "max 3500 kHz, min 3000 kHz"},
                         Row{window(3000, 3500), window(800, 2000), "min 800 kHz, max 2000 kHz"},
                         Row{window(800, 2000), window(1500, 3500), "max 3500 kHz, min 1500 kHz"},
                         Row{window(1500, 3500), window(800, 2000), "min 800 kHz, max 2000 kHz"},
                         Row{window(800, 3500), window(1500, 2000), "min 1500 kHz, max 2000 kHz"},
                         Row{window(1500, 2000), window(800, 3500), "max 3500 kHz, min 800 kHz"},
                         Row{window(800, 800), window(3500, 3500), "max 3500 kHz, min 3500 kHz"},
                         Row{window(3500, 3500), window(800, 800), "min 800 kHz, max 800 kHz"},
                         Row{window(800, 2000), window(900, 2000), "min 900 kHz"},
                         Row{window(800, 2000), window(800, 1900), "max 1900 kHz"}}) {
    CHECK(text_of(writes_between(row.now, row.wanted)) == row.writes);
  }
}

TEST_CASE("EPP is written outside of the performance governor") {
  struct Row {
    FrequencySetting now, wanted;
    const char* writes;
  };
  for (const Row& row :
       {Row{words("powersave", "power"), words("powersave", "power"), ""},
        Row{words("powersave", "power"), words("powersave", "balance_power"), "EPP balance_power"},
        Row{words("powersave", "power"), words("performance", "performance"), "EPP performance, governor performance"},
        Row{words("performance", "performance"), words("powersave", "power"), "governor powersave, EPP power"},
        Row{words("schedutil", "power"), words("powersave", "balance_power"), "governor powersave, EPP balance_power"},
        Row{words("schedutil", "power"), words("powersave", "power"), "governor powersave"}}) {
    CHECK(text_of(writes_between(row.now, row.wanted)) == row.writes);
  }
}

TEST_CASE("EPP is written when performance is left, though it reads the same") {
  CHECK(text_of(writes_between(words("performance", "performance"), words("powersave", "performance"))) ==
        "governor powersave, EPP performance");
}

TEST_CASE("another EPP under the governor performance is written, and the driver may refuse it") {
  CHECK(text_of(writes_between(words("performance", "performance"), words("performance", "power"))) == "EPP power");
}

TEST_CASE("an empty governor or EPP is not written") {
  CHECK(writes_between(words("performance", "power"), words("", "")).empty());
  CHECK(text_of(writes_between(words("performance", "performance"), words("powersave", ""))) == "governor powersave");
  CHECK(writes_between(words("", ""), words("", "")).empty());
}

TEST_CASE("governor and EPP come before the window") {
  const FrequencySetting now{.min = {800}, .max = {2000}, .governor = "performance", .epp = "performance"};
  const FrequencySetting wanted{.min = {3000}, .max = {3500}, .governor = "powersave", .epp = "power"};
  CHECK(text_of(writes_between(now, wanted)) == "governor powersave, EPP power, max 3500 kHz, min 3000 kHz");
}

TEST_CASE("every sequence between two settings is valid at each step and reaches the goal") {
  std::vector<FrequencySetting> all;
  for (const uint32_t min : {800U, 1500U, 2000U, 3500U}) {
    for (const uint32_t max : {800U, 1500U, 2000U, 3500U}) {
      for (const char* governor : {"performance", "powersave", "schedutil"}) {
        for (const char* epp : {"performance", "balance_power", "power"}) {
          if (min <= max) all.push_back({.min = {min}, .max = {max}, .governor = governor, .epp = epp});
        }
      }
    }
  }
  size_t wrong = 0;
  for (const FrequencySetting& now : all) {
    for (const FrequencySetting& wanted : all) {
      const bool stays = now.governor == "performance" && wanted.governor == "performance";
      FrequencySetting knobs = now;
      for (const Write& write : writes_between(now, wanted)) {
        if (write.knob == Knob::Epp && knobs.governor == "performance" && !stays) ++wrong;
        apply(knobs, write);
        if (knobs.min > knobs.max) ++wrong;
      }
      if (knobs != wanted || !writes_between(knobs, wanted).empty()) ++wrong;
    }
  }
  CHECK(all.size() == 90);
  CHECK(wrong == 0);
}

TEST_CASE("a frequency is read whole or not at all") {
  CHECK(parse_khz("2200000\n") == KHz{2200000});
  CHECK(parse_khz("0\n") == KHz{0});
  CHECK(parse_khz("4294967295\n") == KHz{4294967295});
  for (const char* text :
       {"", "\n", "2200000", "22e5\n", "-1\n", "+1\n", "0x10\n", "4294967296\n", "1 2\n", "<unknown>\n", "1.5\n"}) {
    INFO("frequency \"" << text << "\"");
    CHECK(parse_khz(text) == std::nullopt);
  }
}

TEST_CASE("words are separated by blanks, and a text without a line end is refused") {
  using Words = std::vector<std::string>;
  CHECK(parse_words("performance powersave\n") == Words{"performance", "powersave"});
  CHECK(parse_words("default power \n") == Words{"default", "power"});
  CHECK(parse_words("\n") == Words{});
  CHECK(parse_words("") == std::nullopt);
  CHECK(parse_words("performance power") == std::nullopt);
  CHECK(parse_word("powersave\n") == "powersave");
  for (const char* text : {"", "\n", "powers", "power save\n", "power\nsave\n"}) {
    INFO("word \"" << text << "\"");
    CHECK(parse_word(text) == std::nullopt);
  }
}

TEST_CASE("CPUs are listed one by one or as ranges") {
  CHECK(parse_cpus("0 1 2 16\n") == CpuSet{0, 1, 2, 16});
  CHECK(parse_cpus("0-3,8\n") == CpuSet{0, 1, 2, 3, 8});
  CHECK(parse_cpus("7\n") == CpuSet{7});
  for (const char* text : {"", "\n", "0 1", "0 x\n", "0 1-\n", "99999\n", "0 -1\n"}) {
    INFO("CPUs \"" << text << "\"");
    CHECK(parse_cpus(text) == std::nullopt);
  }
}

TEST_CASE("a CPU under intel_pstate reports all its capabilities") {
  Tree tree;
  tree.intel(4);
  const Cpu expected{.way = Interface::Cpufreq,
                     .driver = "intel_pstate",
                     .min = {800000},
                     .max = {3500000},
                     .base = KHz{2200000},
                     .domain = {4},
                     .governors = {"performance", "powersave"},
                     .epps = {"performance", "balance_performance", "balance_power", "power"},
                     .hwp = true};
  CHECK(discover_cpufreq(tree.root(), CpuId{4}).value() == expected);
}

TEST_CASE("acpi-cpufreq has no EPP, and its domain is what the hardware coordinates") {
  Tree tree;
  tree.intel(1);
  tree.put(Tree::cpufreq(1, "scaling_driver"), "acpi-cpufreq\n");
  tree.remove(Tree::cpufreq(1, "base_frequency"));
  tree.remove(Tree::cpufreq(1, "energy_performance_available_preferences"));
  tree.remove(Tree::cpufreq(1, "energy_performance_preference"));
  tree.put(Tree::cpufreq(1, "freqdomain_cpus"), "0 1 2 3\n");
  tree.put(Tree::cpufreq(1, "bios_limit"), "2350000\n");
  const Cpu found = discover_cpufreq(tree.root(), CpuId{1}).value().value();
  CHECK(found.driver == "acpi-cpufreq");
  CHECK(found.base == KHz{2350000});
  CHECK(found.domain == CpuSet{0, 1, 2, 3});
  CHECK(found.epps.empty());
  CHECK(observe_cpufreq(tree.root(), CpuId{1}).value()->epp.empty());
}

TEST_CASE("a driver without base frequency, domain or governor is supported") {
  Tree tree;
  tree.put(Tree::cpufreq(0, "scaling_driver"), "amd-pstate\n");
  tree.put(Tree::cpufreq(0, "cpuinfo_min_freq"), "400000\n");
  tree.put(Tree::cpufreq(0, "cpuinfo_max_freq"), "3700000\n");
  const Cpu expected{
      .way = Interface::Cpufreq, .driver = "amd-pstate", .min = {400000}, .max = {3700000}, .domain = {0}};
  CHECK(discover_cpufreq(tree.root(), CpuId{0}).value() == expected);
}

TEST_CASE("a driver with a table reports its frequencies in ascending order, including boost") {
  Tree tree;
  tree.intel(1);
  tree.put(Tree::cpufreq(1, "scaling_available_frequencies"), "3400000 2200000 1500000 \n");
  CHECK(discover_cpufreq(tree.root(), CpuId{1}).value()->steps == std::vector<KHz>{{1500000}, {2200000}, {3400000}});
  tree.put(Tree::cpufreq(1, "scaling_boost_frequencies"), "3500000 3400000 \n");
  CHECK(discover_cpufreq(tree.root(), CpuId{1}).value()->steps ==
        std::vector<KHz>{{1500000}, {2200000}, {3400000}, {3500000}});
  tree.put(Tree::cpufreq(1, "scaling_available_frequencies"), "\n");
  CHECK(discover_cpufreq(tree.root(), CpuId{1}).value()->steps.empty());
  for (const char* text : {"", "3400000 2200", "3400000 fast\n"}) {
    INFO("table \"" << text << "\"");
    tree.put(Tree::cpufreq(1, "scaling_available_frequencies"), text);
    CHECK_FALSE(discover_cpufreq(tree.root(), CpuId{1}));
  }
}

TEST_CASE("amd-pstate reports its base frequency in MHz outside cpufreq") {
  Tree tree;
  tree.intel(1);
  tree.remove(Tree::cpufreq(1, "base_frequency"));
  struct Row {
    const char* nominal;
    std::optional<KHz> base;
  };
  for (const Row& row : {Row{"2450\n", KHz{2450000}}, Row{"0\n", std::nullopt}, Row{"4294967295\n", std::nullopt},
                         Row{"3501\n", std::nullopt}}) {
    tree.put(Tree::cpu(1, "acpi_cppc/nominal_freq"), row.nominal);
    CHECK(discover_cpufreq(tree.root(), CpuId{1}).value()->base == row.base);
  }
  tree.put(Tree::cpu(1, "acpi_cppc/nominal_freq"), "24");
  CHECK_FALSE(discover_cpufreq(tree.root(), CpuId{1}));
}

TEST_CASE("a CPU without a cpufreq directory has no driver, which is no error") {
  const Tree tree;
  CHECK(discover_cpufreq(tree.root(), CpuId{0}).value() == std::nullopt);
  CHECK(observe_cpufreq(tree.root(), CpuId{0}).value() == std::nullopt);
  CHECK(current_of_cpufreq(tree.root(), CpuId{0}) == std::nullopt);
}

TEST_CASE("an invalid file is named to the client and quoted in the journal") {
  for (const char* file : {"scaling_driver", "cpuinfo_min_freq", "cpuinfo_max_freq", "base_frequency", "related_cpus",
                           "scaling_available_governors", "energy_performance_available_preferences"}) {
    for (const std::string& text :
         {std::string(), std::string("220"), std::string("\x01\xff"), std::string(5000, '9')}) {
      INFO(file << " \"" << text.substr(0, 10) << "\"");
      Tree tree;
      tree.intel(4);
      tree.put(Tree::cpufreq(4, file), text);
      const auto found = discover_cpufreq(tree.root(), CpuId{4});
      REQUIRE_FALSE(found.has_value());
      CHECK(found.error().code == ErrorCode::Hardware);
      CHECK(found.error().detail.find(file) != std::string::npos);
      CHECK(found.error().message.find('/') == std::string::npos);
    }
  }
}

TEST_CASE("missing limits of a CPU are an error that names the file") {
  Tree tree;
  tree.intel(4);
  tree.remove(Tree::cpufreq(4, "cpuinfo_max_freq"));
  CHECK(discover_cpufreq(tree.root(), CpuId{4}).error().message == "CPU 4: cpufreq has no cpuinfo_max_freq");
}

TEST_CASE("inconsistent limits are refused") {
  Tree tree;
  tree.intel(4);
  tree.put(Tree::cpufreq(4, "cpuinfo_max_freq"), "799999\n");
  CHECK_FALSE(discover_cpufreq(tree.root(), CpuId{4}).has_value());
  tree.put(Tree::cpufreq(4, "cpuinfo_min_freq"), "0\n");
  tree.put(Tree::cpufreq(4, "cpuinfo_max_freq"), "0\n");
  CHECK_FALSE(discover_cpufreq(tree.root(), CpuId{4}).has_value());
}

TEST_CASE("the setting of a CPU is read from four files") {
  Tree tree;
  tree.intel(4);
  CHECK(observe_cpufreq(tree.root(), CpuId{4}).value() ==
        FrequencySetting{.min = {800000}, .max = {3500000}, .governor = "powersave", .epp = "balance_performance"});
  CHECK(current_of_cpufreq(tree.root(), CpuId{4}) == KHz{1200013});
  for (const char* file : {"scaling_min_freq", "scaling_max_freq", "scaling_governor"}) {
    INFO(file);
    tree.put(Tree::cpufreq(4, file), "");
    CHECK_FALSE(observe_cpufreq(tree.root(), CpuId{4}).has_value());
    tree.intel(4);
  }
}

TEST_CASE("an unreadable EPP is none") {
  Tree tree;
  tree.intel(4);
  tree.put(Tree::cpufreq(4, "energy_performance_preference"), "");
  CHECK(observe_cpufreq(tree.root(), CpuId{4}).value() ==
        FrequencySetting{.min = {800000}, .max = {3500000}, .governor = "powersave", .epp = ""});
}

TEST_CASE("Intel's table lists turbo 1 MHz above base, whatever the firmware's limit is") {
  Tree tree;
  tree.intel(1);
  tree.remove(Tree::cpufreq(1, "base_frequency"));
  tree.put(Tree::cpufreq(1, "cpuinfo_max_freq"), "2301000\n");
  tree.put(Tree::cpufreq(1, "bios_limit"), "2301000\n");
  tree.put(Tree::cpufreq(1, "scaling_available_frequencies"), "2301000 2300000 2200000 800000 \n");
  CHECK(discover_cpufreq(tree.root(), CpuId{1}).value()->base == KHz{2300000});
}

TEST_CASE("an EPP without a name is a number") {
  Tree tree;
  tree.intel(4);
  tree.put(Tree::cpufreq(4, "energy_performance_preference"), "64\n");
  CHECK(observe_cpufreq(tree.root(), CpuId{4}).value()->epp == "64");
}

TEST_CASE("an unavailable current frequency is none") {
  Tree tree;
  tree.intel(4);
  for (const char* text : {"<unknown>\n", "0\n", "", "12"}) {
    tree.put(Tree::cpufreq(4, "scaling_cur_freq"), text);
    CHECK(current_of_cpufreq(tree.root(), CpuId{4}) == std::nullopt);
  }
}

TEST_CASE("a write is one line in the knob's file") {
  Tree tree;
  tree.intel(4);
  REQUIRE(write_cpufreq(tree.root(), CpuId{4}, {Knob::Max, "900000"}).has_value());
  REQUIRE(write_cpufreq(tree.root(), CpuId{4}, {Knob::Epp, "power"}).has_value());
  CHECK(tree.get(Tree::cpufreq(4, "scaling_max_freq")) == "900000\n");
  CHECK(tree.get(Tree::cpufreq(4, "energy_performance_preference")) == "power\n");
}

TEST_CASE("a failed write names the CPU and the value, and creates no file") {
  Tree tree;
  tree.intel(4);
  tree.remove(Tree::cpufreq(4, "energy_performance_preference"));
  const Result<void> written = write_cpufreq(tree.root(), CpuId{4}, {Knob::Epp, "power"});
  REQUIRE_FALSE(written.has_value());
  CHECK(written.error().message == "CPU 4 did not take EPP power");
  CHECK(written.error().detail.ends_with("energy_performance_preference: No such file or directory"));
  CHECK_FALSE(std::filesystem::exists(tree.root() + "/" + Tree::cpufreq(4, "energy_performance_preference")));
}

TEST_CASE("a policy's directory may be a link, a knob's file may not") {
  Tree tree;
  tree.intel(0);
  std::filesystem::create_directories(tree.root() + "/" + Tree::cpu(1));
  std::filesystem::create_directory_symlink("../cpu0/cpufreq", tree.root() + "/" + Tree::cpu(1, "cpufreq"));
  CHECK(write_cpufreq(tree.root(), CpuId{1}, {Knob::Max, "900000"}).has_value());
  CHECK(tree.get(Tree::cpufreq(0, "scaling_max_freq")) == "900000\n");
  tree.remove(Tree::cpufreq(0, "scaling_min_freq"));
  std::filesystem::create_symlink("scaling_max_freq", tree.root() + "/" + Tree::cpufreq(0, "scaling_min_freq"));
  CHECK_FALSE(write_cpufreq(tree.root(), CpuId{0}, {Knob::Min, "900000"}).has_value());
}

}  // namespace nrd::pstate::cpufreq_test
