#include "cli/completion.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

#include "base/ascii.h"
#include "base/suggestions.h"
#include "cli/acceleration.h"
#include "cli/answer.h"

namespace nrd::cli {
namespace {

const std::array kSources = {CompletionSource{"workload show", "/v1/workloads", {"id", "uuid", "name"}},
                             CompletionSource{"workload describe", "/v1/workloads", {"id", "uuid", "name"}},
                             CompletionSource{"workload delete", "/v1/workloads", {"id", "uuid", "name"}},
                             CompletionSource{"workload update", "/v1/workloads", {"id", "uuid", "name"}},
                             CompletionSource{"workload wait", "/v1/workloads", {"id", "uuid", "name"}},
                             CompletionSource{"cpus", "/v1/cpus/pools", {"name"}},
                             CompletionSource{"cpus check", "/v1/cpus/pools", {"name"}},
                             CompletionSource{"--pool", "/v1/cpus/pools", {"name"}},
                             CompletionSource{"policy show", "/v1/policy", {}},
                             CompletionSource{"--policy", "/v1/policy", {}}};

void add_from(const Client& client, const CompletionSource& source, std::vector<std::string>& found) {
  const OrStop<json::Value> answer = value_of(client.get(source.path));
  if (!answer) return;
  if (source.members.empty()) {
    for (const json::Member& member : answer->members()) found.push_back(member.key);
  }
  const json::Value* list = answer->is_object() ? answer->find("versions") : &*answer;
  for (const json::Value& item : list ? list->items() : std::vector<json::Value>()) {
    for (const char* member : source.members) found.push_back(text_or_nothing(item, member));
  }
}

void add_source(const Client& client, std::string_view command, std::vector<std::string>& found) {
  const std::vector<CompletionSource> accelerated = acceleration_sources();
  for (const std::span<const CompletionSource> sources :
       {std::span<const CompletionSource>(kSources), std::span<const CompletionSource>(accelerated)}) {
    for (const CompletionSource& source : sources) {
      if (source.command == command) add_from(client, source, found);
    }
  }
}

// The option of `level` or `app` that takes the next word as its value; null: none.
const CLI::Option* option_before_value(const CLI::App& app, const CLI::App& level, const std::string& word) {
  if (!word.starts_with('-') || word.find('=') != std::string::npos) return nullptr;
  for (const CLI::App* each : {&level, &app}) {
    const CLI::Option* option = each->get_option_no_throw(word);
    if (option != nullptr) return option->get_items_expected_min() > 0 ? option : nullptr;
  }
  return nullptr;
}

// The command that the words before the last one name, and the option that awaits a value.
struct Context {
  const CLI::App* level;
  std::string command;  // "workload show"
  const CLI::Option* option = nullptr;
};

Context context_of(const CLI::App& app, const std::vector<std::string>& words) {
  Context context{.level = &app, .command = {}};
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    context.option = option_before_value(app, *context.level, words[i]);
    if (context.option != nullptr) {
      ++i;
      if (i + 1 < words.size()) context.option = nullptr;  // it has its value
      continue;
    }
    const auto next =
        context.level->get_subcommands([&](const CLI::App* each) { return each->get_name() == words[i]; });
    if (next.empty() || words[i] == "help") continue;  // help takes what may stand in its place
    context.level = next.front();
    context.command += (context.command.empty() ? "" : " ") + words[i];
  }
  return context;
}

// None where a file name, a number or the like is expected.
void add_values(const Client& client, const CLI::Option& option, std::vector<std::string>& found) {
  if (option.check_lname("policy")) add_source(client, "--policy", found);
  if (option.check_lname("pool")) add_source(client, "--pool", found);
  if (option.check_lname("output-format")) found.insert(found.end(), {"json", "name", "table", "wide", "yaml"});
  if (option.check_lname("for")) found.insert(found.end(), {"deleted", "successful"});
}

std::vector<std::string> commands_of(const CLI::App& level) {
  std::vector<std::string> names;
  for (const CLI::App* command : level.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  return names;
}

std::vector<std::string> options_of(const CLI::App& app, const CLI::App& level) {
  std::vector<std::string> names;
  for (const CLI::App* each : {&level, &app}) {
    for (const CLI::Option* option : each->get_options()) {
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
  }
  return names;
}

}  // namespace

std::vector<std::string> completions(const CLI::App& app, const Client& client, const std::vector<std::string>& words) {
  const std::string last = words.empty() ? "" : words.back();
  // After it the words belong to the command of nrdctl run.
  if (!words.empty() && std::find(words.begin(), words.end() - 1, "--") != words.end() - 1) return {};
  const Context context = context_of(app, words);
  std::vector<std::string> found;
  if (context.option != nullptr) {
    add_values(client, *context.option, found);
  } else if (last.starts_with('-')) {
    found = options_of(app, *context.level);
  } else {
    found = commands_of(*context.level);
    std::erase_if(found, [](const std::string& name) { return name.starts_with('_'); });
    add_source(client, context.command, found);
  }
  // bash puts a candidate into the line as it is: what a client chose, such as a uuid, could be a command.
  const auto is_plain = [](const std::string& text) { return is_word(text, "-_.~:@+"); };
  std::erase_if(found, [&](const std::string& text) { return !is_plain(text) || !text.starts_with(last); });
  const std::set<std::string> sorted(found.begin(), found.end());
  return {sorted.begin(), sorted.end()};
}

Endpoint endpoint_in(const std::vector<std::string>& words, Endpoint to) {
  const std::array options = {std::pair{std::string("--socket"), &to.socket}, std::pair{std::string("--url"), &to.url},
                              std::pair{std::string("--cert"), &to.certificate},
                              std::pair{std::string("--key"), &to.key}, std::pair{std::string("--cacert"), &to.ca}};
  // The last word is still typed.
  for (size_t i = 0; i + 1 < words.size() && words[i] != "--"; ++i) {
    for (const auto& [option, value] : options) {
      const bool is_separate = words[i] == option && i + 2 < words.size();
      if (!is_separate && !words[i].starts_with(option + "=")) continue;
      *value = is_separate ? words[i + 1] : words[i].substr(option.size() + 1);
      if (value == &to.socket) to.url.clear();
    }
  }
  while (to.url.ends_with('/')) to.url.pop_back();
  return to;
}

namespace {

// Of those that begin like the word; empty if there are none.
std::string suggestion(const std::string& word, const std::vector<std::string>& known) {
  const size_t begin = word.find_first_not_of('-');
  std::vector<std::string_view> alike;
  for (const std::string& each : known) {
    if (begin < word.size() && begin < each.size() && each[begin] == word[begin]) alike.push_back(each);
  }
  const std::string_view guess = closest(word, alike);
  return guess.empty() ? "" : fmt::format("did you mean {}?", guess);
}

}  // namespace

std::string advice(const CLI::App& app, int argc, char** argv) {
  const CLI::App* level = &app;
  for (int i = 1; i < argc; ++i) {
    const std::string word = std::string(argv[i]).substr(0, std::string(argv[i]).find('='));
    if (word == "--") return {};
    if (word.starts_with("--")) {
      const std::vector<std::string> options = options_of(app, *level);
      if (std::ranges::find(options, word) == options.end()) return suggestion(word, options);
    }
    const CLI::Option* option = app.get_option_no_throw(word);
    if (option != nullptr && option->get_items_expected_max() > 0) ++i;  // its value is no command
    if (word.starts_with('-')) continue;
    const std::vector<std::string> commands = commands_of(*level);
    if (commands.empty()) continue;
    if (std::ranges::find(commands, word) == commands.end()) return suggestion(word, commands);
    level = level->get_subcommand(word);
  }
  return {};
}

}  // namespace nrd::cli
