// The JSON reader: what it takes is one value, and a workload of it is one or is refused with a place.

#include "api/v1/parse_workload.h"
#include "base/json/reader.h"
#include "engine/model/node_config.h"
#include "engine/model/node_state.h"
#include "engine/workload_service.h"
#include "tests/fuzz/one_input.h"

int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const auto value = nrd::json::parse(nrd::fuzz::as_text(bytes, size));
  if (!value) {
    nrd::fuzz::promise(!value.error().message.empty());
    return 0;
  }
  const auto spec = nrd::v1::parse_workload(*value, {});
  nrd::fuzz::promise(spec || !spec.error().message.empty());
  const auto patch = nrd::v1::parse_workload_patch(*value, {}, {});
  nrd::fuzz::promise(patch || !patch.error().message.empty());
  return 0;
}
