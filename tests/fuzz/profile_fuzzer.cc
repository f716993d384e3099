// Profiles of Onload: they are evaluated, need a shell or are refused; what is evaluated every form can say.
#include "tests/fuzz/profile_input.h"

int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const std::string_view input = nrd::fuzz::as_text(bytes, size);
  nrd::fuzz::keep_profile_promises(input, nrd::profiles::Winner::Caller);
  nrd::fuzz::keep_profile_promises(input, nrd::profiles::Winner::Profiles);
  return 0;
}
