// The process that something belongs to, on the wire: {"pid": 4711}, or {"caller": true} for whoever asks over the Unix
// socket, whose number the kernel says, also from within a container. {"pid": 4711, "start": 8150} is for those who
// know themselves only: on another host, or under another number, they are not found.
#pragma once

#include <sys/types.h>

#include <optional>

#include "api/http/message.h"
#include "api/json/value.h"
#include "api/json/writer.h"
#include "base/result.h"
#include "engine/process_watcher.h"

namespace nrd::v1 {

struct OwnerRequest {
  std::optional<pid_t> pid;  // nullopt: the caller
  std::optional<uint64_t> start{};
  friend bool operator==(const OwnerRequest&, const OwnerRequest&) = default;
};

// The member "owner" of a body; nullopt: there is none.
Result<std::optional<OwnerRequest>> parse_owner(const json::Value& body);

// BadRequest at /owner: there is no such process, it started at another time, or the transport does not say who calls.
// The process that connected, over a Unix socket; BadRequest if that has ended.
Result<store::Owner> find_caller(const ProcessWatcher& owners, const http::Request& request);
Result<store::Owner> find_owner(const ProcessWatcher& owners, const OwnerRequest& wish, const http::Request& request);

void render(json::Writer& w, const store::Owner& owner);

}  // namespace nrd::v1
