// The `schemata` file's language: how a write becomes new settings of a group, and how settings are shown. A write is
// parsed whole before any of it counts. The texts of failures are the kernel's, for info/last_cmd_status.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "group.h"
#include "machine.h"

namespace nrd::simnode {

struct Settings {
  std::map<int, Masks> masks;
  std::map<int, unsigned> bandwidth;
};

struct Parsed {
  bool valid = false;
  std::string status;  // why not; the kernel leaves it empty for some failures
  Settings settings;   // only what the text names
};

// One kind of mask that a group has: "L3", or with CDP "L3DATA" and "L3CODE". Each has a line and a folder in info.
struct MaskKind {
  std::string name;
  const CacheLevel* level;  // the machine's
  std::map<int, Ways> Masks::*masks;
};

std::vector<MaskKind> mask_kinds(const Machine& machine);  // in the order of their lines

// Why a group may not have these ways of a cache, as the kernel says it; empty: it may.
using Clash = std::function<std::string(const CacheLevel& level, int cache, Ways ways)>;

Parsed parse_schemata(std::string_view text, const Machine& machine, const Group& group, const Clash& clash);
void apply(const Settings& settings, Group& group);
std::string show_schemata(const Machine& machine, const Group& group);
std::string show_sizes(const Machine& machine, const Group& group);
std::string show_masks(const std::map<int, Ways>& masks);  // "0=fff;1=fff"
std::string mode_name(Mode mode);

}  // namespace nrd::simnode
