#include "api/auth/pam.h"

#include <security/pam_appl.h>

#include <cstdlib>
#include <cstring>

namespace nrd::auth {
namespace {

// Not const and kept alive: pam_start() keeps a pointer to it.
struct Talk {
  const Secret& password;
};

void forget(pam_response* answers, int count) {
  for (int i = 0; i < count; ++i) {
    if (answers[i].resp == nullptr) continue;
    ::explicit_bzero(answers[i].resp, std::strlen(answers[i].resp));
    std::free(answers[i].resp);
  }
  std::free(answers);
}

// Answers only prompts without echo, with the password; fails other prompts.
int converse(int count, const pam_message** messages, pam_response** answers, void* data) {
  if (count <= 0 || count > PAM_MAX_NUM_MSG) return PAM_CONV_ERR;
  // Freed by libpam, hence malloc.
  auto* given = static_cast<pam_response*>(std::calloc(static_cast<size_t>(count), sizeof(pam_response)));
  if (given == nullptr) return PAM_BUF_ERR;
  const std::string_view password = static_cast<const Talk*>(data)->password.view();
  for (int i = 0; i < count; ++i) {
    const int style = messages[i]->msg_style;
    if (style == PAM_ERROR_MSG || style == PAM_TEXT_INFO) continue;
    char* copy = style == PAM_PROMPT_ECHO_OFF ? ::strndup(password.data(), password.size()) : nullptr;
    if (copy == nullptr) {
      forget(given, count);
      return PAM_CONV_ERR;
    }
    given[i].resp = copy;
  }
  *answers = given;
  return PAM_SUCCESS;
}

// Disables PAM's failure delay: nrd limits failures by host and user (login_limits.h); a delay would block the queue.
void no_delay(int /*status*/, unsigned /*microseconds*/, void* /*data*/) {}

int set(pam_handle_t* pam, int item, const void* value) { return ::pam_set_item(pam, item, value); }

// A module may replace the user name. Roles depend on the name that the client sent, so it must be unchanged.
bool is_still(pam_handle_t* pam, const std::string& user) {
  const void* name = nullptr;
  return ::pam_get_item(pam, PAM_USER, &name) == PAM_SUCCESS && name != nullptr &&
         user == static_cast<const char*>(name);
}

int ask(pam_handle_t* pam, const PamQuestion& question) {
  // Refuse empty passwords even with "nullok" in the PAM stack.
  constexpr int kFlags = PAM_SILENT | PAM_DISALLOW_NULL_AUTHTOK;
  int code = set(pam, PAM_RHOST, question.host.c_str());
  if (code == PAM_SUCCESS) code = set(pam, PAM_FAIL_DELAY, reinterpret_cast<const void*>(&no_delay));
  if (code == PAM_SUCCESS) code = ::pam_authenticate(pam, kFlags);
  if (code == PAM_SUCCESS) code = ::pam_acct_mgmt(pam, kFlags);
  if (code == PAM_SUCCESS && !is_still(pam, question.user)) code = PAM_PERM_DENIED;
  return code;
}

}  // namespace

PamAnswer ask_pam(const PamQuestion& question) {
  Talk talk{question.password};
  const pam_conv conversation{.conv = converse, .appdata_ptr = &talk};
  pam_handle_t* pam = nullptr;
  int code = ::pam_start(question.service.c_str(), question.user.c_str(), &conversation, &pam);
  if (code == PAM_SUCCESS) code = ask(pam, question);
  PamAnswer answer{code, ::pam_strerror(pam, code)};
  if (pam != nullptr) ::pam_end(pam, code);
  return answer;
}

}  // namespace nrd::auth
