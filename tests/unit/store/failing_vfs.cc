#include "tests/unit/store/failing_vfs.h"

#include <sqlite3.h>

#include <memory>
#include <new>

namespace nrd::testing {
namespace {

FailingVfs* active = nullptr;  // SQLite passes no context of the test to callbacks
sqlite3_vfs* real = nullptr;

struct File {
  sqlite3_file base;
  sqlite3_file* real_file() { return reinterpret_cast<sqlite3_file*>(this + 1); }
};

sqlite3_file* real_of(sqlite3_file* file) { return reinterpret_cast<File*>(file)->real_file(); }
const sqlite3_io_methods& methods(sqlite3_file* file) { return *real_of(file)->pMethods; }

template <typename Act>
int struck_or(char kind, int own_error, Act act) {
  const int error = active == nullptr ? SQLITE_OK : active->strike(kind, own_error);
  if (error == SQLITE_OK) return act();
  if (active->apply) act();
  return error;
}

int do_close(sqlite3_file* f) { return methods(f).xClose(real_of(f)); }
int do_read(sqlite3_file* f, void* to, int n, sqlite3_int64 at) { return methods(f).xRead(real_of(f), to, n, at); }
int do_write(sqlite3_file* f, const void* from, int n, sqlite3_int64 at) {
  // Of a write that found no room, half is in the file.
  const bool is_torn = active != nullptr && active->error == SQLITE_FULL;
  const int error = active == nullptr ? SQLITE_OK : active->strike('w', 0);
  if (error == SQLITE_OK) return methods(f).xWrite(real_of(f), from, n, at);
  if (active->apply) methods(f).xWrite(real_of(f), from, is_torn ? n / 2 : n, at);
  return error;
}
int do_truncate(sqlite3_file* f, sqlite3_int64 size) {
  return struck_or('t', SQLITE_IOERR_TRUNCATE, [&] { return methods(f).xTruncate(real_of(f), size); });
}
// No power is cut here, so nothing is really synced and all faults can be tried in seconds.
int do_sync(sqlite3_file*, int) {
  return struck_or('s', SQLITE_IOERR_FSYNC, [] { return SQLITE_OK; });
}
int do_size(sqlite3_file* f, sqlite3_int64* size) { return methods(f).xFileSize(real_of(f), size); }
int do_lock(sqlite3_file* f, int level) { return methods(f).xLock(real_of(f), level); }
int do_unlock(sqlite3_file* f, int level) { return methods(f).xUnlock(real_of(f), level); }
int do_check(sqlite3_file* f, int* result) { return methods(f).xCheckReservedLock(real_of(f), result); }
int do_control(sqlite3_file* f, int op, void* arg) { return methods(f).xFileControl(real_of(f), op, arg); }
int do_sector(sqlite3_file* f) { return methods(f).xSectorSize(real_of(f)); }
int do_device(sqlite3_file* f) { return methods(f).xDeviceCharacteristics(real_of(f)); }

// The index of the log is shared memory, not disk.
int do_shm_map(sqlite3_file* f, int region, int size, int extend, void volatile** at) {
  return methods(f).xShmMap(real_of(f), region, size, extend, at);
}
int do_shm_lock(sqlite3_file* f, int offset, int n, int flags) {
  return methods(f).xShmLock(real_of(f), offset, n, flags);
}
void do_shm_barrier(sqlite3_file* f) { methods(f).xShmBarrier(real_of(f)); }
int do_shm_unmap(sqlite3_file* f, int remove) { return methods(f).xShmUnmap(real_of(f), remove); }

const sqlite3_io_methods kMethods = {2,         do_close,   do_read,     do_write,       do_truncate, do_sync,
                                     do_size,   do_lock,    do_unlock,   do_check,       do_control,  do_sector,
                                     do_device, do_shm_map, do_shm_lock, do_shm_barrier, do_shm_unmap};

int do_open(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out) {
  auto* ours = new (file) File{};
  const int code = real->xOpen(real, name, ours->real_file(), flags, out);
  if (code == SQLITE_OK) ours->base.pMethods = &kMethods;
  return code;
}

int do_delete(sqlite3_vfs*, const char* name, int sync) {
  return struck_or('d', SQLITE_IOERR_DELETE, [&] { return real->xDelete(real, name, sync); });
}

sqlite3_vfs ours;

}  // namespace

FailingVfs::FailingVfs() {
  real = sqlite3_vfs_find(nullptr);
  ours = *real;
  ours.zName = "failing";
  ours.pNext = nullptr;
  ours.szOsFile = static_cast<int>(sizeof(File)) + real->szOsFile;
  ours.xOpen = do_open;
  ours.xDelete = do_delete;
  sqlite3_vfs_register(&ours, 1);
  active = this;
}

FailingVfs::~FailingVfs() {
  active = nullptr;
  sqlite3_vfs_unregister(&ours);
  sqlite3_vfs_register(real, 1);
}

int FailingVfs::strike(char kind, int own_error) {
  ++calls;
  kinds += kind;
  if (fail_at == 0 || calls < fail_at || (calls > fail_at && !for_good)) return SQLITE_OK;
  return own_error != 0 ? own_error : error;
}

}  // namespace nrd::testing
