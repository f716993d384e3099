#include "cli/onload/interfaces.h"

#include <algorithm>
#include <cstdio>

#include "base/json/writer.h"
#include "cli/answer.h"

namespace nrd::cli {
namespace {

// Usable in a URL path.
bool is_valid_name(const std::string& name) {
  return !name.empty() && std::ranges::none_of(name, [](char c) {
    return c <= ' ' || c >= 0x7f || c == '/' || c == '?' || c == '#' || c == '%';
  });
}

int change(const Client& client, const std::vector<std::string>& args, const std::string& what, const char* key) {
  const std::string& name = args.at(0);
  const std::string& to = args.at(1);
  if (to != "on" && to != "off") {
    report_failure(to + " is invalid; expected on or off");
    return kUsage;
  }
  if (!is_valid_name(name)) {
    report_failure(name + " is not a valid interface name");
    return kUsage;
  }
  json::Writer w;
  w.begin_object();
  w.key(key).boolean(to == "on");
  w.end_object();
  int exit = kDone;
  (void)body_of(client.put("/v1/onload/interfaces/" + name + "/" + what, w.take()), exit);
  return exit;
}

// "on", "off", "-"; "off (wanted on)" if the actual state differs from the requested one.
std::string state_of(const json::Value& interface, const char* key) {
  const auto word = [](std::optional<bool> on) { return !on ? "-" : *on ? "on" : "off"; };
  const std::optional<bool> is = part(interface, key).as_bool();
  const std::optional<bool> wanted = part(part(interface, "wanted"), key).as_bool();
  std::string text = word(is);
  if (wanted && is != wanted) text += std::string(" (wanted ") + word(wanted) + ")";
  return text;
}

int show(const Client& client, Output output) {
  int exit = kDone;
  const std::optional<json::Value> interfaces = value_to_draw(client.get("/v1/onload/interfaces"), output, exit);
  if (!interfaces) return exit;
  print_format("%-16s %-13s %-18s %-10s %-8s %-17s %s\n", "INTERFACE", "PCI", "MAC", "DRIVER", "STATE", "ACCELERATED",
               "AF_XDP");
  for (const json::Value& interface : interfaces->items()) {
    print_format("%-16s %-13s %-18s %-10s %-8s %-17s %s%s\n", text_of(interface, "name").c_str(),
                 text_of(interface, "pci").c_str(), text_of(interface, "mac").c_str(),
                 text_of(interface, "driver").c_str(), text_of(interface, "operstate").c_str(),
                 state_of(interface, "accelerated").c_str(), state_of(interface, "af_xdp").c_str(),
                 part(interface, "default_route").as_bool().value_or(false) ? "  (default route)" : "");
  }
  return exit;
}

}  // namespace

int onload_interfaces(const Client& client, Output output, const InterfaceArgs& args) {
  if (!args.accelerate.empty()) {
    if (const int exit = change(client, args.accelerate, "acceleration", "enabled"); exit != kDone) return exit;
  }
  if (!args.afxdp.empty()) {
    if (const int exit = change(client, args.afxdp, "afxdp", "registered"); exit != kDone) return exit;
  }
  return show(client, output);
}

}  // namespace nrd::cli
