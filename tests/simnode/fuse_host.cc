#include "fuse_host.h"

#include <fcntl.h>
#include <fuse.h>
#include <fuse_lowlevel.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

namespace nrd::simnode {
namespace {

Tree& tree() { return *static_cast<Tree*>(fuse_get_context()->private_data); }
pid_t writer() { return fuse_get_context()->pid; }
std::string relative(const char* path) { return path + 1; }

// Content as it was when the reader began at offset 0, as the kernel's seq_file keeps it: a file that changes between
// two reads is not mixed from old and new.
struct OpenFile {
  std::string content;
};

OpenFile* open_file(fuse_file_info* info) { return reinterpret_cast<OpenFile*>(info->fh); }

void* start(fuse_conn_info*, fuse_config* config) {
  config->direct_io = 1;  // else the kernel cuts reads at the file size, which is 0
  // Each step of a path looks its name up and gets the attributes with it. Without a while to keep them the kernel
  // would ask once more to check permissions, which was a quarter of the time of a start of nrd.
  config->attr_timeout = 0.1;  // seconds
  config->entry_timeout = 0;
  config->negative_timeout = 0;
  return fuse_get_context()->private_data;
}

constexpr const char* kResctrlFolder = "resctrl";  // its root

int change_mode(const char* path, mode_t mode, fuse_file_info*) {
  if (relative(path) != kResctrlFolder) return -EPERM;  // groups and files: not modelled
  tree().resctrl_permissions = mode & 07777;
  return 0;
}

// libfuse gives no path of a file that was open when its folder was removed.
bool is_removed(const char* path) { return path == nullptr; }

int get_attributes(const char* path, struct stat* attributes, fuse_file_info*) {
  if (is_removed(path)) return -ENOENT;
  const auto mode = tree().mode(relative(path));
  if (!mode) return -ENOENT;
  *attributes = {};
  attributes->st_mode = *mode;
  if (relative(path) == kResctrlFolder) {
    attributes->st_mode = (*mode & S_IFMT) | tree().resctrl_permissions.value_or(*mode & 07777);
  }
  attributes->st_nlink = S_ISDIR(*mode) ? 2 : 1;
  attributes->st_size = S_ISREG(*mode) && relative(path).starts_with("cpu/") ? 4096 : 0;
  return 0;
}

int read_folder(const char* path, void* entries, fuse_fill_dir_t fill, off_t, fuse_file_info*, fuse_readdir_flags) {
  if (is_removed(path)) return -ENOENT;
  fill(entries, ".", nullptr, 0, fuse_fill_dir_flags{});
  fill(entries, "..", nullptr, 0, fuse_fill_dir_flags{});
  const std::string folder = relative(path);
  for (const std::string& name : tree().list(folder)) {
    // The kind of each entry, because readers such as scandir and fts trust it where it is given.
    struct stat attributes = {};
    if (tree().tells_types()) {
      attributes.st_mode = tree().mode(folder.empty() ? name : folder + "/" + name).value_or(S_IFREG);
    }
    fill(entries, name.c_str(), &attributes, 0, fuse_fill_dir_flags{});
  }
  return 0;
}

int read_link(const char* path, char* target, size_t size) {
  std::string content;
  if (const int error = tree().read(relative(path), content)) return -error;
  const size_t length = std::min(content.size(), size - 1);
  std::memcpy(target, content.data(), length);
  target[length] = '\0';
  return 0;
}

int open_path(const char* path, fuse_file_info* info) {
  const auto mode = tree().mode(relative(path));
  if (!mode) return -ENOENT;
  // kernfs refuses this to root as well, whom the permission bits alone would not stop.
  if ((info->flags & O_ACCMODE) != O_RDONLY && (*mode & 0222) == 0) return -EACCES;
  if ((info->flags & O_ACCMODE) != O_WRONLY && (*mode & 0444) == 0) return -EACCES;
  if (const int error = tree().open(relative(path))) return -error;
  info->fh = reinterpret_cast<std::uint64_t>(new OpenFile);
  return 0;
}

int close_file(const char*, fuse_file_info* info) {
  delete open_file(info);
  return 0;
}

using Register = std::uint64_t;

std::string in_hex(std::uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

std::string register_path(const char* path, off_t number) {
  return relative(path) + "/" + in_hex(static_cast<std::uint64_t>(number));
}

int read_register(const char* path, char* buffer, size_t size, off_t number) {
  if (size != sizeof(Register)) return -EINVAL;
  std::string content;
  if (const int error = tree().read(register_path(path, number), content)) return -error;
  const Register value = std::strtoull(content.c_str(), nullptr, 16);
  std::memcpy(buffer, &value, sizeof value);
  return sizeof value;
}

// A write of another size goes to the tree as well, which refuses it, because it counts as a write.
int write_register(const char* path, const char* bytes, size_t size, off_t number) {
  std::string text = std::to_string(size) + " bytes";
  if (Register value = 0; size == sizeof value) {
    std::memcpy(&value, bytes, sizeof value);
    text = in_hex(value);
  }
  const int error = tree().write(register_path(path, number), text, writer());
  return error == 0 ? static_cast<int>(size) : -error;
}

int read_file(const char* path, char* buffer, size_t size, off_t offset, fuse_file_info* info) {
  if (is_removed(path)) return -ENODEV;
  if (tree().has_registers(relative(path))) return read_register(path, buffer, size, offset);
  std::string& content = open_file(info)->content;
  if (offset == 0) {
    if (const int error = tree().read(relative(path), content)) return -error;
  }
  if (static_cast<size_t>(offset) >= content.size()) return 0;
  const size_t length = std::min(size, content.size() - static_cast<size_t>(offset));
  std::memcpy(buffer, content.data() + offset, length);
  return static_cast<int>(length);
}

int write_file(const char* path, const char* text, size_t size, off_t offset, fuse_file_info*) {
  if (is_removed(path)) return -ENODEV;
  if (tree().has_registers(relative(path))) return write_register(path, text, size, offset);
  const int error = tree().write(relative(path), {text, size}, writer());
  return error == 0 ? static_cast<int>(size) : -error;
}

// open(2) with O_TRUNC, as fopen("w") does, must work and means nothing here.
int truncate_file(const char*, off_t, fuse_file_info*) { return 0; }

int make_folder(const char* path, mode_t) { return -tree().make_folder(relative(path), writer()); }

int remove_folder(const char* path) { return -tree().remove_folder(relative(path), writer()); }

// kernfs takes neither new files and links nor new names.
int no_rename(const char*, const char*, unsigned) { return -EPERM; }
int no_unlink(const char*) { return -EPERM; }
int no_create(const char*, mode_t, fuse_file_info*) { return -EACCES; }
int no_symlink(const char*, const char*) { return -EPERM; }

fuse_operations operations() {
  fuse_operations table = {};
  table.init = start;
  table.getattr = get_attributes;
  table.chmod = change_mode;
  table.readdir = read_folder;
  table.readlink = read_link;
  table.open = open_path;
  table.release = close_file;
  table.read = read_file;
  table.write = write_file;
  table.truncate = truncate_file;
  table.mkdir = make_folder;
  table.rmdir = remove_folder;
  table.rename = no_rename;
  table.unlink = no_unlink;
  table.create = no_create;
  table.symlink = no_symlink;
  return table;
}

}  // namespace

FuseHost::FuseHost(Tree& served, int device) {
  const fuse_operations table = operations();
  char name[] = "nrd-simnode";
  char* arguments[] = {name, nullptr};
  fuse_args args = FUSE_ARGS_INIT(1, arguments);
  fuse_ = fuse_new(&args, &table, sizeof table, &served);
  fuse_opt_free_args(&args);
  // libfuse takes an already open device by this name and then leaves mounting to us.
  const std::string opened = "/dev/fd/" + std::to_string(device);
  if (fuse_ == nullptr || fuse_mount(fuse_, opened.c_str()) != 0) throw std::runtime_error("libfuse cannot start");
}

FuseHost::~FuseHost() { fuse_destroy(fuse_); }

void FuseHost::serve_pending() {
  fuse_session* session = fuse_get_session(fuse_);
  fuse_buf request = {};
  if (fuse_session_receive_buf(session, &request) > 0) fuse_session_process_buf(session, &request);
  std::free(request.mem);
}

}  // namespace nrd::simnode
