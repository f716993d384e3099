#include "hw/cpuset/units.h"

#include <systemd/sd-bus.h>
#include <systemd/sd-daemon.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "base/errno_text.h"

namespace nrd::cpuset {
namespace {

constexpr const char* kSystemd = "org.freedesktop.systemd1";
constexpr const char* kManagerPath = "/org/freedesktop/systemd1";
constexpr const char* kManager = "org.freedesktop.systemd1.Manager";

struct FreeMessage {
  void operator()(sd_bus_message* message) const { ::sd_bus_message_unref(message); }
};
using Message = std::unique_ptr<sd_bus_message, FreeMessage>;

// As systemd transports CPU sets: bit i of byte n is CPU 8n + i.
std::vector<uint8_t> bytes_of(const CpuSet& cpus) {
  std::vector<uint8_t> bytes;
  for (const CpuId cpu : cpus.members()) {
    bytes.resize(cpu.value / 8 + 1);
    bytes.back() = static_cast<uint8_t>(bytes.back() | 1U << cpu.value % 8);
  }
  return bytes;
}

Failure refused(const std::string& unit, int negative, const char* text) {
  const std::string detail = unit + ": " + (text ? text : errno_text(-negative));
  if (negative == -ETIMEDOUT || negative == -ECONNRESET || negative == -ENOTCONN)
    return fail(ErrorCode::Busy, "systemd does not answer; try again", detail);
  return fail(ErrorCode::Hardware, "systemd refuses to limit the CPUs of " + unit, detail);
}

// The rest of a request to change the property AllowedCPUs.
int append_allowed_cpus(sd_bus_message* message, const CpuSet& cpus) {
  const std::vector<uint8_t> bytes = bytes_of(cpus);
  int done = ::sd_bus_message_open_container(message, 'r', "sv");
  if (done >= 0) done = ::sd_bus_message_append(message, "s", "AllowedCPUs");
  if (done >= 0) done = ::sd_bus_message_open_container(message, 'v', "ay");
  if (done >= 0) done = ::sd_bus_message_append_array(message, 'y', bytes.data(), bytes.size());
  if (done >= 0) done = ::sd_bus_message_close_container(message);
  if (done >= 0) done = ::sd_bus_message_close_container(message);
  return done;
}

Result<Message> new_call(sd_bus* bus, const std::string& unit, const char* method) {
  sd_bus_message* made = nullptr;
  const int done = ::sd_bus_message_new_method_call(bus, &made, kSystemd, kManagerPath, kManager, method);
  if (done < 0) return refused(unit, done, nullptr);
  return Message(made);
}

Result<void> send(sd_bus* bus, const Message& message, const std::string& unit, Deadline deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::microseconds>(deadline - std::chrono::steady_clock::now());
  if (left.count() <= 0) return refused(unit, -ETIMEDOUT, nullptr);
  sd_bus_error error = SD_BUS_ERROR_NULL;
  const int done = ::sd_bus_call(bus, message.get(), static_cast<uint64_t>(left.count()), &error, nullptr);
  if (done >= 0) return {};
  Failure failure = refused(unit, done, error.message);
  ::sd_bus_error_free(&error);
  return failure;
}

}  // namespace

Units::Units() = default;
Units::~Units() { disconnect(); }

void Units::disconnect() {
  if (bus_) ::sd_bus_flush_close_unref(bus_);
  bus_ = nullptr;
}

// Connects again after a restart of systemd or of the bus.
Result<sd_bus*> Units::connection() {
  if (bus_ && ::sd_bus_is_open(bus_) > 0 && ::sd_bus_process(bus_, nullptr) >= 0) return bus_;
  disconnect();
  if (const int done = ::sd_bus_open_system(&bus_); done < 0) {
    bus_ = nullptr;
    return fail(ErrorCode::Busy, "systemd does not answer; try again", "D-Bus: " + errno_text(-done));
  }
  return bus_;
}

std::string Units::why_not() {
  if (::sd_booted() <= 0) return "systemd is not the init of this host";
  const Result<sd_bus*> bus = connection();
  return bus ? "" : "the system's D-Bus does not answer";
}

Result<void> Units::start_scope(const std::string& name, pid_t process, const CpuSet& cpus, Deadline deadline) {
  sd_bus* bus = TRY(connection());
  const Message message = TRY(new_call(bus, name, "StartTransientUnit"));
  int done = ::sd_bus_message_append(message.get(), "ss", name.c_str(), "fail");
  if (done >= 0) done = ::sd_bus_message_open_container(message.get(), 'a', "(sv)");
  if (done >= 0) {
    done = ::sd_bus_message_append(message.get(), "(sv)(sv)(sv)", "Description", "s", "Workload of nrd", "Slice", "s",
                                   kSlice, "PIDs", "au", 1U, static_cast<uint32_t>(process));
  }
  if (done >= 0) done = append_allowed_cpus(message.get(), cpus);
  if (done >= 0) done = ::sd_bus_message_close_container(message.get());
  if (done >= 0) done = ::sd_bus_message_append(message.get(), "a(sa(sv))", 0);
  if (done < 0) return refused(name, done, nullptr);
  return send(bus, message, name, deadline);
}

Result<void> Units::set_allowed_cpus(const std::string& unit, const CpuSet& cpus, Deadline deadline) {
  sd_bus* bus = TRY(connection());
  const Message message = TRY(new_call(bus, unit, "SetUnitProperties"));
  constexpr int kRuntime = 1;
  int done = ::sd_bus_message_append(message.get(), "sb", unit.c_str(), kRuntime);
  if (done >= 0) done = ::sd_bus_message_open_container(message.get(), 'a', "(sv)");
  if (done >= 0) done = append_allowed_cpus(message.get(), cpus);
  if (done >= 0) done = ::sd_bus_message_close_container(message.get());
  if (done < 0) return refused(unit, done, nullptr);
  return send(bus, message, unit, deadline);
}

}  // namespace nrd::cpuset
