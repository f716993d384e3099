#include "cli/unit_process.h"

#include <fmt/core.h>
#include <systemd/sd-bus.h>

#include <cstdint>
#include <cstdlib>
#include <memory>

#include "base/ascii.h"
#include "base/errno_text.h"

namespace nrd::cli {
namespace {

constexpr size_t kLongestUnit = 255;
constexpr uint64_t kTimeoutMicroseconds = 5'000'000;
constexpr const char* kSystemd = "org.freedesktop.systemd1";
constexpr const char* kService = "org.freedesktop.systemd1.Service";

using Bus = std::unique_ptr<sd_bus, decltype(&::sd_bus_flush_close_unref)>;
using Text = std::unique_ptr<char, decltype(&::free)>;

Failure unanswered(const std::string& service, int negative) {
  return fail(ErrorCode::Busy, fmt::format("cannot ask systemd for the main process of {}: {}; use a PID", service,
                                           errno_text(-negative)));
}

}  // namespace

bool is_service(const std::string& name) {
  return name.size() <= kLongestUnit && name.size() > std::string_view(".service").size() &&
         name.ends_with(".service") && is_word(name, ":-_.\\@");
}

Result<std::string> main_process_of(const std::string& service) {
  sd_bus* opened = nullptr;
  if (const int done = ::sd_bus_open_system(&opened); done < 0) return unanswered(service, done);
  const Bus bus(opened, &::sd_bus_flush_close_unref);
  ::sd_bus_set_method_call_timeout(bus.get(), kTimeoutMicroseconds);
  char* encoded = nullptr;
  if (const int done = ::sd_bus_path_encode("/org/freedesktop/systemd1/unit", service.c_str(), &encoded); done < 0) {
    return unanswered(service, done);
  }
  const Text path(encoded, &::free);
  uint32_t pid = 0;
  const int done =
      ::sd_bus_get_property_trivial(bus.get(), kSystemd, path.get(), kService, "MainPID", nullptr, 'u', &pid);
  if (done < 0) return unanswered(service, done);
  if (pid == 0) {
    return fail(ErrorCode::NotFound, service + " has no main process; check that it runs (systemctl status)");
  }
  return std::to_string(pid);
}

}  // namespace nrd::cli
