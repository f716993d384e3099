#include "cli/client.h"

#include <curl/curl.h>

#include <array>
#include <cerrno>
#include <memory>
#include <system_error>

namespace nrd::cli {
namespace {

constexpr long kConnectTimeoutMs = 3000;
constexpr long kTotalTimeoutMs = 30000;  // above the daemon's own deadlines
constexpr size_t kAnswerLimit = size_t{64} << 20;

using Handle = std::unique_ptr<CURL, void (*)(CURL*)>;
using ErrorText = std::array<char, CURL_ERROR_SIZE>;

size_t append(char* bytes, size_t size, size_t count, void* body) {
  auto& text = *static_cast<std::string*>(body);
  if (text.size() + size * count > kAnswerLimit) return 0;
  text.append(bytes, size * count);
  return size * count;
}

bool is_https(const std::string& url) { return url.starts_with("https:"); }

void set_limits(CURL* curl) {
  ::curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  ::curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, kConnectTimeoutMs);
  ::curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, kTotalTimeoutMs);
  ::curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
}

void set_tls(CURL* curl, const Endpoint& to) {
  ::curl_easy_setopt(curl, CURLOPT_SSLVERSION, long{CURL_SSLVERSION_TLSv1_2});
  ::curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, 1L);
  ::curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, 2L);
  if (!to.ca.empty()) {
    ::curl_easy_setopt(curl, CURLOPT_CAINFO, to.ca.c_str());
    // Else Debian's libcurl would go on trusting everybody in /etc/ssl/certs beside the CA that was named.
    ::curl_easy_setopt(curl, CURLOPT_CAPATH, nullptr);
  }
  if (!to.certificate.empty()) ::curl_easy_setopt(curl, CURLOPT_SSLCERT, to.certificate.c_str());
  if (!to.key.empty()) ::curl_easy_setopt(curl, CURLOPT_SSLKEY, to.key.c_str());
}

// libcurl has copies of its own, which end with the handle.
void set_user(CURL* curl, const Endpoint& to) {
  if (to.user.empty() || !to.password) return;
  Secret terminated(to.password->view().size() + 1);
  to.password->view().copy(terminated.bytes().data(), to.password->view().size());
  ::curl_easy_setopt(curl, CURLOPT_HTTPAUTH, CURLAUTH_BASIC);
  ::curl_easy_setopt(curl, CURLOPT_USERNAME, to.user.c_str());
  ::curl_easy_setopt(curl, CURLOPT_PASSWORD, terminated.view().data());
}

void set_endpoint(CURL* curl, const Endpoint& to, const std::string& path) {
  if (!to.url.empty()) {
    ::curl_easy_setopt(curl, CURLOPT_URL, (to.url + path).c_str());
    return set_tls(curl, to);
  }
  ::curl_easy_setopt(curl, CURLOPT_URL, ("http://localhost" + path).c_str());
  ::curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, to.socket.c_str());
  ::curl_easy_setopt(curl, CURLOPT_PROXY, "");  // a proxy of the environment has no business on a local socket
}

std::string socket_trouble(CURL* curl, CURLcode code, const Endpoint& to, const std::string& text) {
  const std::string where = "cannot reach nrd on the socket " + to.socket + ": ";
  long number = 0;
  ::curl_easy_getinfo(curl, CURLINFO_OS_ERRNO, &number);
  // Only of a connect that failed does libcurl's own text say less than the system's: it speaks of localhost port 80.
  if (code != CURLE_COULDNT_CONNECT || number == 0) return where + text;
  const std::string reason = std::generic_category().message(static_cast<int>(number));
  if (number == EACCES || number == EPERM) return where + reason + "; be root or in the group nrd";
  return where + reason + "; is nrd running? (systemctl status nrd)";
}

