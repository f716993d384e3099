#include <string>
#include <utility>

#include "api/v1/onload/answer.h"
#include "api/v1/onload/onload.h"
#include "api/v1/onload/services.h"
#include "base/json/fields.h"
#include "base/json/reader.h"
#include "base/json/validation.h"
#include "engine/onload/allocations.h"

namespace nrd::v1 {
namespace {

using onload::Form;
using onload::ProfileEntry;

http::Response shown_profile(const std::string& id, const onload::ProfileRepository::Found& found) {
  return routing::json_answer(
      200, json::document({{"id", id}, {"folder", found.folder}, {"own", found.is_own}, {"text", found.text}}));
}

http::Response shown_form(Form form, const onload::RenderedProfiles& rendered) {
  const auto text = form == Form::Json
                        ? json::document({{"env", json::by_key(rendered.environment)}, {"warnings", rendered.warnings}})
                        : json::document({{"text", rendered.text}, {"warnings", rendered.warnings}});
  return routing::json_answer(200, text);
}

Result<std::pair<onload::RenderRequest, Form>> parse_form_request(const json::Value& body) {
  onload::RenderRequest request = TRY(parse_render(body, {"format"}));
  const Form form = TRY(parse_form(body));
  return std::pair(std::move(request), form);
}

Result<std::string> parse_text(const json::Value& body) {
  TRY(require_object("", body, "an object such as {\"text\": \"onload_set EF_POLL_USEC 0\\n\"}"));
  TRY(check_keys(body, "", {"text"}));
  const json::Value* text = body.find("text");
  if (text == nullptr) return fail_at(ErrorCode::BadRequest, "/text", "is missing", "the text of a profile");
  if (const std::string* string = text->as_string()) return *string;
  return wrong_type("/text", *text, "a string");
}

}  // namespace

void list_profiles(const routing::Call& call, http::Reply reply) {
  call.launch->allocations.list_profiles(
      answer_with<std::vector<ProfileEntry>>(call, std::move(reply), listed<std::vector<ProfileEntry>>));
}

void show_profile(const routing::Call& call, http::Reply reply) {
  const std::string id(call.id);
  call.launch->allocations.read_profile(
      id, answer_with<onload::ProfileRepository::Found>(call, std::move(reply),
                                                        [id](const auto& found) { return shown_profile(id, found); }));
}

void put_profile(const routing::Call& call, http::Reply reply) {
  std::optional<std::string> text = accept_body(call, reply, parse_text);
  if (!text) return;
  call.launch->allocations.put_profile(std::string(call.id), *std::move(text),
                                       answer_with<ProfileEntry>(call, std::move(reply), json_response<ProfileEntry>));
}

void delete_profile(const routing::Call& call, http::Reply reply) {
  call.launch->allocations.remove_profile(std::string(call.id), answer_when_done(call, std::move(reply)));
}

void render_profiles(const routing::Call& call, http::Reply reply) {
  auto request = accept_body(call, reply, parse_form_request);
  if (!request) return;
  call.launch->allocations.render(
      std::move(request->first), request->second,
      answer_with<onload::RenderedProfiles>(
          call, std::move(reply), [form = request->second](const auto& done) { return shown_form(form, done); }));
}

}  // namespace nrd::v1
