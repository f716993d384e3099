#include <fmt/core.h>

#include <algorithm>
#include <cstdio>

#include "base/json/object.h"
#include "cli/answer.h"
#include "cli/onload/onload.h"

namespace nrd::cli {
namespace {

// Usable in a URL path.
bool is_valid_name(const std::string& name) {
  return !name.empty() && std::ranges::none_of(name, [](char c) {
    return c <= ' ' || c >= 0x7f || c == '/' || c == '?' || c == '#' || c == '%';
  });
}

OrStop<> change(const Client& client, const std::vector<std::string>& args, const std::string& what, const char* key) {
  const std::string& name = args.at(0);
  const std::string& to = args.at(1);
  if (to != "on" && to != "off") return stop(kUsage, to + " is invalid; expected on or off");
  if (!is_valid_name(name)) return stop(kUsage, name + " is not a valid interface name");
  TRY(body_of(client.put("/v1/onload/interfaces/" + name + "/" + what, json::document({{key, to == "on"}}))));
  return {};
}

// "on", "off", "-"; "off (wanted on)" if the actual state differs from the requested one.
std::string state_of(const json::Value& interface, const char* key) {
  const auto word = [](std::optional<bool> on) { return !on ? "-" : *on ? "on" : "off"; };
  const std::optional<bool> is = part(interface, key).as_bool();
  const std::optional<bool> wanted = part(part(interface, "wanted"), key).as_bool();
  std::string text = word(is);
  if (wanted && is != wanted) text += fmt::format(" (wanted {})", word(wanted));
  return text;
}

OrStop<> show(const Client& client, Output output) {
  const json::Value interfaces = TRY(value_to_draw(client.get("/v1/onload/interfaces"), output));
  print("{:<16} {:<13} {:<18} {:<10} {:<8} {:<17} {}\n", "INTERFACE", "PCI", "MAC", "DRIVER", "STATE", "ACCELERATED",
        "AF_XDP");
  for (const json::Value& interface : interfaces.items()) {
    print("{:<16} {:<13} {:<18} {:<10} {:<8} {:<17} {}{}\n", text_at(interface, "name"), text_at(interface, "pci"),
          text_at(interface, "mac"), text_at(interface, "driver"), text_at(interface, "operstate"),
          state_of(interface, "accelerated"), state_of(interface, "af_xdp"),
          is_true(interface, "default_route") ? "  (default route)" : "");
  }
  return {};
}

}  // namespace

OrStop<> onload_interfaces(const Client& client, Output output, const OnloadArguments& a) {
  if (!a.accelerate.empty()) {
    TRY(change(client, a.accelerate, "acceleration", "enabled"));
  }
  if (!a.afxdp.empty()) {
    TRY(change(client, a.afxdp, "afxdp", "registered"));
  }
  return show(client, output);
}

}  // namespace nrd::cli
