#include "hw/rdt/mount.h"

#include <fmt/core.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "base/errno_text.h"
#include "base/log.h"
#include "hw/rdt/capabilities.h"
#include "hw/rdt/groups.h"
#include "hw/rdt/mount_namespace.h"
#include "hw/rdt/resctrl.h"
#include "hw/rdt/types.h"

namespace nrd::rdt {
namespace {

// Documentation/arch/x86/resctrl.rst, "mount".
std::string mount_options(MbaUnit unit) {
  std::string options = unit == MbaUnit::Mbps ? "mba_MBps" : "";
  const auto add = [&options](const char* option) { options += (options.empty() ? "" : ",") + std::string(option); };
  if (has_info("L3CODE")) add("cdp");
  if (has_info("L2CODE")) add("cdpl2");
  return options;
}

Failure cannot(const std::string& what, const std::string& instead) {
  const std::string reason = errno_text();
  return fail(ErrorCode::Unsupported, fmt::format("resctrl could not be {}: {}; {}", what, reason, instead), reason);
}

std::string word_of(MbaUnit unit) { return unit == MbaUnit::Mbps ? "mbps" : "percentage"; }

Result<void> unmount() {
  const std::vector<std::string> groups = TRY(list_groups());
  for (const std::string& group : groups) {
    if (class_of(group)) continue;
    return fail(
        ErrorCode::Unsupported,
        fmt::format("cannot remount resctrl while foreign group {} exists; remove it, or unset rdt.mba_mode", group));
  }
  if (::umount2(kResctrl, UMOUNT_NOFOLLOW) != 0) return cannot("unmounted", "stop the processes that use it");
  return {};
}

// What an administrator can do after a failed mount.
std::string remedy_of(int error) {
  if (error == EBUSY) return "it is also mounted outside the service; mount it there with these options";
  if (error == EINVAL) {
    return "this node does not support these options (mba_MBps needs the counter mbm_local_bytes, and no sub-NUMA "
           "clusters); unset rdt.mba_mode";
  }
  return "mount it manually, or unset rdt.mba_mode";
}

Result<void> mount_with(const std::string& options) {
  constexpr unsigned long kFlags = MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RELATIME;  // of the mount unit as well
  if (::mount("resctrl", kResctrl, "resctrl", kFlags, options.c_str()) == 0) return {};
  return cannot(fmt::format("mounted with \"{}\"", options), remedy_of(errno));
}

// If the kernel refuses `options`, the host keeps resctrl as it was: other software uses it too.
Result<void> remount_with(const std::string& options, const std::string& before) {
  TRY(unmount());
  Result<void> mounted = mount_with(options);
  if (!mounted && !mount_with(before))
    log::error("RDT_UNMOUNTED", "resctrl is not mounted any more; run: systemctl start sys-fs-resctrl.mount");
  return mounted;
}

// Only the host's mount unit can do this: through a drop-in, so that it is mounted the same way after a reboot.
Failure refer_to_unit(MbaUnit unit, const std::string& is) {
  const std::string options = mount_options(unit);
  return fail(
      ErrorCode::Unsupported,
      fmt::format("rdt.mba_mode is \"{}\", but resctrl is {}, and from its own mount namespace nrd cannot mount it for "
                  "the host; write the lines \"[Mount]\" and \"Options=nosuid,nodev,noexec,relatime{}\" to "
                  "/etc/systemd/system/sys-fs-resctrl.mount.d/options.conf, then run: systemctl stop nrd; systemctl "
                  "daemon-reload; systemctl restart sys-fs-resctrl.mount; systemctl start nrd",
                  word_of(unit), is, options.empty() ? "" : "," + options));
}

}  // namespace

Result<void> check_mount() {
  // The kernel creates the mount point if the CPU supports allocation or monitoring.
  if (is_mounted() || ::access(kResctrl, F_OK) != 0 || is_mount_visible_to_host()) return {};
  return fail(ErrorCode::Unsupported, "L3 CAT: resctrl is not mounted; run: systemctl start sys-fs-resctrl.mount",
              "nrd runs in its own mount namespace, and what it mounts there would end with it");
}

Result<void> ensure_mounted_as(const MountOptions& wanted) {
  if (!wanted.unit) return {};
  const bool was_mounted = is_mounted();
  if (!was_mounted && *wanted.unit == MbaUnit::Percent) return {};  // libpqos mounts it in percent
  const Capabilities now = TRY(read_flags().and_then(with_mount));
  if (now.is_amd) return {};
  const bool has_mba = now.mba_info || (!was_mounted && now.mba);
  if (!has_mba) {
    if (*wanted.unit == MbaUnit::Percent) return {};
    return fail(ErrorCode::Unsupported, "rdt.mba_mode is \"mbps\", but this node allocates no memory bandwidth");
  }
  if (now.mba_info && now.mba_info->unit == *wanted.unit) return {};
  if (!is_mount_visible_to_host())
    return refer_to_unit(*wanted.unit, was_mounted ? "mounted with the other unit" : "not mounted");
  if (was_mounted && !wanted.may_remount) {
    return fail(ErrorCode::Unsupported,
                fmt::format("rdt.mba_mode is \"{}\", but resctrl is mounted with the other unit; start nrd once with "
                            "--force-config, or mount it {} mba_MBps",
                            word_of(*wanted.unit), *wanted.unit == MbaUnit::Mbps ? "with" : "without"));
  }
  const std::string options = mount_options(*wanted.unit);
  TRY(was_mounted ? remount_with(options, mount_options(now.mba_info->unit)) : mount_with(options));
  const Capabilities after = TRY(with_mount(now));
  if (!after.mba_info || after.mba_info->unit != *wanted.unit) {
    return fail(
        ErrorCode::Unsupported,
        fmt::format("resctrl was mounted with \"{}\", but the bandwidth unit is still not \"{}\"; unset rdt.mba_mode",
                    options, word_of(*wanted.unit)));
  }
  log::notice("RDT_MOUNTED", "resctrl was mounted according to rdt.mba_mode; all classes are reset",
              {{"OPTIONS", options}});
  return {};
}

}  // namespace nrd::rdt
