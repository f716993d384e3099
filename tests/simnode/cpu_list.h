// Sets of CPUs in the two forms of the kernel: lists ("0-3,8") and masks ("1,0000000f", 32 bits between commas).
// The parsers take what the kernel's cpulist_parse and cpumask_parse take (lib/bitmap.c), including stray commas and
// blanks, "all", "N" for the last CPU and "0-7:2/4" for two of each four.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace nrd::simnode {

using Cpus = std::set<int>;

// 0, or the errno with which the kernel refuses them on a node with so many CPUs.
int parse_list(std::string_view text, int cpu_count, Cpus& cpus);
int parse_mask(std::string_view text, int cpu_count, Cpus& cpus);
std::string list_of(const Cpus& cpus);
std::string mask_of(const Cpus& cpus, int cpu_count);

std::optional<long> parse_number(std::string_view digits, int base = 10);
// As kstrtoul(): no sign but a plus, 0x before hex digits, and a line end.
std::optional<unsigned long> parse_unsigned(std::string_view text, int base = 10);
std::string_view trimmed(std::string_view text);
// Cuts the text up to the separator off `rest`, as the kernel's strsep does; nullopt when nothing is left to cut.
std::optional<std::string_view> cut(std::optional<std::string_view>& rest, char separator);

}  // namespace nrd::simnode
