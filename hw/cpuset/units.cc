#include "hw/cpuset/units.h"

#include <fmt/core.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-daemon.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <span>
#include <vector>

#include "base/control.h"
#include "base/errno_text.h"
#include "hw/cpuset/cgroup_walk.h"
#include "hw/cpuset/types.h"

namespace nrd::cpuset {
namespace {

constexpr const char* kSystemd = "org.freedesktop.systemd1";
constexpr const char* kManagerPath = "/org/freedesktop/systemd1";
constexpr const char* kUnits = "/org/freedesktop/systemd1/unit";
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

CpuSet cpus_of(std::span<const uint8_t> bytes) {
  CpuSet cpus;
  const size_t most = std::min<size_t>(bytes.size() * 8, CpuSet::kMaxCpus);
  for (uint32_t cpu = 0; cpu < most; ++cpu) {
    if ((bytes[cpu / 8] >> cpu % 8 & 1) != 0) cpus.add(CpuId{cpu});
  }
  return cpus;
}

// The name of the unit at an object path. An alias has that of its unit. Empty: it is no such path.
std::string name_in(const std::string& path) {
  char* name = nullptr;
  if (::sd_bus_path_decode(path.c_str(), kUnits, &name) <= 0) return {};
  const std::unique_ptr<char, decltype(&::free)> owned(name, &::free);
  return owned.get();
}

// `about`: a unit, the path of its object, or a cgroup. `text`: of systemd, which may quote names that users chose.
Failure refused(const std::string& about, int negative, const char* text) {
  const std::string reason = text ? printable_ascii(text, kLongestName) : errno_text(-negative);
  if (negative == -ETIMEDOUT || negative == -ECONNRESET || negative == -ENOTCONN)
    return fail(ErrorCode::Busy, "systemd does not answer; try again", fmt::format("{}: {}", about, reason));
  const std::string unit = name_in(about);
  return fail(ErrorCode::Hardware,
              fmt::format("systemd refuses a request about {}: {}", unit.empty() ? about : unit, reason),
              errno_text(-negative));
}

constexpr const char* kAllowedCpus = "AllowedCPUs";
constexpr const char* kMemoryNodes = "AllowedMemoryNodes";

// The rest of a request to change one of these properties.
int append_list(sd_bus_message* message, const char* property, const CpuSet& list) {
  const std::vector<uint8_t> bytes = bytes_of(list);
  int done = ::sd_bus_message_open_container(message, 'r', "sv");
  if (done >= 0) done = ::sd_bus_message_append(message, "s", property);
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

// The answer. nullopt: systemd has no such unit.
Result<std::optional<Message>> send_if_known(sd_bus* bus, const Message& message, const std::string& unit,
                                             Deadline deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::microseconds>(deadline - std::chrono::steady_clock::now());
  if (left.count() <= 0) return refused(unit, -ETIMEDOUT, nullptr);
  sd_bus_error error{};
  sd_bus_message* answer = nullptr;
  const int done = ::sd_bus_call(bus, message.get(), static_cast<uint64_t>(left.count()), &error, &answer);
  if (done >= 0) return Message(answer);
  const bool is_unknown = ::sd_bus_error_has_name(&error, "org.freedesktop.systemd1.NoSuchUnit") > 0;
  Failure failure = refused(unit, done, error.message);
  ::sd_bus_error_free(&error);
  if (is_unknown) return std::nullopt;
  return failure;
}

Failure no_such_unit(const std::string& unit) { return refused(unit, -ENOENT, "systemd has no such unit"); }

Result<Message> send(sd_bus* bus, const Message& message, const std::string& unit, Deadline deadline) {
  std::optional<Message> answer = TRY(send_if_known(bus, message, unit, deadline));
  if (!answer) return no_such_unit(unit);
  return *std::move(answer);
}

// A request of a change, unless it could not be `made`.
Result<void> request(int made, sd_bus* bus, const Message& message, const std::string& unit, Deadline deadline) {
  if (made < 0) return refused(unit, made, nullptr);
  return send(bus, message, unit, deadline).map([](const Message&) {});
}

// The object path with which a call of the manager with one text is answered. nullopt: systemd has no such unit.
Result<std::optional<std::string>> find_path(sd_bus* bus, const char* method, const std::string& text,
                                             Deadline deadline) {
  const Message message = TRY(new_call(bus, text, method));
  if (const int done = ::sd_bus_message_append(message.get(), "s", text.c_str()); done < 0)
    return refused(text, done, nullptr);
  const std::optional<Message> answer = TRY(send_if_known(bus, message, text, deadline));
  if (!answer) return std::nullopt;
  const char* path = nullptr;
  if (const int done = ::sd_bus_message_read(answer->get(), "o", &path); done < 0) return refused(text, done, nullptr);
  return std::string(path);
}

// The object path of a unit.
Result<std::string> load(sd_bus* bus, const std::string& unit, Deadline deadline) {
  std::optional<std::string> path = TRY(find_path(bus, "LoadUnit", unit, deadline));
  if (!path) return no_such_unit(unit);
  return *std::move(path);
}

constexpr const char* kUnit = "org.freedesktop.systemd1.Unit";
constexpr const char* kService = "org.freedesktop.systemd1.Service";
constexpr std::string_view kScope = ".scope";
constexpr std::string_view kSliceSuffix = ".slice";

std::string interface_of(std::string_view unit) {
  if (unit.ends_with(kScope)) return "org.freedesktop.systemd1.Scope";
  return unit.ends_with(kSliceSuffix) ? "org.freedesktop.systemd1.Slice" : kService;
}

// Properties of the object at a path.
struct Properties {
  sd_bus* bus;
  std::string path;
  std::string interface;
  Deadline deadline;

  Result<std::string> text(const char* name) const { return value<std::string, const char*>(name, "s"); }
  Result<bool> flag(const char* name) const { return value<bool, int>(name, "b"); }
  Result<uint64_t> number(const char* name) const { return value<uint64_t, uint64_t>(name, "t"); }
  Result<CpuSet> cpus(const char* name) const {
    const Message answer = TRY(entered(name, "ay"));
    const void* read = nullptr;
    size_t size = 0;
    if (const int done = ::sd_bus_message_read_array(answer.get(), 'y', &read, &size); done < 0)
      return refused(path, done, nullptr);
    return cpus_of({static_cast<const uint8_t*>(read), size});
  }

  // `Read`: what sd_bus_message_read() fills.
  template <typename Value, typename Read>
  Result<Value> value(const char* name, const char* type) const {
    const Message answer = TRY(entered(name, type));
    Read read{};
    const int done = ::sd_bus_message_read(answer.get(), type, &read);
    return done < 0 ? Result<Value>(refused(path, done, nullptr)) : Result<Value>(Value(read));
  }

  // What follows reads the value.
  Result<Message> entered(const char* name, const char* type) const {
    sd_bus_message* made = nullptr;
    int done =
        ::sd_bus_message_new_method_call(bus, &made, kSystemd, path.c_str(), "org.freedesktop.DBus.Properties", "Get");
    if (done < 0) return refused(path, done, nullptr);
    const Message message(made);
    done = ::sd_bus_message_append(message.get(), "ss", interface.c_str(), name);
    if (done < 0) return refused(path, done, nullptr);
    Message answer = TRY(send(bus, message, path, deadline));
    done = ::sd_bus_message_enter_container(answer.get(), 'v', type);
    if (done < 0) return refused(path, done, nullptr);
    return answer;
  }
};

// nullopt: systemd has no unit of this name.
Result<std::optional<Properties>> properties_of(sd_bus* bus, const std::string& unit, Deadline deadline) {
  const std::string path = TRY(load(bus, unit, deadline));
  const std::string state = TRY(Properties{bus, path, kUnit, deadline}.text("LoadState"));
  if (state == "not-found") return std::nullopt;
  return Properties{bus, path, interface_of(unit), deadline};
}

// The name and the object of each service that is loaded.
Result<std::vector<std::pair<std::string, std::string>>> loaded_services(sd_bus* bus, Deadline deadline) {
  const std::string all = "*.service";
  const Message message = TRY(new_call(bus, all, "ListUnitsByPatterns"));
  int done = ::sd_bus_message_append(message.get(), "as", 0);
  if (done >= 0) done = ::sd_bus_message_append(message.get(), "as", 1, all.c_str());
  if (done < 0) return refused(all, done, nullptr);
  const Message answer = TRY(send(bus, message, all, deadline));
  std::vector<std::pair<std::string, std::string>> services;
  done = ::sd_bus_message_enter_container(answer.get(), 'a', "(ssssssouso)");
  while (done >= 0) {
    const char* name = nullptr;
    const char* path = nullptr;
    done = ::sd_bus_message_read(answer.get(), "(ssssssouso)", &name, nullptr, nullptr, nullptr, nullptr, nullptr,
                                 &path, nullptr, nullptr, nullptr);
    if (done <= 0) break;
    services.emplace_back(name, path);
  }
  if (done < 0) return refused(all, done, nullptr);
  return services;
}

constexpr uint64_t kNotSet = UINT64_MAX;  // of CPUWeight and CPUQuotaPerSecUSec

// With the kernel's default period, unless that would make a quota below the 1 ms that the kernel demands.
Share share_of(uint64_t weight, uint64_t quota_per_second) {
  Share share{.weight = weight == kNotSet ? 0 : static_cast<uint32_t>(weight)};
  if (quota_per_second == kNotSet) return share;
  constexpr uint64_t kLeastPerSecond = 10'000;
  if (quota_per_second < kLeastPerSecond) share.period_us = kMicroseconds;
  share.quota_us = quota_per_second * share.period_us / kMicroseconds;
  return share;
}

}  // namespace

Units::Units() = default;
Units::~Units() { disconnect(); }

void Units::disconnect() {
  // Without a flush, which would wait for a bus that has not let us in.
  if (bus_) ::sd_bus_close_unref(bus_);
  bus_ = nullptr;
}

// Connects again after a restart of systemd or of the bus. sd_bus_call() would wait for the bus to let us in, however
// long that takes.
Result<sd_bus*> Units::connection(Deadline deadline) {
  if (bus_ && ::sd_bus_is_ready(bus_) > 0 && ::sd_bus_process(bus_, nullptr) >= 0) return bus_;
  disconnect();
  int done = ::sd_bus_open_system(&bus_);
  if (done < 0) bus_ = nullptr;
  while (done >= 0 && ::sd_bus_is_ready(bus_) == 0) {
    const auto left =
        std::chrono::duration_cast<std::chrono::microseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) done = -ETIMEDOUT;
    if (done >= 0) done = ::sd_bus_process(bus_, nullptr);
    if (done == 0) done = ::sd_bus_wait(bus_, static_cast<uint64_t>(left.count()));
  }
  if (done >= 0 && ::sd_bus_is_ready(bus_) > 0) {
    has_connected_ = true;
    return bus_;
  }
  disconnect();
  return fail(ErrorCode::Busy, "systemd does not answer; try again", errno_text("D-Bus", done < 0 ? -done : ENOTCONN));
}

bool Units::is_booted() { return ::sd_booted() > 0; }

std::string Units::why_not(Deadline deadline) {
  if (!is_booted()) return "systemd is not the init of this host";
  if (has_connected_ || connection(deadline) || std::chrono::steady_clock::now() >= deadline) return {};
  return "the system's D-Bus does not answer";
}

Result<void> Units::start_scope(const std::string& name, pid_t process, const CpuSet& cpus, const MemoryNodes& nodes,
                                Deadline deadline) {
  sd_bus* bus = TRY(connection(deadline));
  const Message message = TRY(new_call(bus, name, "StartTransientUnit"));
  int done = ::sd_bus_message_append(message.get(), "ss", name.c_str(), "fail");
  if (done >= 0) done = ::sd_bus_message_open_container(message.get(), 'a', "(sv)");
  if (done >= 0) {
    done = ::sd_bus_message_append(message.get(), "(sv)(sv)(sv)(sv)", "Description", "s", "Workload of nrd", "Slice",
                                   "s", kSlice, "CollectMode", "s", "inactive-or-failed", "PIDs", "au", 1U,
                                   static_cast<uint32_t>(process));
  }
  if (done >= 0) done = append_list(message.get(), kAllowedCpus, cpus);
  if (done >= 0 && !nodes.empty()) done = append_list(message.get(), kMemoryNodes, nodes);
  if (done >= 0) done = ::sd_bus_message_close_container(message.get());
  if (done >= 0) done = ::sd_bus_message_append(message.get(), "a(sa(sv))", 0);
  return request(done, bus, message, name, deadline);
}

Result<void> Units::start(const std::string& unit, Deadline deadline) {
  sd_bus* bus = TRY(connection(deadline));
  const Message message = TRY(new_call(bus, unit, "StartUnit"));
  const int done = ::sd_bus_message_append(message.get(), "ss", unit.c_str(), "fail");
  return request(done, bus, message, unit, deadline);
}

Result<bool> Units::is_active(const std::string& unit, Deadline deadline) {
  sd_bus* bus = TRY(connection(deadline));
  const std::string path = TRY(load(bus, unit, deadline));
  const std::string state = TRY(Properties{bus, path, kUnit, deadline}.text("ActiveState"));
  return state == "active";
}

Result<void> Units::set_allowed_cpus(const std::string& unit, const CpuSet& cpus, Deadline deadline) {
  return set_list(unit, kAllowedCpus, cpus, deadline);
}

Result<void> Units::set_memory_nodes(const std::string& unit, const MemoryNodes& nodes, Deadline deadline) {
  return set_list(unit, kMemoryNodes, nodes, deadline);
}

Result<void> Units::set_list(const std::string& unit, const char* property, const CpuSet& list, Deadline deadline) {
  sd_bus* bus = TRY(connection(deadline));
  const Message message = TRY(new_call(bus, unit, "SetUnitProperties"));
  constexpr int kRuntime = 1;
  int done = ::sd_bus_message_append(message.get(), "sb", unit.c_str(), kRuntime);
  if (done >= 0) done = ::sd_bus_message_open_container(message.get(), 'a', "(sv)");
  if (done >= 0) done = append_list(message.get(), property, list);
  if (done >= 0) done = ::sd_bus_message_close_container(message.get());
  return request(done, bus, message, unit, deadline);
}

// Clearing alone would have no effect on a unit that runs (systemd issue 43846).
Result<void> Units::clear_allowed_cpus(const std::string& unit, const CpuSet& all, Deadline deadline) {
  TRY(set_allowed_cpus(unit, all, deadline));
  return set_allowed_cpus(unit, {}, deadline);
}

Result<std::optional<UnitShare>> Units::share_of(const std::string& unit, Deadline deadline) {
  sd_bus* bus = TRY(connection(deadline));
  const std::optional<Properties> properties = TRY(properties_of(bus, unit, deadline));
  if (!properties) return std::nullopt;
  const uint64_t weight = TRY(properties->number("CPUWeight"));
  const uint64_t quota = TRY(properties->number("CPUQuotaPerSecUSec"));
  std::string cgroup = TRY(properties->text("ControlGroup"));
  return UnitShare{.share = cpuset::share_of(weight, quota), .cgroup = std::move(cgroup)};
}

Result<void> Units::set_share(const std::string& unit, const Share& share, Deadline deadline) {
  sd_bus* bus = TRY(connection(deadline));
  const Message message = TRY(new_call(bus, unit, "SetUnitProperties"));
  constexpr int kRuntime = 1;
  const uint64_t weight = share.weight == 0 ? kNotSet : share.weight;
  const uint64_t quota = share.quota_us == 0 ? kNotSet : share.quota_us * kMicroseconds / share.period_us;
  const int done = ::sd_bus_message_append(message.get(), "sba(sv)", unit.c_str(), kRuntime, 2, "CPUWeight", "t",
                                           weight, "CPUQuotaPerSecUSec", "t", quota);
  return request(done, bus, message, unit, deadline);
}

Result<std::optional<Unit>> Units::find(const std::string& name, Deadline deadline) {
  if (!is_unit_name(name) && !name.ends_with(kSliceSuffix)) return std::nullopt;
  sd_bus* bus = TRY(connection(deadline));
  const std::optional<Properties> properties = TRY(properties_of(bus, name, deadline));
  if (!properties) return std::nullopt;
  Unit unit;
  unit.name = name_in(properties->path);
  unit.cgroup = TRY(properties->text("ControlGroup"));
  unit.slice = TRY(properties->text("Slice"));
  unit.allowed = TRY(properties->cpus(kAllowedCpus));
  unit.memory_nodes = TRY(properties->cpus(kMemoryNodes));
  unit.is_delegated = TRY(properties->flag("Delegate"));
  return unit;
}

Result<std::map<std::string, CpuSet>> Units::pinned_services(Deadline deadline) {
  sd_bus* bus = TRY(connection(deadline));
  std::map<std::string, CpuSet> pinned;
  for (const auto& [name, path] : TRY(loaded_services(bus, deadline))) {
    const Properties properties{bus, path, kService, deadline};
    const Result<CpuSet> cpus = properties.cpus("CPUAffinity");
    if (!cpus && cpus.error().code == ErrorCode::Busy) return Failure(cpus.error());
    if (!cpus || cpus->empty()) continue;  // unloaded since
    if (TRY(properties.text("Slice")) != kSlice) pinned[name] = *cpus;
  }
  return pinned;
}

Result<std::string> Units::unit_of(const std::string& cgroup, Deadline deadline) {
  sd_bus* bus = TRY(connection(deadline));
  const std::optional<std::string> path = TRY(find_path(bus, "GetUnitByControlGroup", cgroup, deadline));
  if (!path) return std::string();
  return Properties{bus, *path, kUnit, deadline}.text("Id");
}

}  // namespace nrd::cpuset
