// Prints what profiles become, for readers that are not ours.
//
//   nrd-profile FORM DIRECTORY [NAME=VALUE | PROFILE]...      FORM: env, drop-in, config-maps
//
// NAME=VALUE is the caller's environment. Exits with 2 if a profile needs a shell, with 1 for what is wrong, and says
// on standard error why.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/file.h"
#include "hw/onload/profiles/render.h"

namespace {

using namespace nrd::profiles;

struct Asked {
  Library library;
  Request request;
};

[[noreturn]] void stop(int status, const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  std::exit(status);
}

template <typename T>
T value_or_stop(const nrd::Result<T>& result) {
  if (!result) stop(1, result.error().message);
  return *result;
}

Environment environment_of(const Library& library, const Request& request) {
  const auto known = evaluate(library, request);
  if (known) return known->environment;
  if (const auto* dynamic = std::get_if<Dynamic>(&known.error())) stop(2, to_string(*dynamic));
  stop(1, std::get<nrd::Error>(known.error()).message);
}

std::string rendered(const std::string& form, const Asked& asked) {
  if (form == "env") return value_or_stop(render_env(environment_of(asked.library, asked.request)));
  if (form == "drop-in") return value_or_stop(render_drop_in(environment_of(asked.library, asked.request)));
  std::vector<Profile> profiles;
  for (const std::string& name : asked.request.profiles) {
    Request one = asked.request;
    one.profiles = {name};
    profiles.push_back({name, environment_of(asked.library, one)});
  }
  return value_or_stop(render_config_maps(profiles));
}

nrd::Result<std::optional<ProfileFile>> as_file(nrd::Result<std::optional<std::string>> text) {
  if (!text) return nrd::Failure(text.error());
  return *text ? std::optional(ProfileFile{**std::move(text)}) : std::nullopt;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 64;
  Asked asked{.library = {.directories = {argv[2]},
                          .read = [](const std::string& path) { return as_file(nrd::read_file(path)); }}};
  for (int i = 3; i < argc; ++i) {
    const std::string argument = argv[i];
    const size_t equals = argument.find('=');
    if (equals == std::string::npos) {
      asked.request.profiles.push_back(argument);
    } else {
      asked.request.caller[argument.substr(0, equals)] = argument.substr(equals + 1);
    }
  }
  const std::string text = rendered(argv[1], asked);
  return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() ? 0 : 1;
}
