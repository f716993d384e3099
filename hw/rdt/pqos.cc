#include "hw/rdt/pqos.h"

#include <fcntl.h>
#include <pqos.h>
#include <pthread.h>
#include <signal.h>

#include <string>

#include "base/file.h"
#include "base/log.h"

namespace nrd::rdt {
namespace {

// `context` is the Pqos' priority for errors.
void to_our_log(void* context, const size_t size, const char* message) {
  const std::string_view text = trimmed(std::string_view(message, size));
  if (text.empty()) return;
  const bool is_error = text.starts_with("ERROR");
  log::write(is_error ? *static_cast<const log::Priority*>(context) : log::Priority::Debug, "RDT_PQOS", text);
}

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

Failure failed(const std::string& call, int retval) {
  return fail(ErrorCode::Hardware, "the kernel refused a change of a class of service",
              call + ": " + name_of(retval) + " (libpqos " + std::to_string(retval) + ")");
}

// The daemon blocks signals before it starts threads; without SIGALRM a lock that somebody holds would hang us for ever.
void let_sigalrm_through() {
  thread_local const bool done = [] {
    sigset_t alarm;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    return ::pthread_sigmask(SIG_UNBLOCK, &alarm, nullptr) == 0;
  }();
  static_cast<void>(done);
}

}  // namespace

Result<std::unique_ptr<Pqos>> Pqos::start() {
  let_sigalrm_through();
  // Not make_unique: the constructor is private, so that a Pqos always is a running libpqos.
  std::unique_ptr<Pqos> pqos(new Pqos);
  pqos_config config = {};
  config.fd_log = -1;
  config.callback_log = to_our_log;
  config.context_log = &pqos->error_priority_;
  config.verbose = 0;  // warnings and errors (LOG_VER_DEFAULT, which the package's headers do not define)
  config.interface = PQOS_INTER_OS;
  const int retval = pqos_init(&config);
  if (retval != PQOS_RETVAL_OK) return failed("pqos_init", retval);
  pqos->is_running_ = true;
  pqos->error_priority_ = log::Priority::Warning;
  return pqos;
}

Pqos::~Pqos() {
  if (is_running_) pqos_fini();
}

Result<void> Pqos::set_ways(ClosId clos, CacheId cache, WayMask ways) {
  let_sigalrm_through();
  pqos_l3ca setting = {};
  setting.class_id = clos.value;
  setting.u.ways_mask = ways.bits();
  const int retval = pqos_l3ca_set(cache.value, 1, &setting);
  if (retval != PQOS_RETVAL_OK) return failed("pqos_l3ca_set", retval);
  return {};
}

Result<void> Pqos::set_class(CpuId cpu, ClosId clos) {
  let_sigalrm_through();
  const int retval = pqos_alloc_assoc_set(cpu.value, clos.value);
  if (retval != PQOS_RETVAL_OK) return failed("pqos_alloc_assoc_set", retval);
  return {};
}

}  // namespace nrd::rdt
