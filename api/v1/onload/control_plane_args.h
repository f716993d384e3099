// The words that a client may have the control plane server started with. They go to a program that the kernel runs as
// root, so they are options that are known: how much it holds, how often it looks, where it logs. Not among them are
// those that the module onload adds itself (as whom it runs, in which network namespace, as a daemon), those that end
// it at once, and what would hide the module's own: "--", or an option that takes the next word for its value.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace nrd::v1 {

// "-K, --log-to-kmsg, ..."
std::string server_options();

// The first word that is none of them, or an option without its number. nullopt: all are.
std::optional<size_t> first_unknown_argument(const std::vector<std::string>& words);

}  // namespace nrd::v1
