// Messages between nrd and nrd-pam: one packet in each direction over a SOCK_SEQPACKET socket.
//
//   question   SERVICE \0 USER \0 HOST \0 PASSWORD
//   answer     PAM's code in decimal, a blank, PAM's message: "7 Authentication failure"
#pragma once

#include <array>
#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/secret.h"

namespace nrd::auth {

constexpr size_t kUserLimit = 256;
constexpr size_t kPasswordLimit = 512;  // PAM_MAX_RESP_SIZE: modules see no more
constexpr size_t kPacketLimit = 2048;

struct PamQuestion {
  std::string service;  // a file of /etc/pam.d
  std::string user;
  std::string host;  // the client's, for modules and their logs (PAM_RHOST)
  Secret password;
};

struct PamAnswer {
  int code = 0;  // 0: PAM_SUCCESS
  std::string text;
  friend bool operator==(const PamAnswer&, const PamAnswer&) = default;
};

inline Secret packet_of(const PamQuestion& question) {
  const std::array<std::string_view, 4> parts{question.service, question.user, question.host, question.password.view()};
  size_t size = parts.size() - 1;
  for (const std::string_view part : parts) size += part.size();
  Secret packet(size);
  char* at = packet.bytes().data();
  for (size_t i = 0; i < parts.size(); ++i) {
    at += parts[i].copy(at, parts[i].size());
    if (i + 1 < parts.size()) *at++ = '\0';
  }
  return packet;
}

// nullopt: not exactly four parts.
inline std::optional<PamQuestion> question_in(std::string_view packet) {
  std::array<std::string_view, 3> parts;
  for (std::string_view& part : parts) {
    const size_t end = packet.find('\0');
    if (end == packet.npos) return std::nullopt;
    part = packet.substr(0, end);
    packet.remove_prefix(end + 1);
  }
  if (packet.find('\0') != packet.npos) return std::nullopt;
  return PamQuestion{std::string(parts[0]), std::string(parts[1]), std::string(parts[2]), Secret(packet)};
}

inline std::string packet_of(const PamAnswer& answer) {
  return (std::to_string(answer.code) + " " + answer.text).substr(0, kPacketLimit);
}

inline std::optional<PamAnswer> answer_in(std::string_view packet) {
  PamAnswer answer;
  const auto [end, error] = std::from_chars(packet.data(), packet.data() + packet.size(), answer.code);
  const auto digits = static_cast<size_t>(end - packet.data());
  if (error != std::errc() || digits >= packet.size() || *end != ' ') return std::nullopt;
  answer.text = packet.substr(digits + 1);
  return answer;
}

}  // namespace nrd::auth
