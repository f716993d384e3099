// What a handler gets: the request, what stands for {id} and {level} in its path, and the house it serves.
#pragma once

#include <string_view>

#include "api/http/message.h"
#include "api/v1/media.h"
#include "api/v1/routes.h"
#include "api/v1/workload_list.h"
#include "engine/engine.h"
#include "engine/onload/desk.h"
#include "engine/onload/keeper.h"
#include "engine/owners.h"

namespace nrd::v1 {

struct Call {
  const http::Request& request;
  std::string_view id;     // as written in the path, empty for a path without one
  std::string_view level;  // likewise
  ErrorStyle error_style;
  Engine& engine;
  Owners& owners;
  onload::Keeper& onload;
  onload::Desk& desk;
  const Service& service;
  WorkloadList& workload_list;
};

}  // namespace nrd::v1
