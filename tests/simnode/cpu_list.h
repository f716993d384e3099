// Sets of CPUs in the two forms the kernel speaks: lists ("0-3,8") and masks ("1,0000000f", 32 bits between commas).
// The parsers take what the kernel's cpulist_parse and cpumask_parse take, including stray commas and blanks in masks.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace nrd::simnode {

using Cpus = std::set<int>;

std::optional<Cpus> parse_list(std::string_view text);
std::optional<Cpus> parse_mask(std::string_view text);
std::string list_of(const Cpus& cpus);
std::string mask_of(const Cpus& cpus, int cpu_count);

std::optional<long> parse_number(std::string_view digits, int base = 10);
std::string_view trimmed(std::string_view text);
// Cuts the text up to the separator off `rest`, as the kernel's strsep does; nullopt when nothing is left to cut.
std::optional<std::string_view> cut(std::optional<std::string_view>& rest, char separator);

}  // namespace nrd::simnode
