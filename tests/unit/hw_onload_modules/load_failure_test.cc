#include "hw/onload/load_failure.h"

#include <doctest/doctest.h>

#include <cerrno>
#include <ostream>

namespace nrd::onload::load_failure_test {

TEST_CASE("kernel log lines determine the cause") {
  struct Row {
    const char* line;
    Cause cause;
  };
  for (const Row& row : {
           Row{"[sfc efrm] init_sfc_resource: ERROR: failed to find syscall table", Cause::SyscallTable},
           Row{"[sfc efrm] IBT is on: start the kernel with ibt=off", Cause::Ibt},
           Row{"onload: version magic '6.1.0-9-amd64 SMP ' should be '6.1.0-56-amd64 SMP '", Cause::WrongKernel},
           Row{"sfc: disagrees about version of symbol module_layout", Cause::WrongKernel},
           Row{"sfc_char: disagrees about version of symbol efrm_vi_alloc", Cause::UnknownSymbol},
           Row{"onload: Unknown symbol efrm_vi_alloc (err -2)", Cause::UnknownSymbol},
           Row{"Lockdown: nrd: unsigned module loading is restricted; see man kernel_lockdown.7", Cause::Lockdown},
           Row{"Loading of unsigned module is rejected", Cause::Signature},
           Row{"Loading of module with unavailable key is rejected", Cause::Signature},
           Row{"onload: `abc' invalid for parameter `phys_mode_gid'", Cause::BadParameter},
           Row{"onload: `99999999999' too large for parameter `x'", Cause::BadParameter},
           // No reason to fail.
           Row{"onload: unknown parameter 'x' ignored", Cause::Other},
           Row{"onload: module verification failed: signature and/or required key missing - tainting kernel",
               Cause::Other},
           Row{"onload: loading out-of-tree module taints kernel.", Cause::Other},
           Row{"Lockdown: dd: /dev/mem,kmem,port is restricted", Cause::Other},
           Row{"", Cause::Other},
       }) {
    INFO(row.line);
    CHECK(cause_in(row.line) == row.cause);
  }
}

TEST_CASE("the errno decides if the log has no answer") {
  struct Row {
    int error;
    Cause on_insert;
    Cause on_remove;
  };
  for (const Row& row : {
           Row{EEXIST, Cause::AlreadyLoaded, Cause::Other},
           Row{EBUSY, Cause::InTransition, Cause::InTransition},
           Row{ENOEXEC, Cause::NotAModule, Cause::Other},
           Row{ENOMEM, Cause::OutOfMemory, Cause::Other},
           Row{EPERM, Cause::NotAllowed, Cause::NotAllowed},
           Row{ENOSYS, Cause::NotAllowed, Cause::NotAllowed},
           Row{EKEYREJECTED, Cause::Signature, Cause::Other},
           Row{ENOKEY, Cause::Signature, Cause::Other},
           Row{EBADMSG, Cause::Signature, Cause::Other},
           Row{ENOENT, Cause::InitFailed, Cause::NotLoaded},
           Row{EWOULDBLOCK, Cause::InitFailed, Cause::InUse},
           Row{EINVAL, Cause::InitFailed, Cause::Other},
       }) {
    INFO("errno " << row.error);
    CHECK(insert_failure("onload", row.error, {}).cause == row.on_insert);
    CHECK(remove_failure("onload", row.error, {}).cause == row.on_remove);
  }
}

TEST_CASE("the log distinguishes meanings of one errno") {
  const std::string syscall = "[sfc efrm] init_sfc_resource: ERROR: failed to find syscall table";
  const std::string symbol = "onload: Unknown symbol efrm_vi_alloc (err -2)";
  CHECK(insert_failure("sfc_resource", ENOENT, {syscall}).cause == Cause::SyscallTable);
  CHECK(insert_failure("onload", ENOENT, {symbol}).cause == Cause::UnknownSymbol);
  CHECK(insert_failure("onload", ENOENT, {"[onload] hello"}).cause == Cause::InitFailed);
  CHECK(insert_failure("onload", EPERM, {"Lockdown: nrd: unsigned module loading is restricted"}).cause ==
        Cause::Lockdown);
  // The more telling one, wherever it stands.
  CHECK(insert_failure("onload", ENOENT, {symbol, syscall}).cause == Cause::SyscallTable);
  CHECK(insert_failure("onload", ENOENT, {syscall, symbol}).cause == Cause::SyscallTable);
}

TEST_CASE("an already loaded module is reported as such whatever the log says") {
  CHECK(insert_failure("onload", EEXIST, {"sfc: Unknown symbol x (err -2)"}).cause == Cause::AlreadyLoaded);
}

TEST_CASE("a failure names module, action and cause, and keeps the log") {
  const LoadFailure failed = insert_failure("onload", ENODEV, {"[onload] no"});
  CHECK(failed.message == "onload cannot be loaded: its initialization failed: No such device");
  CHECK(failed.module == "onload");
  CHECK(failed.error == ENODEV);
  CHECK(failed.log == std::vector<std::string>{"[onload] no"});
  CHECK(remove_failure("sfc", EWOULDBLOCK, {}).message == "sfc cannot be removed: it is in use");
  CHECK(refused("sfc", Cause::UnknownParameter, "speed").message ==
        "sfc cannot be loaded: it has no such parameter: speed");
}

}  // namespace nrd::onload::load_failure_test
