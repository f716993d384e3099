#include "hw/onload/profiles/evaluate.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/ascii.h"
#include "base/find_in.h"
#include "base/joined.h"
#include "hw/onload/profiles/variable.h"

namespace nrd::profiles {
namespace {

struct Source {
  std::string path;
  ProfileFile file;
};

Parsed<std::vector<Statement>> parsed(const Source& source) {
  if (source.file.origin == Origin::Api) return TRY(parse_api_profile(source.file.text, source.path));
  return parse_profile(source.file.text, source.path);
}

class Evaluation {
 public:
  Evaluation(const Library& library, const Request& request) : library_(library), request_(request) {}

  Parsed<Evaluated> all() {
    for (const std::string& profile : request_.profiles) {
      TRY(take(profile, nullptr));
    }
    return std::move(evaluated_);
  }

 private:
  // `importer`: the place of the onload_import; null for requested profiles.
  Parsed<void> take(const std::string& profile, const Location* importer) {
    const Source source = TRY(find(profile, importer));
    if (std::ranges::find(open_, source.path) != open_.end())
      return wrong(*importer, "import cycle: " + chain_to(source.path));
    const Location location = importer == nullptr ? Location{source.path, 1} : *importer;
    if (open_.size() == kImportDepth) return wrong(location, "imports are nested deeper than 16");
    if (++files_ == kFilesLimit + 1) return wrong(location, "more than 64 profiles and imports");
    const std::vector<Statement> statements = TRY(parsed(source));
    open_.push_back(source.path);
    for (const Statement& statement : statements) {
      TRY(std::visit([&](const auto& act) { return apply(act, statement.location, source.file.origin); },
                     statement.act));
    }
    open_.pop_back();
    return {};
  }

  Parsed<void> apply(const Import& import, const Location& location, Origin) {
    const std::string profile = TRY(expand(import.profile, location));
    return take(profile, &location);
  }

  Parsed<void> apply(const Set& set, const Location& location, Origin origin) {
    std::string value = TRY(expand(set.value, location));
    if (const std::string problem = problem_of_value(value); !problem.empty()) {
      return wrong(location, fmt::format("the value of {} {}", set.name, problem));
    }
    if (origin == Origin::Api && is_path(value)) {
      return wrong(location,
                   fmt::format("the value of {} contains a slash; paths are not accepted over the API", set.name));
    }
    Environment& environment = evaluated_.environment;
    if (value.empty()) {
      evaluated_.warnings.push_back(
          fmt::format("{}: {} is set to an empty value, which has no effect", to_string(location), set.name));
      return {};
    }
    if (request_.winner == Winner::Caller && of_caller(set.name)) return {};
    environment.emplace(set.name, std::move(value));
    if (environment.size() > kVariablesLimit) return wrong(location, "more than 512 variables");
    return {};
  }

  std::optional<std::string> of_caller(const std::string& name) const {
    const std::string* value = find_in(request_.caller, name);
    return value && !value->empty() ? std::optional(*value) : std::nullopt;
  }

  // The current value, as a shell would see it.
  std::optional<std::string> value_of(const std::string& name) const {
    const std::string* value = find_in(evaluated_.environment, name);
    return value ? *value : of_caller(name);
  }

  Parsed<std::string> expand(const Word& word, const Location& location) const {
    std::string text;
    for (const Piece& piece : word.pieces) {
      const std::string part = TRY(std::visit([&](const auto& each) { return expand(each, location); }, piece));
      text += part;
      // Repeated references could double the size with each line.
      if (text.size() > kTextLimit) return wrong(location, "a word is longer than 64 KiB");
    }
    return text;
  }

  Parsed<std::string> expand(const Text& text, const Location&) const { return text.text; }

  // Not reached: the parser reports these as dynamic.
  Parsed<std::string> expand(const ShellParameter& found, const Location& location) const {
    return needs_shell(location, shown(found.spelled));
  }

  Parsed<std::string> expand(const Reference& reference, const Location& location) const {
    const std::optional<std::string> value = value_of(reference.name);
    if (!value) return wrong(location, reference.name + " is not set");
    if (!reference.is_quoted && value->find_first_of(" \t\n*?[\\") != std::string::npos) {
      return wrong(location,
                   fmt::format("{} contains spaces or a pattern; write \"${}\"", reference.name, reference.name));
    }
    return *value;
  }

  Parsed<std::string> expand(const Arithmetic& arithmetic, const Location& location) const {
    const auto value = [this](const std::string& name) { return value_of(name); };
    return result_of(arithmetic, value, location).map([](int64_t result) { return std::to_string(result); });
  }

  // Paths to try, in order.
  Parsed<std::vector<std::string>> candidates(const std::string& profile, const Location* importer) const {
    const auto refused = [importer](const std::string& what) -> tl::unexpected<Stop> {
      if (importer != nullptr) return wrong(*importer, what);
      return tl::unexpected<Stop>(Error{ErrorCode::BadRequest, {}, what, {}, {}, {}});
    };
    if (profile.empty() || !problem_of_value(profile).empty())
      return refused(shown(profile) + " is not a valid profile name");
    if (profile.find('/') != std::string::npos) {
      if (library_.paths == Paths::Refused)
        return refused(shown(profile) + ": profiles must be given by name, not by path");
      return std::vector<std::string>{profile};
    }
    if (!is_word(profile, "_-.+")) return refused(shown(profile) + " is not a valid profile name");
    std::vector<std::string> paths;
    for (const std::string& directory : library_.directories) {
      paths.push_back(directory + "/" + profile + ".opf");
      if (importer != nullptr) paths.push_back(directory + "/" + profile + ".opf-fragment");
    }
    return paths;
  }

  Parsed<Source> find(const std::string& profile, const Location* importer) const {
    const std::vector<std::string> paths = TRY(candidates(profile, importer));
    for (const std::string& path : paths) {
      std::optional<ProfileFile> file = TRY(library_.read(path));
      if (file) return Source{.path = path, .file = *std::move(file)};
    }
    const std::string what = fmt::format("profile {} not found; searched {}", shown(profile), joined(paths, ", "));
    if (importer != nullptr) return wrong(*importer, what);
    return tl::unexpected<Stop>(Error{ErrorCode::NotFound, {}, what, {}, {}, {}});
  }

  std::string chain_to(const std::string& path) const {
    std::string chain;
    for (auto open = std::ranges::find(open_, path); open != open_.end(); ++open) chain += *open + " -> ";
    return chain + path;
  }

  const Library& library_;
  const Request& request_;
  Evaluated evaluated_;
  std::vector<std::string> open_;  // stack of current imports, outermost first
  unsigned files_ = 0;
};

}  // namespace

Parsed<Evaluated> evaluate(const Library& library, const Request& request) {
  return Evaluation(library, request).all();
}

}  // namespace nrd::profiles
