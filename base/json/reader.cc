#include "base/json/reader.h"

#include <fmt/core.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>

#include <optional>
#include <set>
#include <utility>

#include "base/json/writer.h"

namespace nrd::json {
namespace {

// An unclosed array or object.
struct Open {
  bool is_object = false;
  std::string key;  // of the next member
  std::set<std::string> keys;
  std::vector<Value> items;
  std::vector<Member> members;
};

// RapidJSON's SAX handler; returning false stops the parser, with the reason in `refusal_`.
class Builder {
 public:
  explicit Builder(size_t max_nodes) : max_nodes_(max_nodes) {}
  bool Null() { return add(Value::null()); }
  bool Bool(bool value) { return add(Value::boolean(value)); }
  bool RawNumber(const char* text, rapidjson::SizeType size, bool) { return add(Value::number({text, size})); }
  bool String(const char* text, rapidjson::SizeType size, bool) {
    return is_free_of_nul({text, size}) && add(Value::string({text, size}));
  }
  bool StartObject() { return open(true); }
  bool StartArray() { return open(false); }
  bool EndObject(rapidjson::SizeType) {
    Value value = Value::object(std::move(open_.back().members));
    open_.pop_back();
    return put(std::move(value));
  }
  bool EndArray(rapidjson::SizeType) {
    Value value = Value::array(std::move(open_.back().items));
    open_.pop_back();
    return put(std::move(value));
  }
  bool Key(const char* text, rapidjson::SizeType size, bool) {
    std::string key(text, size);
    if (!is_free_of_nul(key)) return false;
    open_.back().key = key;
    if (!open_.back().keys.insert(std::move(key)).second) return refuse("the key occurs twice in its object", here());
    return true;
  }
  // kParseNumbersAsStringsFlag makes all numbers RawNumber.
  bool Int(int) { return false; }
  bool Uint(unsigned) { return false; }
  bool Int64(int64_t) { return false; }
  bool Uint64(uint64_t) { return false; }
  bool Double(double) { return false; }

  std::optional<Value>& root() { return root_; }
  const std::optional<Error>& refusal() const { return refusal_; }

 private:
  // The pointer of the next value.
  std::string here() const {
    std::string text;
    for (const Open& open : open_) {
      text = open.is_object ? pointer(text, open.key.substr(0, kQuoted)) : pointer(text, open.items.size());
    }
    return text;
  }

  bool refuse(std::string message, std::string field = {}) {
    refusal_ = Error{ErrorCode::BadRequest, std::move(field), std::move(message), {}, {}, {}};
    return false;
  }

  bool is_free_of_nul(std::string_view text) {
    return text.find('\0') == text.npos || refuse("a string contains the character \\u0000");
  }

  bool count() { return ++nodes_ <= max_nodes_ || refuse(fmt::format("more than {} values", max_nodes_)); }

  bool open(bool is_object) {
    if (!count()) return false;
    if (open_.size() == kMaxDepth) return refuse(fmt::format("nested more than {} levels deep", kMaxDepth));
    open_.emplace_back().is_object = is_object;
    return true;
  }

  bool add(Value value) { return count() && put(std::move(value)); }

  bool put(Value value) {
    if (open_.empty()) {
      root_ = std::move(value);
    } else if (open_.back().is_object) {
      open_.back().members.push_back({open_.back().key, std::move(value)});
    } else {
      open_.back().items.push_back(std::move(value));
    }
    return true;
  }

  const size_t max_nodes_;
  std::vector<Open> open_;
  std::optional<Value> root_;
  std::optional<Error> refusal_;
  size_t nodes_ = 0;
};

const char* words(rapidjson::ParseErrorCode code) {
  switch (code) {
    case rapidjson::kParseErrorDocumentEmpty: return "no value";
    case rapidjson::kParseErrorDocumentRootNotSingular: return "unexpected text after the value";
    case rapidjson::kParseErrorObjectMissName: return "expected a key in double quotes";
    case rapidjson::kParseErrorObjectMissColon: return "expected ':' after a key";
    case rapidjson::kParseErrorObjectMissCommaOrCurlyBracket: return "expected ',' or '}'";
    case rapidjson::kParseErrorArrayMissCommaOrSquareBracket: return "expected ',' or ']'";
    case rapidjson::kParseErrorStringUnicodeEscapeInvalidHex: return "a \\u escape needs four hexadecimal digits";
    case rapidjson::kParseErrorStringUnicodeSurrogateInvalid: return "a \\u escape is half of a surrogate pair";
    case rapidjson::kParseErrorStringEscapeInvalid: return "a string contains an unknown escape or a control character";
    case rapidjson::kParseErrorStringMissQuotationMark: return "a string has no closing quote";
    case rapidjson::kParseErrorStringInvalidEncoding: return "a string is not valid UTF-8";
    case rapidjson::kParseErrorNumberTooBig: return "a number is out of range";
    case rapidjson::kParseErrorNumberMissFraction: return "a number has no digits after its '.'";
    case rapidjson::kParseErrorNumberMissExponent: return "a number has no digits in its exponent";
    case rapidjson::kParseErrorNone:
    case rapidjson::kParseErrorValueInvalid:
    case rapidjson::kParseErrorTermination:
    case rapidjson::kParseErrorUnspecificSyntaxError: break;
  }
  return "expected a JSON value";
}

Failure refused_at(Error error, size_t offset) {
  error.message = fmt::format("invalid JSON: {} (byte {})", error.message, offset);
  return Failure(std::move(error));
}

}  // namespace

Result<Value> parse(std::string_view text, size_t max_nodes) {
  if (text.find_first_not_of(" \t\r\n") == text.npos) {
    return fail(ErrorCode::BadRequest, "the body is empty; expected a JSON value");
  }
  // RapidJSON treats NUL as the end of the text and would ignore the rest.
  if (const size_t nul = text.find('\0'); nul != text.npos) {
    return refused_at({ErrorCode::BadRequest, {}, "a NUL byte", {}, {}, {}}, nul);
  }
  constexpr unsigned kFlags =
      rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag | rapidjson::kParseNumbersAsStringsFlag;
  rapidjson::MemoryStream stream(text.data(), text.size());
  rapidjson::Reader reader;
  Builder builder(max_nodes);
  const rapidjson::ParseResult result = reader.Parse<kFlags>(stream, builder);
  if (!result.IsError()) return std::move(*builder.root());
  if (builder.refusal()) return refused_at(*builder.refusal(), result.Offset());
  const bool is_truncated =
      result.Offset() >= text.size() && result.Code() != rapidjson::kParseErrorStringInvalidEncoding;
  return refused_at({ErrorCode::BadRequest, {}, is_truncated ? "unexpected end" : words(result.Code()), {}, {}, {}},
                    result.Offset());
}

}  // namespace nrd::json
