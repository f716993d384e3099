#include "base/json/writer.h"

namespace nrd::json {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD

// Bytes of the UTF-8 character that `text` begins with (RFC 3629, section 4), 0 if it is none.
size_t character_at_front(std::string_view text) {
  const auto byte = [text](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto follows = [&](size_t i, unsigned low, unsigned high) { return byte(i) >= low && byte(i) <= high; };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return follows(1, 0x80, 0xbf) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef) {
    const unsigned low = first == 0xe0 ? 0xa0 : 0x80;   // no overlong forms
    const unsigned high = first == 0xed ? 0x9f : 0xbf;  // no surrogates
    return follows(1, low, high) && follows(2, 0x80, 0xbf) ? 3 : 0;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    const unsigned low = first == 0xf0 ? 0x90 : 0x80;
    const unsigned high = first == 0xf4 ? 0x8f : 0xbf;  // nothing above U+10FFFF
    return follows(1, low, high) && follows(2, 0x80, 0xbf) && follows(3, 0x80, 0xbf) ? 4 : 0;
  }
  return 0;
}

void append_escaped(std::string& out, char c) {
  constexpr char kDigits[] = "0123456789abcdef";
  switch (c) {
    case '"': out += "\\\""; return;
    case '\\': out += "\\\\"; return;
    case '\n': out += "\\n"; return;
    case '\r': out += "\\r"; return;
    case '\t': out += "\\t"; return;
    default: break;
  }
  const auto byte = static_cast<unsigned char>(c);
  if (byte < 0x20 || byte == 0x7f) {
    out += "\\u00";
    out += {kDigits[byte >> 4], kDigits[byte & 0xf]};
  } else {
    out += c;
  }
}

}  // namespace

std::string quoted(std::string_view text, size_t limit) {
  std::string out = "\"";
  size_t taken = 0;
  while (!text.empty()) {
    const size_t size = character_at_front(text);
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

Writer& Writer::value(std::string_view json) {
  separate();
  text_ += json;
  needs_comma_ = true;
  return *this;
}

Writer& Writer::begin_object() {
  separate();
  text_ += '{';
  needs_comma_ = false;
  return *this;
}

Writer& Writer::end_object() {
  text_ += '}';
  needs_comma_ = true;
  return *this;
}

Writer& Writer::begin_array() {
  separate();
  text_ += '[';
  needs_comma_ = false;
  return *this;
}

Writer& Writer::end_array() {
  text_ += ']';
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

Writer& Writer::string(std::string_view text) { return value(quoted(text)); }
Writer& Writer::number(uint64_t number) { return value(std::to_string(number)); }
Writer& Writer::boolean(bool truth) { return value(truth ? "true" : "false"); }
Writer& Writer::null() { return value("null"); }
Writer& Writer::raw(std::string_view json) { return value(json); }

}  // namespace nrd::json
