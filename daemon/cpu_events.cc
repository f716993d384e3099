#include "daemon/cpu_events.h"

#include <linux/netlink.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <utility>

#include "base/errno_text.h"
#include "base/file.h"
#include "base/log.h"
#include "base/number.h"
#include "base/split.h"

namespace nrd::daemon {
namespace {

// Multicast group of messages from the kernel itself; group 2 carries those that udev forwards.
constexpr uint32_t kKernelGroup = 1;
// The kernel's variables take at most 2 KiB (UEVENT_BUFFER_SIZE), preceded by the path once more.
constexpr size_t kLongestMessage = 8192;

// Exceeds what a receive buffer of default size holds.
constexpr unsigned kMessagesAtOnce = 1024;

constexpr std::array<std::string_view, 4> kActions{"online", "offline", "add", "remove"};

// The value of `key` in a message; empty: absent.
std::string_view value_of(std::string_view message, std::string_view key) {
  while (!message.empty()) {
    const std::string_view line = take_until(message, '\0');
    if (line.size() > key.size() && line.starts_with(key) && line[key.size()] == '=')
      return line.substr(key.size() + 1);
  }
  return {};
}

CpuSet every_cpu() { return CpuSet::first(CpuSet::kMaxCpus); }

Failure no_socket() { return fail(ErrorCode::Unsupported, "cannot receive CPU hotplug events", errno_text("netlink")); }

}  // namespace

std::optional<CpuId> cpu_of_uevent(std::string_view message) {
  if (value_of(message, "SUBSYSTEM") != "cpu") return std::nullopt;
  if (std::ranges::find(kActions, value_of(message, "ACTION")) == kActions.end()) return std::nullopt;
  constexpr std::string_view kName = "/cpu";
  std::string_view path = value_of(message, "DEVPATH");
  const size_t name = path.rfind(kName);
  if (name == std::string_view::npos) return std::nullopt;
  path.remove_prefix(name + kName.size());
  const auto cpu = parse_number<uint32_t>(path);
  return cpu && *cpu < CpuSet::kMaxCpus ? std::optional(CpuId{*cpu}) : std::nullopt;
}

Result<std::unique_ptr<CpuEvents>> CpuEvents::open() {
  UniqueFd socket(::socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_KOBJECT_UEVENT));
  if (!socket.valid()) return no_socket();
  sockaddr_nl address{};
  address.nl_family = AF_NETLINK;
  address.nl_groups = kKernelGroup;
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return no_socket();
  UniqueFd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake.valid()) return no_socket();
  return std::make_unique<CpuEvents>(std::move(socket), std::move(wake));
}

void CpuEvents::watch(std::function<void()> changed) {
  changed_ = std::move(changed);
  thread_ = std::thread([this] { run(); });
}

void CpuEvents::stop() {
  if (!thread_.joinable()) return;
  const uint64_t one = 1;
  // Fails only if the counter is full, and then the thread wakes up anyway.
  [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof one);
  thread_.join();
}

CpuSet CpuEvents::take() {
  const std::lock_guard hold(lock_);
  receive();
  return std::exchange(pending_, {});
}

void CpuEvents::run() noexcept {
  ::pthread_setname_np(::pthread_self(), "nrd-cpus");
  std::array<pollfd, 2> events{pollfd{.fd = socket_.get(), .events = POLLIN, .revents = 0},
                               pollfd{.fd = wake_.get(), .events = POLLIN, .revents = 0}};
  for (;;) {
    ::poll(events.data(), events.size(), -1);
    if (events[1].revents != 0) return;
    bool has_changed = false;
    {
      const std::lock_guard hold(lock_);
      receive();
      if (!is_open_) return;
      has_changed = !pending_.empty();
    }
    if (has_changed) changed_();
  }
}

// Call with lock_ held. If there is more than one batch, counts the rest as dropped.
void CpuEvents::receive() {
  for (unsigned i = 0; i < kMessagesAtOnce; ++i) {
    if (!is_open_ || !note_message()) return;
  }
  pending_ = every_cpu();
}

// False: no message, or the socket is closed.
bool CpuEvents::note_message() {
  std::array<char, kLongestMessage> text;
  iovec part{.iov_base = text.data(), .iov_len = text.size()};
  sockaddr_nl sender{};
  msghdr message{};
  message.msg_name = &sender;
  message.msg_namelen = sizeof sender;
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  const ssize_t size = ::recvmsg(socket_.get(), &message, 0);
  if (size < 0 && errno == EAGAIN) return false;
  if (size < 0 && errno == EINTR) return true;
  if (size < 0 && errno == ENOBUFS) {  // messages were dropped: any CPU may have changed
    pending_ = every_cpu();
    return true;
  }
  if (size < 0) {
    log::warning("CPU_EVENTS_OFF",
                 "CPU hotplug events are no longer received; changes are noticed at the drift interval",
                 {{"DETAIL", errno_text("recvmsg")}});
    is_open_ = false;
    return false;
  }
  const bool is_of_kernel = sender.nl_pid == 0 && sender.nl_groups == kKernelGroup;
  if (!is_of_kernel) return true;
  if (const auto cpu = cpu_of_uevent({text.data(), static_cast<size_t>(size)})) pending_.add(*cpu);
  return true;
}

}  // namespace nrd::daemon
