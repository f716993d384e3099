#include "engine/onload/configure.h"

#include <algorithm>

#include "base/log.h"
#include "engine/onload/interface_wish.h"
#include "engine/onload/record.h"

namespace nrd::onload {
namespace {

constexpr size_t kMostWishes = 256;

// Onload's modules know interfaces.
bool knows_interfaces(const Seen& seen) { return seen.modules.contains("sfc_resource"); }

Result<InterfaceWish> wish_for(const View& view, const Interface& interface) {
  const auto& interfaces = view.seen.interfaces;
  if (const InterfaceWish* known = find(view.interfaces, interface, interfaces)) return *known;
  if (view.interfaces.size() >= kMostWishes) {
    return fail(ErrorCode::Conflict, "something is wanted of 256 interfaces already, which is the most");
  }
  return known_by(interface, interfaces);
}

// nullopt: it is so, or the module is not there that would take it.
Result<std::optional<Turned>> what_to_write(const Seen& seen, const Interface& interface, InterfaceSwitch what,
                                            Turned to) {
  if (!knows_interfaces(seen)) return std::nullopt;
  const bool wants = to == Turned::On;
  if (what == InterfaceSwitch::Afxdp) return interface.afxdp == wants ? std::nullopt : std::optional(to);
  if (!interface.accelerated) {
    return fail(ErrorCode::Conflict,
                "network interface " + interface.name + " has no switch for acceleration: Onload does not serve it");
  }
  return *interface.accelerated == wants ? std::nullopt : std::optional(to);
}

void log_not_set(const std::string& interface, const Error& error) {
  log::warning("ONLOAD_INTERFACE_NOT_SET", error.message, {{"INTERFACE", interface}, {"DETAIL", error.detail}});
}

}  // namespace

Result<void> set_interface(Node& node, View& view, const std::function<Result<void>(store::OnloadChange)>& ledger,
                           const Interface& interface, InterfaceSwitch what, Turned to) {
  Result<InterfaceWish> wish = wish_for(view, interface);
  if (!wish) return Failure(wish.error());
  (what == InterfaceSwitch::Afxdp ? wish->registered : wish->accelerated) = to == Turned::On;
  const Result<std::optional<Turned>> change = what_to_write(view.seen, interface, what, to);
  if (!change) return Failure(change.error());

  const Result<void> set = *change ? node.set_interface(interface.name, what, **change) : Result<void>();
  const bool stays = !set && set.error().code == ErrorCode::Busy && to == Turned::Off;
  if (!set && !stays) return set;
  if (Result<void> stored = ledger({.interfaces = {to_record(*wish)}}); !stored) {
    // What is not stored is not so.
    const Turned back = to == Turned::On ? Turned::Off : Turned::On;
    if (*change && set) {
      if (const Result<void> undone = node.set_interface(interface.name, what, back); !undone) {
        log_not_set(interface.name, undone.error());
      }
    }
    return stored;
  }
  const auto same = std::ranges::find_if(
      view.interfaces, [&](const InterfaceWish& other) { return other.pci == wish->pci && other.mac == wish->mac; });
  same == view.interfaces.end() ? view.interfaces.push_back(*wish) : void(*same = *wish);
  if (!stays) return {};
  return fail(ErrorCode::Conflict,
              "Onload keeps network interface " + interface.name +
                  " until its modules are loaded anew: unload Onload and load it again; then it is not registered",
              set.error().detail);
}

void set_interfaces(Node& node, const View& view) {
  if (!knows_interfaces(view.seen)) return;
  for (const auto& [interface, what, to] : changes_for(view.interfaces, view.seen.interfaces)) {
    const Result<void> set = node.set_interface(interface, what, to);
    if (!set) log_not_set(interface, set.error());
  }
}

}  // namespace nrd::onload
