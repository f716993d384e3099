#include "cli/import_rmd/rmd_import.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/ascii.h"
#include "base/control.h"
#include "base/json/writer.h"
#include "base/number.h"
#include "cli/answer.h"

namespace nrd::cli {
namespace {

constexpr size_t kShown = 80;  // bytes of a value
constexpr const char* kHead =
    "# Configuration of nrd(8), carried over from RMD's by nrdctl import-rmd. What is not here has its default:\n"
    "# nrd.toml(5).\n";
// In the order of etc/nrd.toml.
constexpr const char* kSections[] = {"server",      "tls",    "roles", "access", "rdt",
                                     "cache_pools", "policy", "tasks", "log"};

}  // namespace

std::string literal_of(const std::string& text) { return json::quoted(text); }

std::optional<uint64_t> number_in(const json::Value& value) {
  const std::string* text = value.as_string();
  return text != nullptr ? parse_number<uint64_t>(*text) : value.as_unsigned();
}

std::optional<bool> flag_in(const json::Value& value) {
  if (const std::string* text = value.as_string()) {
    const std::string word = lower_case(*text);
    if (word == "true" || word == "false") return word == "true";
  }
  const std::optional<uint64_t> number = number_in(value);
  return number && *number <= 1 ? *number == 1 : value.as_bool();
}

std::string shown(const json::Value& value) {
  if (const std::string* text = value.as_string()) return json::quoted(*text, kShown);
  if (value.literal() != nullptr) return *value.literal();
  if (const auto flag = value.as_bool()) return *flag ? "true" : "false";
  return value.items().empty() ? name_of(value.kind()) : shown(value.items().front()) + ", …";
}

const json::Value& RmdImport::value(const std::string& key) {
  const std::string lower = lower_case(key);
  known_.insert(lower);
  const size_t dot = lower.find('.');
  return part(part(config_, lower.substr(0, dot)), lower.substr(dot + 1));
}

std::string RmdImport::text(const std::string& key, const std::string& otherwise) {
  const std::string* text = value(key).as_string();
  return text != nullptr ? *text : otherwise;
}

std::vector<std::string> RmdImport::unknown() const {
  std::vector<std::string> keys;
  for (const json::Member& section : config_.members()) {
    if (!section.value.is_object() && !known_.contains(section.key)) keys.push_back(section.key);
    for (const json::Member& member : section.value.members()) {
      const std::string key = section.key + "." + member.key;
      if (!known_.contains(key)) keys.push_back(key);
    }
  }
  return keys;
}

void RmdImport::set(const std::string& section, const std::string& key, const std::string& literal) {
  lines_[section].push_back(fmt::format("{} = {}", key, literal));
}

void RmdImport::take(const std::string& from, const std::string& section, const std::string& key,
                     const std::string& literal) {
  set(section, key, literal);
  report_.taken(from, fmt::format("{}.{} = {}", section, key, literal));
}

void RmdImport::take_text(const std::string& from, const std::string& section, const std::string& key,
                          const std::string& text) {
  set(section, key, literal_of(text));
  report_.taken(from, fmt::format("{}.{} = {}", section, key, text));
}

std::string RmdImport::configuration() const {
  std::string text = kHead;
  for (const char* section : kSections) {
    const auto found = lines_.find(section);
    if (found == lines_.end()) continue;
    text += std::string("\n[") + section + "]\n";
    for (const std::string& line : found->second) text += line + "\n";
  }
  text += "\n# What RMD's had beyond that, and why it is not here:\n";
  for (const Note& note : report_.notes()) {
    if (note.kind == Note::Kind::LeftOut)
      text += "# " + without_controls(fmt::format("{}: {}", note.what, note.text)) + "\n";
  }
  return text;
}

}  // namespace nrd::cli
