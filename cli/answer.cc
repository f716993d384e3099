#include "cli/answer.h"

#include "base/control.h"
#include "base/json/reader.h"

namespace nrd::cli {
namespace {

constexpr long kFirstGood = 200;
constexpr long kLastGood = 202;

}  // namespace

std::string padded(std::string text, size_t width) {
  if (text.size() < width) text.resize(width, ' ');
  return text;
}

int report_failure(const std::string& text) {
  print_error(text);
  return kRefused;
}

std::optional<std::string> body_of(const Result<Answer>& answer, int& exit) {
  if (!answer) {
    report_failure(answer.error().message);
    exit = kUnreachable;
    return std::nullopt;
  }
  if (answer->status < kFirstGood || answer->status > kLastGood) {
    exit = report_failure(answer->body.empty() ? "request failed with HTTP status " + std::to_string(answer->status)
                                               : answer->body);
    return std::nullopt;
  }
  exit = kDone;
  return answer->body;
}

std::optional<json::Value> parsed(const std::string& body, int& exit) {
  Result<json::Value> value = json::parse(body);
  if (value) return *std::move(value);
  exit = report_failure("the response is not JSON; check that the endpoint is nrd");
  return std::nullopt;
}

std::optional<json::Value> value_of(const Result<Answer>& answer, int& exit) {
  const std::optional<std::string> body = body_of(answer, exit);
  return body ? parsed(*body, exit) : std::nullopt;
}

std::optional<json::Value> value_to_draw(const Result<Answer>& answer, Output output, int& exit) {
  if (!output.json) return value_of(answer, exit);
  if (const std::optional<std::string> body = body_of(answer, exit)) print_json(*body);
  return std::nullopt;
}

std::string text_of(const json::Value& object, std::string_view key) {
  const json::Value* value = object.find(key);
  if (value == nullptr) return "-";
  if (const std::string* text = value->as_string()) return text->empty() ? "-" : without_controls(*text);
  return value->literal() != nullptr ? *value->literal() : "-";
}

const json::Value& part(const json::Value& of, std::string_view key) {
  static const json::Value kNone = json::Value::null();
  const json::Value* value = of.find(key);
  return value == nullptr ? kNone : *value;
}

}  // namespace nrd::cli
