#include "mounts.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <map>
#include <string>
#include <system_error>

namespace nrd::simnode {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSysFs = "/sys/fs";
constexpr const char* kResctrl = "/sys/fs/resctrl";
constexpr const char* kWhole = "/sys/fs/.simulated";

void must(int result, const std::string& what) {
  if (result != 0) throw std::system_error(errno, std::generic_category(), what);
}

void bind(const std::string& from, const std::string& to) {
  must(mount(from.c_str(), to.c_str(), nullptr, MS_BIND | MS_REC, nullptr), "bind " + from + " to " + to);
}

// sysfs has no mkdir, and a kernel without resctrl has no place to mount it. So /sys/fs becomes a small tmpfs in which
// everything that was there before appears again.
void rebuild_sys_fs() {
  std::map<std::string, int> folders;
  for (const auto& entry : fs::directory_iterator(kSysFs)) {
    if (!entry.is_directory() || entry.path() == kResctrl) continue;
    folders[entry.path().string()] = open(entry.path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  }
  must(mount("simulated", kSysFs, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=755,size=64k"), "tmpfs on /sys/fs");
  for (const auto& [path, folder] : folders) {
    must(mkdir(path.c_str(), 0755), path);
    bind("/proc/self/fd/" + std::to_string(folder), path);
    close(folder);
  }
}

void mount_whole(int device) {
  must(mkdir(kWhole, 0755), kWhole);
  const std::string options =
      "fd=" + std::to_string(device) + ",rootmode=40000,user_id=0,group_id=0,allow_other,default_permissions";
  must(mount("resctrl", kWhole, "fuse", MS_NOSUID | MS_NODEV | MS_NOEXEC, options.c_str()), "mount the fuse device");
}

void bind_parts(Rdt rdt) {
  const std::string whole = kWhole;
  if (rdt == Rdt::Present) {
    must(mkdir(kResctrl, 0755), kResctrl);
    bind(whole + "/resctrl", kResctrl);
  }
  bind(whole + "/cpu", "/sys/devices/system/cpu");
  if (fs::exists("/sys/devices/system/node")) bind(whole + "/node", "/sys/devices/system/node");
  bind(whole + "/proc/cpuinfo", "/proc/cpuinfo");
  bind(whole + "/proc/filesystems", "/proc/filesystems");
  bind(whole + "/proc/boot_id", "/proc/sys/kernel/random/boot_id");
}

// libpqos locks /run/lock/libpqos: nodes that run side by side must not wait for each other, nor leave it on the host.
void mount_own_locks() {
  if (!fs::exists("/run/lock")) return;
  must(mount("simulated", "/run/lock", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=1777,size=1m"), "/run/lock");
}

}  // namespace

void enter_simulated_node(int device, Rdt rdt) {
  must(unshare(CLONE_NEWNS), "unshare");
  must(mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr), "make / private");
  rebuild_sys_fs();
  mount_whole(device);
  bind_parts(rdt);
  must(umount2(kWhole, MNT_DETACH), kWhole);
  must(rmdir(kWhole), kWhole);
  mount_own_locks();
}

}  // namespace nrd::simnode
