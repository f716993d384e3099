// Appends one compact JSON text. The caller keeps objects and arrays balanced; commas and escapes are written here.
//
//   Writer w;
//   w.begin_object().key("id").string("1").key("ways").number(2).end_object();
//   w.text() == R"({"id":"1","ways":2})"
//
// Bytes that are not UTF-8 (a directory's name can have them) come out as U+FFFD, so the text is always valid.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace nrd::json {

class Writer {
 public:
  Writer& begin_object() { return begin('{'); }
  Writer& end_object() { return end('}'); }
  Writer& begin_array() { return begin('['); }
  Writer& end_array() { return end(']'); }
  Writer& key(std::string_view name);
  Writer& string(std::string_view text);
  Writer& number(uint64_t value);
  Writer& boolean(bool value);
  Writer& null();
  // A number's literal or another complete JSON text.
  Writer& raw(std::string_view json);

  const std::string& text() const { return text_; }
  std::string take() { return std::move(text_); }

 private:
  Writer& begin(char bracket);
  Writer& end(char bracket);
  void separate();

  std::string text_;
  bool needs_comma_ = false;
};

// `text` as a JSON string: in double quotes, one line whatever it contains. For messages it is cut to `limit` bytes.
constexpr size_t kQuoted = 40;  // bytes of the client's text in a message
std::string quoted(std::string_view text, size_t limit = std::string_view::npos);

}  // namespace nrd::json
