// Allowed arguments of the control plane server. The kernel runs it as root, so only known options pass: table sizes,
// intervals, logging. Excluded are options that the module adds itself (user, network namespace, daemon mode), options
// that make it exit, and anything that would hide the module's own arguments: "--", or an option that takes the next
// argument as its value.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace nrd::v1 {

// "-K, --log-to-kmsg, ..."
std::string server_options();

// The first argument that is not allowed, or an option without its number. nullopt: all are valid.
std::optional<size_t> first_unknown_argument(const std::vector<std::string>& words);

}  // namespace nrd::v1
