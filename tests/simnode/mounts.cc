#include "mounts.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

namespace nrd::simnode {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSysFs = "/sys/fs";
constexpr const char* kResctrl = "/sys/fs/resctrl";
constexpr const char* kCgroup = "/sys/fs/cgroup";
constexpr const char* kDevCpu = "/dev/cpu";
constexpr const char* kWhole = "/sys/fs/.simulated";

void bind_mount(const std::string& from, const std::string& to) {
  must(mount(from.c_str(), to.c_str(), nullptr, MS_BIND | MS_REC, nullptr), "bind " + from + " to " + to);
}

// What was in the folder, held open while something is mounted over it.
struct Entry {
  std::string path;
  int held;
  struct stat was;
};

std::vector<Entry> entries_of(const char* folder, const char* but) {
  std::vector<Entry> entries;
  for (const auto& found : fs::directory_iterator(folder)) {
    if (found.path() == but) continue;
    Entry entry{found.path().string(), open(found.path().c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC), {}};
    must(entry.held < 0 ? -1 : fstat(entry.held, &entry.was), entry.path);
    entries.push_back(entry);
  }
  return entries;
}

std::string target_of(const Entry& link) {
  std::string target(static_cast<size_t>(PATH_MAX), '\0');
  const ssize_t length = readlinkat(link.held, "", target.data(), target.size());
  must(length < 0 ? -1 : 0, link.path);
  target.resize(static_cast<size_t>(length));
  return target;
}

// Devices are created instead of bound, because /dev/ptmx looks for pts beside itself. One that is mounted itself, as
// /dev/console is in containers, belongs to another file system and is bound.
void bring_back(const Entry& entry, dev_t folder_device) {
  const std::string held = "/proc/self/fd/" + std::to_string(entry.held);
  const mode_t mode = entry.was.st_mode;
  if (S_ISLNK(mode)) {
    must(symlink(target_of(entry).c_str(), entry.path.c_str()), entry.path);
  } else if (S_ISDIR(mode)) {
    must(mkdir(entry.path.c_str(), 0755), entry.path);
    bind_mount(held, entry.path);
  } else if ((S_ISCHR(mode) || S_ISBLK(mode)) && entry.was.st_dev == folder_device) {
    must(mknod(entry.path.c_str(), mode, entry.was.st_rdev), entry.path);
    must(chown(entry.path.c_str(), entry.was.st_uid, entry.was.st_gid), entry.path);
    must(chmod(entry.path.c_str(), mode & 07777), entry.path);
  } else {
    must(mknod(entry.path.c_str(), S_IFREG | 0600, 0), entry.path);
    bind_mount(held, entry.path);
  }
  close(entry.held);
}

// A mount needs a folder to be over, and the host must not get one: sysfs has no mkdir, and /dev is shared. So the
// folder becomes a small tmpfs in which everything but one name appears again, and that one can be made.
void rebuild(const char* folder, const char* but, unsigned long flags) {
  struct stat was = {};
  must(stat(folder, &was), folder);
  const std::vector<Entry> entries = entries_of(folder, but);
  must(mount("simulated", folder, "tmpfs", flags, "mode=755,size=64k"), std::string("tmpfs on ") + folder);
  for (const Entry& entry : entries) bring_back(entry, was.st_dev);
}

void mount_whole(int device) {
  must(mkdir(kWhole, 0755), kWhole);
  const std::string options =
      "fd=" + std::to_string(device) + ",rootmode=40000,user_id=0,group_id=0,allow_other,default_permissions";
  must(mount("resctrl", kWhole, "fuse", MS_NOSUID | MS_NODEV | MS_NOEXEC, options.c_str()), "mount the fuse device");
}

// A node without MSRs hides those of the host as well, or a program could set the real ones.
void bind_msrs(const std::string& whole, MsrPart part) {
  if (!fs::exists(kDevCpu)) {
    if (part == MsrPart::None) return;
    rebuild("/dev", kDevCpu, MS_NOSUID | MS_NOEXEC);
    must(mkdir(kDevCpu, 0755), kDevCpu);
  }
  bind_mount(whole + "/dev", kDevCpu);
}

void bind_parts(const Shape& shape) {
  const std::string whole = kWhole;
  if (shape.rdt) {
    must(mkdir(kResctrl, 0755), kResctrl);
    bind_mount(whole + "/resctrl", kResctrl);
  }
  if (shape.cgroups) {
    if (!fs::exists(kCgroup)) must(mkdir(kCgroup, 0755), kCgroup);
    bind_mount(whole + "/cgroup", kCgroup);
  }
  bind_mount(whole + "/cpu", "/sys/devices/system/cpu");
  if (fs::exists("/sys/devices/system/node")) bind_mount(whole + "/node", "/sys/devices/system/node");
  bind_msrs(whole, shape.freq.msr);
  bind_mount(whole + "/proc/cpuinfo", "/proc/cpuinfo");
  bind_mount(whole + "/proc/filesystems", "/proc/filesystems");
  bind_mount(whole + "/proc/boot_id", "/proc/sys/kernel/random/boot_id");
  for (const char* path :
       {"/proc/irq", "/proc/sys/kernel/watchdog_cpumask", "/sys/devices/virtual/workqueue/cpumask"}) {
    if (fs::exists(path)) bind_mount(whole + path, path);
  }
  bind_mount("/proc/" + std::to_string(getpid()) + "/mountinfo",
             "/proc/1/mountinfo");  // its init is in its mount namespace
}

// libpqos locks /run/lock/libpqos: nodes that run side by side must not wait for each other, nor leave it on the host.
void mount_own_locks() {
  if (!fs::exists("/run/lock")) return;
  must(mount("simulated", "/run/lock", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=1777,size=1m"), "/run/lock");
}

// What sd_booted(3) looks for.
void appear_booted_by_systemd() {
  rebuild("/run", "/run/systemd", MS_NOSUID | MS_NODEV);
  for (const char* folder : {"/run/systemd", "/run/systemd/system"}) must(mkdir(folder, 0755), folder);
}

}  // namespace

int must(int result, const std::string& what) {
  if (result < 0) throw std::system_error(errno, std::generic_category(), what);
  return result;
}

void enter_simulated_node(int device, const Shape& shape) {
  must(unshare(CLONE_NEWNS), "unshare");
  must(mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr), "make / private");
  rebuild(kSysFs, kResctrl, MS_NOSUID | MS_NODEV | MS_NOEXEC);
  mount_whole(device);
  bind_parts(shape);
  must(umount2(kWhole, MNT_DETACH), kWhole);
  must(rmdir(kWhole), kWhole);
  if (shape.systemd) appear_booted_by_systemd();
  mount_own_locks();
}

}  // namespace nrd::simnode
