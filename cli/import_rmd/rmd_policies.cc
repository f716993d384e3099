#include "cli/import_rmd/rmd_policies.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "base/ascii.h"
#include "cli/answer.h"

namespace nrd::cli {
namespace {

using json::Member;
using json::Value;

constexpr uint64_t kPercent = 100;

// A TOML key, quoted unless it is a bare word.
std::string key_of(const std::string& word) { return is_word(word, "-_") ? word : literal_of(word); }

std::string line(const Member& member) {
  const std::string* text = member.value.as_string();
  return fmt::format("{} = {}\n", member.key, text != nullptr ? literal_of(*text) : shown(member.value));
}

bool has_only(const Value& table, std::initializer_list<std::string_view> keys) {
  const auto is_known = [keys](const Member& member) { return std::ranges::find(keys, member.key) != keys.end(); };
  return table.is_object() && std::ranges::all_of(table.members(), is_known);
}

std::optional<uint64_t> number(const Value& table, const char* key) { return part(table, key).as_unsigned(); }

// Why nrd would refuse it; empty: valid.
std::string problem_of_cache(const Value& cache) {
  const auto max = number(cache, "max");
  const auto min = number(cache, "min");
  if (!has_only(cache, {"max", "min"}) || !max || !min) return "expected whole numbers max and min";
  const bool is_request = *max == 0 ? *min == 0 : *min > 0 && *min <= *max;
  return is_request ? "" : fmt::format("max {} and min {} are not a valid request", *max, *min);
}

std::string problem_of_mba(const Value& mba) {
  const auto percentage = number(mba, "percentage");
  const auto mbps = number(mba, "mbps");
  const bool is_one = mba.members().size() == 1 && (percentage || mbps);
  const bool is_in_range = percentage ? *percentage > 0 && *percentage <= kPercent : mbps && *mbps > 0;
  return is_one && is_in_range ? "" : "expected a percentage of 1 to 100, or mbps";
}

std::string problem_of_pstate(const Value& pstate) {
  const Value* ratio = pstate.find("ratio");
  if (!has_only(pstate, {"ratio", "monitoring"}) || ratio == nullptr) return "expected ratio and monitoring";
  const std::optional<double> value = ratio->as_double();
  if (!value || *value <= 0) return "ratio must be above 0";
  const std::string* word = part(pstate, "monitoring").as_string();
  const bool is_known = !pstate.find("monitoring") || (word != nullptr && (*word == "on" || *word == "off"));
  return is_known ? "" : "monitoring must be on or off";
}

std::string problem_of(const Member& part) {
  if (part.key == "cache") return problem_of_cache(part.value);
  if (part.key == "mba") return problem_of_mba(part.value);
  if (part.key == "pstate") return problem_of_pstate(part.value);
  return "is unknown to nrd";
}

std::string policies_of(RmdImport& moving, const std::string& path, const Value& tree) {
  std::string text = "# Policies of nrd(8), imported from " + path + ".\n";
  for (const Member& cpu : tree.members()) {
    for (const Member& policy : cpu.value.members()) {
      for (const Member& part : policy.value.members()) {
        const std::string name = key_of(cpu.key) + "." + key_of(policy.key) + "." + key_of(part.key);
        const std::string problem = problem_of(part);
        if (!problem.empty()) {
          moving.report().left_out(fmt::format("{}: {}", path, name), problem);
          continue;
        }
        text += "\n[" + name + "]\n";
        for (const Member& member : part.value.members()) text += line(member);
      }
    }
  }
  return text;
}

}  // namespace

Result<void> move_policies(RmdImport& moving, const RmdDirectory& rmd) {
  const std::string named = moving.text("default.policypath", "/etc/rmd/policy.toml");
  const std::string path = rmd.place_of(named);
  const std::optional<Value> tree = TRY(rmd.read_tree(named));
  if (!tree) {
    moving.report().left_out("default.policypath", path + " not found");
    return {};
  }
  moving.add_file("", {"policy.toml", policies_of(moving, path, *tree), kPublic});
  moving.take_text(path, "policy", "file", moving.path_of("policy.toml"));
  return {};
}

Result<void> move_cpu_map(RmdImport& moving, const RmdDirectory& rmd) {
  const std::string path = rmd.place_of("cpu_map.toml");
  const std::optional<Value> tree = TRY(rmd.read_tree("cpu_map.toml"));
  if (!tree) return {};
  std::string text = "# Names for CPU families and models, imported from " + path + ".\n";
  for (const Member& cpu : tree->members()) {
    if (cpu.value.as_string() != nullptr) continue;  // a title
    // RMD's decoder took [name] for [[name]], and ignored other keys.
    for (const Value& numbers : cpu.value.is_object() ? std::vector{cpu.value} : cpu.value.items()) {
      const auto family = number_in(part(numbers, "family"));
      const auto model = number_in(part(numbers, "model"));
      if (!family || !model) {
        moving.report().left_out(fmt::format("{}: {}", path, cpu.key), "expected whole numbers family and model");
        continue;
      }
      text += fmt::format("\n[[{}]]\nfamily = {}\nmodel = {}\n", key_of(cpu.key), *family, *model);
    }
  }
  moving.add_file("", {"cpu_map.toml", text, kPublic});
  moving.take_text(path, "policy", "cpu_map", moving.path_of("cpu_map.toml"));
  return {};
}

}  // namespace nrd::cli
