#include "hw/rdt/pqos.h"

#include <fmt/core.h>
#include <pqos.h>
#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <set>
#include <vector>

#include "base/errno_text.h"
#include "base/file.h"
#include "base/log.h"
#include "hw/rdt/groups.h"
#include "hw/rdt/resctrl.h"

namespace nrd::rdt {
namespace {

const char* name_of(int retval) {
  switch (retval) {
    case PQOS_RETVAL_PARAM: return "parameter refused";
    case PQOS_RETVAL_RESOURCE: return "resource missing";
    case PQOS_RETVAL_INIT: return "not initialised";
    case PQOS_RETVAL_BUSY: return "busy";
    case PQOS_RETVAL_INTER: return "interface not supported";
    default: return "error";
  }
}

// Unblocks SIGALRM for one call: without it libpqos waits forever for a held lock, and a thread inherits a blocked
// mask. Only for that call: a thread that left it unblocked, and threads that it starts, would receive the signal
// instead of the waiting one.
class AlarmLetThrough {
 public:
  AlarmLetThrough() {
    sigset_t alarm;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    ::pthread_sigmask(SIG_UNBLOCK, &alarm, &before_);
  }
  ~AlarmLetThrough() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  AlarmLetThrough(const AlarmLetThrough&) = delete;
  AlarmLetThrough& operator=(const AlarmLetThrough&) = delete;

 private:
  sigset_t before_ = {};
};

// An array that libpqos allocated.
std::set<uint32_t> taken(unsigned* ids, unsigned count) {
  std::set<uint32_t> all;
  if (ids != nullptr) all.insert(ids, ids + count);
  std::free(ids);
  return all;
}

CacheView view_of(const pqos_cap& cap, const pqos_cpuinfo& cpus) {
  CacheView view;
  const auto note_classes = [&view](unsigned classes) {
    view.classes = view.classes == 0 ? classes : std::min(view.classes, classes);
  };
  unsigned count = 0;
  const auto add = [&](unsigned level, const auto& cache, unsigned* ids) {
    note_classes(cache.num_classes);
    view.levels[level] = {.ids = taken(ids, count), .ways = cache.num_ways, .cdp = cache.cdp_on != 0};
  };
  for (unsigned i = 0; i < cap.num_cap; ++i) {
    const pqos_capability& one = cap.capabilities[i];
    if (one.type == PQOS_CAP_TYPE_L3CA) {
      add(3, *one.u.l3ca, pqos_cpu_get_l3cat_ids(&cpus, &count));
    } else if (one.type == PQOS_CAP_TYPE_L2CA) {
      add(2, *one.u.l2ca, pqos_cpu_get_l2ids(&cpus, &count));
    } else if (one.type == PQOS_CAP_TYPE_MBA) {
      note_classes(one.u.mba->num_classes);
    }
  }
  return view;
}

std::set<std::string> existing_groups() {
  if (!is_mounted()) return {};
  const std::vector<std::string> names = list_groups().value_or(std::vector<std::string>());
  return {names.begin(), names.end()};
}

// Removes groups of classes that did not exist `before`. A group that other software has used in the meantime keeps its
// class: rmdir follows the start by less than a millisecond, and libpqos's lock excludes its other users.
void remove_new_groups(const std::set<std::string>& before) {
  for (const std::string& name : existing_groups()) {
    if (before.contains(name) || !class_of(name)) continue;
    if (const Result<void> removed = remove_group(name); !removed)
      log::warning("RDT_PQOS", removed.error().message, {{"DETAIL", removed.error().detail}});
  }
}

}  // namespace

void Pqos::capture(void* log, const size_t size, const char* message) {
  const int kept = errno;  // libpqos continues after this, and failed() needs the kernel's errno
  auto& captured = *static_cast<LogCapture*>(log);
  const std::string_view text = trimmed(std::string_view(message, size));
  const bool is_error = text.starts_with("ERROR");
  if (is_error) captured.last_error = text;
  if (!text.empty()) log::write(is_error ? captured.error_priority : log::Priority::Debug, "RDT_PQOS", text);
  errno = kept;
}

Failure Pqos::failed(const std::string& call, int retval, int error) const {
  std::string detail = fmt::format("{}: {} (libpqos {})", call, name_of(retval), retval);
  if (!log_capture_.last_error.empty()) detail += "; " + log_capture_.last_error;
  if (error != 0) detail += "; errno: " + errno_text(error);
  return fail(ErrorCode::Hardware, "the kernel rejected a change to a class of service", detail);
}

Result<std::unique_ptr<Pqos>> Pqos::start() {
  // Not make_unique: the constructor is private, so that a Pqos is always a running libpqos.
  LibraryLock lock = TRY(LibraryLock::open());
  std::unique_ptr<Pqos> pqos(new Pqos(std::move(lock)));
  const std::set<std::string> before = existing_groups();
  const Result<void> started = pqos->init();
  remove_new_groups(before);
  if (!started) return Failure(started.error());
  return pqos;
}

Result<void> Pqos::init() {
  TRY(lock_.take());
  const AlarmLetThrough alarm;
  pqos_config config = {};
  config.fd_log = -1;
  config.callback_log = &Pqos::capture;
  config.context_log = &log_capture_;
  config.verbose = 0;  // warnings and errors (LOG_VER_DEFAULT, which the package's headers do not define)
  config.interface = PQOS_INTER_OS;
  const int retval = pqos_init(&config);
  if (retval != PQOS_RETVAL_OK) return failed("pqos_init", retval, 0);
  is_running_ = true;
  log_capture_.error_priority = log::Priority::Warning;
  const pqos_cap* cap = nullptr;
  const pqos_cpuinfo* cpus = nullptr;
  TRY(lock_.take());
  if (const int got = pqos_cap_get(&cap, &cpus); got != PQOS_RETVAL_OK) return failed("pqos_cap_get", got, 0);
  view_ = view_of(*cap, *cpus);
  return {};
}

Pqos::~Pqos() {
  if (!is_running_) return;
  if (const Result<void> taken = lock_.take(); !taken) {
    log::warning(
        "RDT_PQOS",
        taken.error().message);  // its memory stays allocated, since releasing it would wait for the lock forever
    return;
  }
  const AlarmLetThrough alarm;
  pqos_fini();
}

Result<void> Pqos::set_ways(const WaysWrite& write) {
  TRY(lock_.take());
  const AlarmLetThrough alarm;
  log_capture_.last_error.clear();
  return write.cache.level == 2 ? set_level(write, "pqos_l2ca_set", ::pqos_l2ca_set)
                                : set_level(write, "pqos_l3ca_set", ::pqos_l3ca_set);
}

template <typename Setting>
Result<void> Pqos::set_level(const WaysWrite& write, const char* name,
                             int (*call)(unsigned, unsigned, const Setting*)) {
  Setting setting = {};
  setting.class_id = write.clos.value;
  setting.cdp = write.split ? 1 : 0;
  if (write.split) {
    setting.u.s.code_mask = write.split->code.bits();
    setting.u.s.data_mask = write.split->data.bits();
  } else {
    setting.u.ways_mask = write.ways.bits();  // with CDP for code and data
  }
  errno = 0;
  const int retval = call(write.cache.value, 1, &setting);
  if (retval != PQOS_RETVAL_OK) return failed(name, retval, errno);
  return {};
}

}  // namespace nrd::rdt
