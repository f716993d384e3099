// What stands behind the question mark, read as strictly as a body. Fields of refusals are "?name".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/http/message.h"
#include "base/result.h"

namespace nrd::v1 {

// Refused if there is another word than these.
Result<void> check_query(const http::Request& request, const std::vector<std::string>& known);
// nullopt: it is not there. Refused if it is more than `most`.
Result<std::optional<uint64_t>> number_in_query(const http::Request& request, const std::string& name, uint64_t most);
// "true" or "false"; absent: false.
Result<bool> flag_in_query(const http::Request& request, const std::string& name);

}  // namespace nrd::v1