// Which check of TLS failed, and on which side.
std::string tls_trouble(CURLcode code, const Endpoint& to, const std::string& reason) {
  if (code == CURLE_PEER_FAILED_VERIFICATION) {
    // So libcurl begins what OpenSSL says of the chain of signatures; else it is its own check of the name.
    const bool is_chain = reason.starts_with("SSL certificate problem");
    return "the certificate of " + to.url + " is not accepted: " + reason +
           (is_chain ? "; --cacert must be the CA that signed it, and neither may be expired"
                     : "; use a name it is made for, or make one with nrdctl tls init --host NAME");
  }
  if (code == CURLE_SSL_CACERT_BADFILE) return "--cacert " + to.ca + " cannot be used: " + reason;
  if (code == CURLE_SSL_CERTPROBLEM) {
    return "--cert " + to.certificate + " cannot be used: " + reason +
           "; may you read it, and does --key belong to it?";
  }
  if (reason.find("protocol version") != std::string::npos) {
    return "cannot reach " + to.url + ": " + reason + "; nrdctl speaks TLS 1.2 and newer, as nrd does: is this nrd?";
  }
  constexpr const char* kWhoIsBelieved =
      "--cert and --key must be of a certificate that the CA of nrd's tls.client_ca signed";
  if (reason.find("alert") != std::string::npos) {
    return to.url + " refuses us in the TLS handshake: " + reason + "; " + kWhoIsBelieved;
  }
  // With TLS 1.3 the server looks at our certificate when we already believe to be connected and are sending. If it has
  // closed the connection by then, that is all we see of its refusal.
  if (code == CURLE_SEND_ERROR || code == CURLE_RECV_ERROR || code == CURLE_GOT_NOTHING) {
    return to.url + " ended the connection: " + ::curl_easy_strerror(code) +
           "; if nrd is running, it refuses us: " + kWhoIsBelieved;
  }
  return "cannot reach " + to.url + ": " + reason + "; is nrd running and serving TLS there? (systemctl status nrd)";
}

Failure trouble(CURL* curl, CURLcode code, const Endpoint& to, const ErrorText& text) {
  const std::string reason = text[0] == '\0' ? ::curl_easy_strerror(code) : text.data();
  if (to.url.empty()) return fail(ErrorCode::Busy, socket_trouble(curl, code, to, reason));
  if (is_https(to.url)) return fail(ErrorCode::Busy, tls_trouble(code, to, reason));
  return fail(ErrorCode::Busy,
              "cannot reach " + to.url + ": " + reason + "; is nrd running with --debug? (systemctl status nrd)");
}

// As curl_easy_perform(), but ends when `fd` has something to read.
CURLcode perform_unless_readable(CURL* curl, int fd) {
  const std::unique_ptr<CURLM, CURLMcode (*)(CURLM*)> multi(::curl_multi_init(), &::curl_multi_cleanup);
  if (!multi || ::curl_multi_add_handle(multi.get(), curl) != CURLM_OK) return CURLE_FAILED_INIT;
  CURLcode code = CURLE_ABORTED_BY_CALLBACK;
  for (int running = 1;;) {
    if (::curl_multi_perform(multi.get(), &running) != CURLM_OK) break;
    int left = 0;
    if (const CURLMsg* done = ::curl_multi_info_read(multi.get(), &left); done != nullptr) {
      code = done->data.result;
      break;
    }
    curl_waitfd also{.fd = fd, .events = CURL_WAIT_POLLIN, .revents = 0};
    constexpr int kTurnMs = 1000;  // libcurl wakes up sooner for its own deadlines
    if (running == 0 || ::curl_multi_poll(multi.get(), &also, 1, kTurnMs, nullptr) != CURLM_OK) break;
    if (also.revents != 0) break;
  }
  ::curl_multi_remove_handle(multi.get(), curl);
  return code;
}

}  // namespace

Result<Answer> Client::call(const std::string& method, const std::string& path, const std::string& body) const {
  const Handle handle(::curl_easy_init(), &::curl_easy_cleanup);
  const std::unique_ptr<curl_slist, void (*)(curl_slist*)> headers(
      ::curl_slist_append(nullptr, "Content-Type: application/json"), &::curl_slist_free_all);
  Answer answer;
  ErrorText text{};
  CURL* curl = handle.get();
  set_limits(curl);
  set_endpoint(curl, to_, path);
  set_user(curl, to_);
  ::curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, text.data());
  ::curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method.c_str());
  ::curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.get());
  ::curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, append);
  ::curl_easy_setopt(curl, CURLOPT_WRITEDATA, &answer.body);
  if (!body.empty()) {
    ::curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body.data());
    ::curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE, static_cast<long>(body.size()));
  }
  const CURLcode code = breaks_off_ ? perform_unless_readable(curl, *breaks_off_) : ::curl_easy_perform(curl);
  if (code != CURLE_OK) return trouble(curl, code, to_, text);
  ::curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &answer.status);
  return answer;
}

}  // namespace nrd::cli
