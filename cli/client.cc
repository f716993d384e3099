#include "cli/client.h"

#include <curl/curl.h>

#include <memory>

namespace nrd::cli {
namespace {

constexpr long kConnectTimeoutMs = 3000;
constexpr long kTotalTimeoutMs = 30000;  // above the daemon's own deadlines
constexpr size_t kAnswerLimit = size_t{64} << 20;

size_t append(char* bytes, size_t size, size_t count, void* body) {
  auto& text = *static_cast<std::string*>(body);
  if (text.size() + size * count > kAnswerLimit) return 0;
  text.append(bytes, size * count);
  return size * count;
}

}  // namespace

Result<Answer> Client::call(const std::string& method, const std::string& path, const std::string& body) const {
  const std::unique_ptr<CURL, void (*)(CURL*)> handle(::curl_easy_init(), &::curl_easy_cleanup);
  std::unique_ptr<curl_slist, void (*)(curl_slist*)> headers(
      ::curl_slist_append(nullptr, "Content-Type: application/json"), &::curl_slist_free_all);
  Answer answer;
  CURL* curl = handle.get();
  const std::string url = url_ + path;
  ::curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  ::curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method.c_str());
  ::curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.get());
  ::curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  ::curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, kConnectTimeoutMs);
  ::curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, kTotalTimeoutMs);
  ::curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  ::curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, append);
  ::curl_easy_setopt(curl, CURLOPT_WRITEDATA, &answer.body);
  if (!body.empty()) {
    ::curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body.data());
    ::curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE, static_cast<long>(body.size()));
  }
  const CURLcode code = ::curl_easy_perform(curl);
  if (code != CURLE_OK) {
    return fail(ErrorCode::Busy, "cannot reach " + url_ + ": " + ::curl_easy_strerror(code) +
                                     "; is nrd running with --debug? (systemctl status nrd)");
  }
  ::curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &answer.status);
  return answer;
}

}  // namespace nrd::cli
