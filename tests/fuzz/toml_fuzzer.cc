// The configuration: it is taken, or refused with a line.
#include "daemon/config.h"
#include "tests/fuzz/one_input.h"
#include "tests/unit/daemon/parse_config.h"

int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const auto config = nrd::daemon::parse_config(std::string(nrd::fuzz::as_text(bytes, size)), "f");
  if (!config) {
    nrd::fuzz::promise(config.error().message.starts_with("f:"));
    return 0;
  }
  // Checking consistency must work for any parsed configuration.
  static_cast<void>(nrd::daemon::check(*config).has_value());
  return 0;
}
