#include "base/json/writer.h"

#include "base/control.h"
#include "base/hex.h"
#include "base/utf8.h"

namespace nrd::json {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD

void append_escaped(std::string& out, char c) {
  switch (c) {
    case '"': out += "\\\""; return;
    case '\\': out += "\\\\"; return;
    case '\n': out += "\\n"; return;
    case '\r': out += "\\r"; return;
    case '\t': out += "\\t"; return;
    default: break;
  }
  if (is_control(c)) {
    out += "\\u00" + hex_of({&c, 1});
  } else {
    out += c;
  }
}

}  // namespace

std::string quoted(std::string_view text, size_t limit) {
  std::string out = "\"";
  size_t taken = 0;
  while (!text.empty()) {
    const size_t size = first_code_point(text).length;
    if (taken + size > limit) {
      out += "...";
      break;
    }
    if (size == 1) {
      append_escaped(out, text.front());
    } else if (size == 0) {
      out += kReplacement;
    } else {
      out += text.substr(0, size);
    }
    const size_t step = size == 0 ? 1 : size;
    text.remove_prefix(step);
    taken += step;
  }
  return out += '"';
}

void Writer::separate() {
  if (needs_comma_) text_ += ',';
}

Writer& Writer::raw(std::string_view json) {
  separate();
  text_ += json;
  needs_comma_ = true;
  return *this;
}

Writer& Writer::begin(char bracket) {
  separate();
  text_ += bracket;
  needs_comma_ = false;
  return *this;
}

Writer& Writer::end(char bracket) {
  text_ += bracket;
  needs_comma_ = true;
  return *this;
}

Writer& Writer::key(std::string_view name) {
  separate();
  text_ += quoted(name);
  text_ += ':';
  needs_comma_ = false;
  return *this;
}

Writer& Writer::string(std::string_view text) { return raw(quoted(text)); }
Writer& Writer::number(uint64_t number) { return raw(std::to_string(number)); }
Writer& Writer::boolean(bool truth) { return raw(truth ? "true" : "false"); }
Writer& Writer::null() { return raw("null"); }

}  // namespace nrd::json
