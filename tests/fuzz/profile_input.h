// One input for the evaluator of profiles: a small library, file after file, and what must hold whatever is in them.
//
//   onload_import base       the file /lib/p/x.opf, which is evaluated
//   == base.opf-fragment     a line that begins another file
//   onload_set EF_X 1
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <string_view>

#include "hw/onload/profiles/evaluate.h"
#include "hw/onload/profiles/render.h"
#include "hw/onload/profiles/variable.h"
#include "tests/fuzz/one_input.h"

namespace nrd::fuzz {

using Files = std::map<std::string, std::string>;

inline Files files_in(std::string_view input) {
  constexpr std::string_view kMark = "== ";
  Files files;
  std::string name = "x.opf";
  while (!input.empty()) {
    const std::string_view line = input.substr(0, std::min(input.find('\n'), input.size() - 1) + 1);
    input.remove_prefix(line.size());
    if (line.starts_with(kMark)) {
      name = line.substr(kMark.size(), line.find_last_not_of('\n') + 1 - kMark.size());
    } else {
      files["/lib/p/" + name] += line;
    }
  }
  return files;
}

inline profiles::Parsed<profiles::Evaluated> evaluated(const Files& files, profiles::Winner winner) {
  const profiles::Library library{
      .directories = {"/lib/p"},
      .read = [&files](const std::string& path) -> Result<std::optional<profiles::ProfileFile>> {
        const auto found = files.find(path);
        if (found == files.end()) return std::nullopt;
        return profiles::ProfileFile{found->second};
      }};
  return profiles::evaluate(
      library, {.profiles = {"x"}, .caller = {{"EF_CALLER", "8"}, {"CALLER", "a b"}, {"EMPTY", ""}}, .winner = winner});
}

// What was evaluated can be rendered, and its environment file is a profile that gives the same again.
inline void promise_same_again(const profiles::Environment& environment) {
  const auto lines = profiles::render_env(environment);
  promise(lines.has_value() && profiles::render_drop_in(environment).has_value());
  promise(profiles::render_config_maps({{"x", environment}}).has_value());
  std::string profile;
  for (std::string_view rest = *lines; !rest.empty(); rest.remove_prefix(rest.find('\n') + 1)) {
    profile += "onload_set " + std::string(rest.substr(0, rest.find('\n') + 1));
  }
  // It may have become too long for one; quotes take place.
  const auto again = evaluated({{"/lib/p/x.opf", profile}}, profiles::Winner::Profiles);
  promise(again ? again->environment == environment : profile.size() > 64 << 10);
}

enum class Ending { Evaluated, Dynamic, Refused };

inline Ending keep_profile_promises(std::string_view input, profiles::Winner winner) {
  const auto known = evaluated(files_in(input), winner);
  if (!known) {
    if (const auto* dynamic = std::get_if<profiles::Dynamic>(&known.error())) {
      promise(dynamic->location.file.starts_with("/lib/p/") && dynamic->location.line > 0 && !dynamic->what.empty());
      return Ending::Dynamic;
    }
    promise(!std::get<Error>(known.error()).message.empty());
    return Ending::Refused;
  }
  for (const auto& [name, value] : known->environment) {
    promise(profiles::is_name(name) && !profiles::is_forbidden(name) && !value.empty());
    promise(winner == profiles::Winner::Profiles || name != "EF_CALLER");
  }
  promise_same_again(known->environment);
  return Ending::Evaluated;
}

}  // namespace nrd::fuzz
