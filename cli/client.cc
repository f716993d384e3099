#include "cli/client.h"

#include <curl/curl.h>
#include <fmt/core.h>
#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <thread>

#include "base/errno_text.h"
#include "cli/printer.h"

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
  ::curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L);  // a workload called ".." is not another path
}

void set_tls(CURL* curl, const Endpoint& to) {
  ::curl_easy_setopt(curl, CURLOPT_SSLVERSION, long{CURL_SSLVERSION_TLSv1_2});
  ::curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, 1L);
  ::curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, 2L);
  if (!to.ca.empty()) {
    ::curl_easy_setopt(curl, CURLOPT_CAINFO, to.ca.c_str());
    // Without this, Debian's libcurl would trust all of /etc/ssl/certs in addition to the given CA.
    ::curl_easy_setopt(curl, CURLOPT_CAPATH, nullptr);
  }
  if (!to.certificate.empty()) ::curl_easy_setopt(curl, CURLOPT_SSLCERT, to.certificate.c_str());
  if (!to.key.empty()) ::curl_easy_setopt(curl, CURLOPT_SSLKEY, to.key.c_str());
}

// libcurl copies these; the copies live as long as the handle.
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
  ::curl_easy_setopt(curl, CURLOPT_PROXY, "");  // the environment's proxy does not apply to a local socket
}

// Which clients the mode of the socket admits.
std::string who_may_connect(const std::string& socket) {
  struct stat what = {};
  const bool is_for_group = ::stat(socket.c_str(), &what) == 0 && (what.st_mode & S_IWGRP) != 0;
  const group* found = is_for_group ? ::getgrgid(what.st_gid) : nullptr;
  return std::string("run as root") + (found == nullptr ? "" : std::string(" or join the group ") + found->gr_name);
}

Failure socket_problem(CURL* curl, CURLcode code, const Endpoint& to, const std::string& text) {
  const std::string where = fmt::format("cannot reach nrd on the socket {}: ", to.socket);
  long number = 0;
  ::curl_easy_getinfo(curl, CURLINFO_OS_ERRNO, &number);
  // For a failed connect to a Unix socket, libcurl's own text is misleading (localhost port 80); use errno instead.
  if (code != CURLE_COULDNT_CONNECT || number == 0) return fail(ErrorCode::Busy, where + text);
  const std::string reason = errno_text(static_cast<int>(number));
  if (number == EACCES || number == EPERM)
    return fail(ErrorCode::Busy, fmt::format("{}{}; {}", where, reason, who_may_connect(to.socket)));
  const bool is_served = number != ENOENT && number != ECONNREFUSED;
  return fail(is_served ? ErrorCode::Busy : ErrorCode::NotFound,
              fmt::format("{}{}; check that nrd is running (systemctl status nrd)", where, reason));
}

// Which TLS check failed, and on which side.
std::string tls_problem(CURLcode code, const Endpoint& to, const std::string& reason) {
  if (code == CURLE_PEER_FAILED_VERIFICATION) {
    // libcurl uses this prefix for chain errors of OpenSSL; otherwise its own host name check failed.
    const bool is_chain = reason.starts_with("SSL certificate problem");
    return fmt::format("the certificate of {} was rejected: {}{}", to.url, reason,
                       is_chain ? "; --cacert must name the CA that signed it, and both must be unexpired"
                                : "; use a host name listed in it, or create one with nrdctl tls init --host NAME");
  }
  if (code == CURLE_SSL_CACERT_BADFILE) return fmt::format("--cacert {} cannot be used: {}", to.ca, reason);
  if (code == CURLE_SSL_CERTPROBLEM) {
    return fmt::format("--cert {} cannot be used: {}{}", to.certificate, reason,
                       to.key.empty() ? "; check its permissions and that it has the private key as well, or use --key"
                                      : "; check its permissions and that --key matches it");
  }
  if (reason.find("protocol version") != std::string::npos) {
    return fmt::format("cannot reach {}: {}; nrd and nrdctl require TLS 1.2 or newer; check that the endpoint is nrd",
                       to.url, reason);
  }
  constexpr const char* kTrustedClients =
      "--cert and --key must belong to a certificate signed by the CA in nrd's tls.client_ca";
  if (reason.find("alert") != std::string::npos) {
    return fmt::format("{} rejected the TLS handshake: {}; {}", to.url, reason, kTrustedClients);
  }
  // With TLS 1.3 the server verifies the client certificate only after our handshake has finished and we are sending.
  // A closed connection is then the only sign of a refusal.
  if (code == CURLE_SEND_ERROR || code == CURLE_RECV_ERROR || code == CURLE_GOT_NOTHING) {
    return fmt::format("{} closed the connection: {}; if nrd is running, it rejected the client certificate: {}",
                       to.url, ::curl_easy_strerror(code), kTrustedClients);
  }
  return fmt::format("cannot reach {}: {}; check that nrd is running and serves TLS there (systemctl status nrd)",
                     to.url, reason);
}

Failure transfer_failure(CURL* curl, CURLcode code, const Endpoint& to, const ErrorText& text) {
  if (code == CURLE_WRITE_ERROR)
    return fail(ErrorCode::Busy, "the response has more than 64 MiB; check that the endpoint is nrd");
  const std::string reason = text[0] == '\0' ? ::curl_easy_strerror(code) : text.data();
  if (to.url.empty()) return socket_problem(curl, code, to, reason);
  if (is_https(to.url)) return fail(ErrorCode::Busy, tls_problem(code, to, reason));
  return fail(ErrorCode::Busy,
              fmt::format("cannot reach {}: {}; check that nrd is running with --debug (systemctl status nrd)", to.url,
                          reason));
}

// Like curl_easy_perform(), but returns once `fd` is readable.
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

Result<void> Client::check_trusted() const {
  if (::geteuid() != 0) return {};
  if (!is_local()) {
    if (is_encrypted()) return {};
    return fail(ErrorCode::BadRequest,
                "as root, use the Unix socket or --url https://HOST:PORT: plain HTTP does not authenticate the server");
  }
  struct stat what = {};
  // An absent socket cannot be reached either, so it needs no check.
  if (::stat(to_.socket.c_str(), &what) != 0 || what.st_uid == 0) return {};
  return fail(ErrorCode::BadRequest,
              fmt::format("the socket {} is not owned by root, so the server is not trusted", to_.socket));
}

Result<Answer> Client::get(const std::string& path) const {
  using Steady = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kRetryInterval{200};
  std::optional<Steady::time_point> until;  // set by the first failure
  for (;;) {
    Result<Answer> answer = call("GET", path, "");
    const bool is_away = !answer || answer->status == kUnavailable;
    if (!is_away || !outlasts_until_) return answer;
    if (!until) {
      until = std::min(Steady::now() + kRestartTime, *outlasts_until_);
      print_error(kReconnecting);
    }
    if (Steady::now() >= *until) return answer;
    std::this_thread::sleep_for(kRetryInterval);
  }
}

Result<Answer> Client::call(const std::string& method, const std::string& path, const std::string& body) const {
  const Handle handle(::curl_easy_init(), &::curl_easy_cleanup);
  const std::unique_ptr<curl_slist, void (*)(curl_slist*)> headers(
      ::curl_slist_append(::curl_slist_append(nullptr, "Content-Type: application/json"),
                          "Accept: application/json, application/problem+json, text/plain;q=0.5"),
      &::curl_slist_free_all);
  Answer answer;
  answer.name_of = name_of_;
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
  if (code != CURLE_OK) return transfer_failure(curl, code, to_, text);
  ::curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &answer.status);
  return answer;
}

}  // namespace nrd::cli
