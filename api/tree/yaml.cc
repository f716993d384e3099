#include <yaml-cpp/yaml.h>

#include "api/tree/tree.h"
#include "base/json/reader.h"

namespace nrd::tree {
namespace {

using json::Value;

// yaml-cpp tags plain scalars "?" and quoted ones "!".
Value scalar(const YAML::Node& node) {
  const std::string& text = node.Scalar();
  if (node.Tag() == "?") {
    if (text == "true" || text == "false") return Value::boolean(text == "true");
    if (const Result<Value> number = json::parse(text); number && number->kind() == Value::Kind::Number) return *number;
  }
  return Value::string(text);
}

// yaml-cpp counts from 0; -1 is unknown.
size_t line_of(const YAML::Mark& mark) { return static_cast<size_t>(mark.line) + 1; }

class Converter {
 public:
  Converter(const std::string& name, KeyCase keys) : name_(name), keys_(keys) {}

  Result<Value> convert(const YAML::Node& node, size_t depth) {
    if (depth > kTreeDepth) return at(node, "nested too deeply, or an alias to itself");
    if (++values_ > kTreeValues || !has_room_for(node.Scalar())) return at(node, "too many values");
    switch (node.Type()) {
      case YAML::NodeType::Undefined:
      case YAML::NodeType::Null: return Value::null();
      case YAML::NodeType::Scalar: return scalar(node);
      case YAML::NodeType::Sequence:
        return array_of(node, [&](const YAML::Node& item) { return convert(item, depth + 1); });
      case YAML::NodeType::Map: return object(node, depth);
    }
    return at(node, "unsupported YAML element");
  }

 private:
  Failure at(const YAML::Node& node, const std::string& problem) const {
    return at_line(name_, line_of(node.Mark()), problem);
  }

  // An alias repeats a text that the file has once.
  bool has_room_for(const std::string& text) { return (bytes_ += text.size()) <= kTreeBytes; }

  Result<Value> object(const YAML::Node& map, size_t depth) {
    std::vector<json::Member> members;
    for (const auto& entry : map) {
      if (!entry.first.IsScalar()) return at(entry.first, "expected a plain key before the colon");
      if (!has_room_for(entry.first.Scalar())) return at(entry.first, "too many values");
      Result<Value> value = convert(entry.second, depth + 1);
      if (!value) return value;
      if (!add_member(members, entry.first.Scalar(), *std::move(value), keys_)) {
        return at(entry.first, entry.first.Scalar() + " is there twice");
      }
    }
    return Value::object(std::move(members));
  }

  const std::string& name_;
  const KeyCase keys_;
  size_t values_ = 0;
  size_t bytes_ = 0;
};

}  // namespace

Result<Value> of_yaml(const std::string& text, const std::string& name, KeyCase keys) {
  try {
    const std::vector<YAML::Node> documents = YAML::LoadAll(text);
    if (documents.empty()) return Value::object({});
    if (documents.size() > 1) return at_line(name, 1, "contains more than one document; expected one");
    Result<Value> tree = Converter(name, keys).convert(documents.front(), 0);
    // A file with comments only is an empty tree, as in TOML.
    return tree && tree->is_null() ? Value::object({}) : tree;
  } catch (const YAML::Exception& error) {
    return at_line(name, line_of(error.mark), error.msg);
  }
}

}  // namespace nrd::tree
