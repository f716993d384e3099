// JSON of an owner process: {"pid": 4711}, or {"caller": true} for the client of a Unix socket, whose PID the kernel
// reports even from inside a container. {"pid": 4711, "start": 8150} also checks the start time, so that a client on
// another host or in another PID namespace does not name an unrelated process.
#pragma once

#include <sys/types.h>

#include <optional>

#include "api/http/message.h"
#include "base/json/value.h"
#include "base/json/writer.h"
#include "base/result.h"
#include "engine/process_watcher.h"

namespace nrd::v1 {

struct OwnerRequest {
  std::optional<pid_t> pid;  // nullopt: the caller
  std::optional<uint64_t> start{};
  friend bool operator==(const OwnerRequest&, const OwnerRequest&) = default;
};

// The member "owner" of a body; nullopt if absent.
Result<std::optional<OwnerRequest>> parse_owner(const json::Value& body);

// The process that connected to a Unix socket. BadRequest if it has exited or the transport does not identify it.
Result<store::Owner> find_caller(const ProcessWatcher& owners, const http::Request& request);
// BadRequest at /owner if the process does not exist or has a different start time.
Result<store::Owner> find_owner(const ProcessWatcher& owners, const OwnerRequest& requested,
                                const http::Request& request);

void render(json::Writer& w, const store::Owner& owner);

}  // namespace nrd::v1
