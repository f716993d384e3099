// JSON of an owner process: {"pid": 4711}, or {"caller": true} for the client of a Unix socket, whose PID the kernel
// reports even from inside a container. {"pid": 4711, "start": 8150} also checks the start time, so that a client on
// another host or in another PID namespace does not name an unrelated process. {"cgroup": true, "within_seconds": 300}:
// the unit or cgroup of the request.
#pragma once

#include <optional>

#include "base/json/value.h"
#include "base/json/writer.h"
#include "base/result.h"
#include "engine/requester.h"

namespace nrd::v1 {

// The member "owner" of a body; nullopt if absent.
Result<std::optional<OwnerRequest>> parse_owner(const json::Value& body);

void to_json(json::Writer& w, const Owner& owner);
void to_json(json::Writer& w, const CgroupOwner& owner);

}  // namespace nrd::v1
