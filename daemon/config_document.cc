#include "daemon/config_document.h"

#include <toml++/toml.h>

#include <utility>

#include "api/tree/tree.h"

namespace nrd::daemon {
namespace {

constexpr size_t kDepth = 4;  // more than the list of tables server.sockets needs

json::Value value_of(const toml::node& node, size_t depth = 0) {
  if (depth > kDepth) return json::Value::null();
  if (const auto* text = node.as_string()) return json::Value::string(text->get());
  if (const auto* whole = node.as_integer()) return json::Value::number(std::to_string(whole->get()));
  if (const auto* flag = node.as_boolean()) return json::Value::boolean(flag->get());
  if (const toml::array* array = node.as_array()) {
    std::vector<json::Value> items;
    for (const toml::node& item : *array) items.push_back(value_of(item, depth + 1));
    return json::Value::array(std::move(items));
  }
  if (const toml::table* table = node.as_table()) {
    std::vector<json::Member> members;
    for (const auto& [key, member] : *table) members.push_back({std::string(key.str()), value_of(member, depth + 1)});
    return json::Value::object(std::move(members));
  }
  return json::Value::null();
}

std::vector<size_t> lines_of_tables(const toml::node& node) {
  std::vector<size_t> lines;
  if (!node.is_array_of_tables()) return lines;
  for (const toml::node& item : *node.as_array()) lines.push_back(item.source().begin.line);
  return lines;
}

}  // namespace

Result<std::vector<ConfigSection>> read_document(const std::string& text, const std::string& name) {
  TRY(tree::check_lines(text, name));
  toml::table document;
  try {
    document = toml::parse(text, name);
  } catch (const toml::parse_error& error) {
    return tree::at_line(name, error.source().begin.line, std::string(error.description()));
  }
  std::vector<ConfigSection> sections;
  for (const auto& [key, node] : document) {
    ConfigSection& section = sections.emplace_back(ConfigSection{
        .name = std::string(key.str()), .line = node.source().begin.line, .is_table = node.is_table(), .entries = {}});
    if (!section.is_table) continue;
    for (const auto& [word, value] : *node.as_table()) {
      section.entries.push_back(
          {std::string(word.str()), value_of(value), value.source().begin.line, lines_of_tables(value)});
    }
  }
  return sections;
}

}  // namespace nrd::daemon
