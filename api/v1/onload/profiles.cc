#include "api/v1/onload/profiles.h"

#include <string>
#include <utility>

#include "api/v1/onload/answer.h"
#include "api/v1/render_json.h"
#include "base/json/fields.h"
#include "base/json/reader.h"
#include "base/json/validation.h"
#include "engine/onload/allocations.h"

namespace nrd::v1 {
namespace {

using onload::Form;
using onload::ProfileEntry;

void render_entry(json::Writer& w, const ProfileEntry& entry) {
  const auto kind = [&entry] {
    switch (entry.kind) {
      case ProfileEntry::Kind::Static: return "static";
      case ProfileEntry::Kind::Dynamic: return "dynamic";
      case ProfileEntry::Kind::Wrong: return "wrong";
    }
    return "";
  };
  w.begin_object();
  w.key("id").string(entry.id);
  w.key("folder").string(entry.folder);
  w.key("own").boolean(entry.is_own);
  w.key("kind").string(kind());
  w.key("place").string(entry.place);
  w.key("reason").string(entry.reason);
  w.end_object();
}

http::Response shown_entries(const std::vector<ProfileEntry>& entries) {
  json::Writer w;
  w.begin_array();
  for (const ProfileEntry& entry : entries) render_entry(w, entry);
  w.end_array();
  return routing::json_answer(200, w.take());
}

http::Response shown_entry(const ProfileEntry& entry) {
  json::Writer w;
  render_entry(w, entry);
  return routing::json_answer(200, w.take());
}

http::Response shown_profile(const std::string& id, const onload::ProfileRepository::Found& found) {
  json::Writer w;
  w.begin_object();
  w.key("id").string(id);
  w.key("folder").string(found.folder);
  w.key("own").boolean(found.is_own);
  w.key("text").string(found.text);
  w.end_object();
  return routing::json_answer(200, w.take());
}

http::Response shown_form(Form form, const onload::RenderedProfiles& rendered) {
  json::Writer w;
  w.begin_object();
  if (form == Form::Json) {
    w.key("env");
    render(w, rendered.environment);
  } else {
    w.key("text").string(rendered.text);
  }
  json::write(w.key("warnings"), rendered.warnings);
  w.end_object();
  return routing::json_answer(200, w.take());
}

Result<std::string> parse_text(const json::Value& body) {
  if (auto object = require_object("", body, "an object such as {\"text\": \"onload_set EF_POLL_USEC 0\\n\"}");
      !object) {
    return Failure(object.error());
  }
  TRY(check_keys(body, "", {"text"}));
  const json::Value* text = body.find("text");
  if (text == nullptr) return fail_at(ErrorCode::BadRequest, "/text", "is missing", "the text of a profile");
  if (const std::string* string = text->as_string()) return *string;
  return wrong_type("/text", *text, "a string");
}

}  // namespace

void list_profiles(const routing::Call& call, http::Reply reply) {
  call.allocations.list_profiles(answer_with<std::vector<ProfileEntry>>(call, std::move(reply), shown_entries));
}

void show_profile(const routing::Call& call, http::Reply reply) {
  const std::string id(call.id);
  call.allocations.read_profile(
      id, answer_with<onload::ProfileRepository::Found>(call, std::move(reply),
                                                        [id](const auto& found) { return shown_profile(id, found); }));
}

void put_profile(const routing::Call& call, http::Reply reply) {
  const Result<json::Value> body = json::parse(call.request.body);
  if (!body) return reply.send(render(routing::problem_of_body(body.error()), call.error_style));
  Result<std::string> text = parse_text(*body);
  if (!text) return reply.send(refuse(text.error(), call.error_style));
  call.allocations.put_profile(std::string(call.id), *std::move(text),
                               answer_with<ProfileEntry>(call, std::move(reply), shown_entry));
}

void delete_profile(const routing::Call& call, http::Reply reply) {
  call.allocations.remove_profile(std::string(call.id), answer_when_done(call, std::move(reply)));
}

void render_profiles(const routing::Call& call, http::Reply reply) {
  const Result<json::Value> body = json::parse(call.request.body);
  if (!body) return reply.send(render(routing::problem_of_body(body.error()), call.error_style));
  Result<onload::RenderRequest> request = parse_render(*body, {"format"});
  if (!request) return reply.send(refuse(request.error(), call.error_style));
  const Result<Form> form = parse_form(*body);
  if (!form) return reply.send(refuse(form.error(), call.error_style));
  call.allocations.render(
      *std::move(request), *form,
      answer_with<onload::RenderedProfiles>(call, std::move(reply),
                                            [form = *form](const auto& done) { return shown_form(form, done); }));
}

}  // namespace nrd::v1
