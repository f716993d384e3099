#include "store/store.h"

#include <doctest/doctest.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "store/database.h"
#include "store/sql_text.h"
#include "tests/unit/fault_points.h"
#include "tests/unit/results.h"
#include "tests/unit/store/failing_vfs.h"
#include "tests/unit/store/folder.h"

namespace nrd::store::store_test {

using namespace nrd::testing;

namespace {

// The store neither reads nor checks what is in a document.
std::string a_document(uint64_t number) {
  return R"({"number":)" + std::to_string(number) + R"(,"text":"\"a\\\u0001ä","inner":{"big":18446744073709551615}})";
}

WorkloadRow a_workload(uint64_t id, const std::string& uuid = "") {
  return {.id = WorkloadId{id},
          .uuid = uuid,
          .given_id = id == 3 ? "web" : "",
          .revision = id,
          .origin = id == 3 ? "OPENSTACK" : "REST",
          .document = a_document(id)};
}

IdempotencyRecord a_key(const std::string& key, uint64_t workload) {
  return {.key = key,
          .request_hash = "f-" + key,
          .workload = WorkloadId{workload},
          .created = Time(std::chrono::milliseconds(1700000000000 + static_cast<int64_t>(workload)))};
}

std::vector<Change> a_day() {
  Change first;
  first.next_id = 3;
  first.put = {a_workload(1, "a"), a_workload(2)};
  first.new_boot_id = "boot-1";
  first.baselines.put = {{{"ways", R"([0,"0"])"}, R"("7ff")"}, {{"cpu", "4"}, "0"}, {{"task", "4711"}, "{}"}};
  first.keys = {a_key("k1", 1), a_key("k2", 2)};
  first.operations.put = {{{"freeze", ""}, R"({"frozen":true})"}, {{"generation", "1"}, a_document(1)}};
  Change second;
  second.next_id = 4;
  second.put = {a_workload(3, "a")};
  second.removed = {WorkloadId{1}};
  second.baselines.removed = {{"task", "4711"}, {"task", "never"}};
  second.keys = {a_key("k3", 3)};
  second.operations.put = {{{"generation", "2"}, a_document(2)}, {{"operation", "1"}, a_document(1)}};
  Change third;
  third.next_id = 4;
  third.put = {a_workload(2, "b")};
  third.new_boot_id = "boot-2";
  third.forgotten_keys = {"k2", "never"};
  third.operations.removed = {{"generation", "1"}};
  third.operations.put = {{{"operation", "1"}, R"({"number":7})"}};
  return {first, second, third};
}

Records loaded(Store& store) { return value_of(store.load()); }

void commit(Store& store, const Change& change) { REQUIRE(store.commit(change).committed == Committed::Done); }

// With a store that holds the first change of a day, and is closed.
struct FilledFolder : Folder {
  FilledFolder() { commit(**Store::open(state()), a_day()[0]); }
};

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_bytes(const std::string& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

// Another program at work; it leaves its log behind like one that was killed.
void edit(const std::string& path, const char* sql) {
  sqlite3* other = nullptr;
  REQUIRE(sqlite3_open(path.c_str(), &other) == SQLITE_OK);
  sqlite3_db_config(other, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  REQUIRE(sqlite3_exec(other, sql, nullptr, nullptr, nullptr) == SQLITE_OK);
  sqlite3_close(other);
}

// What the next start would find if the daemon were killed now.
Records after_a_kill(const Folder& folder) {
  std::filesystem::remove_all(folder.other());
  std::filesystem::create_directory(folder.other());
  for (const char* name : {"/nrd.db", "/nrd.db-wal"}) {
    if (std::filesystem::exists(folder.state() + name)) {
      std::filesystem::copy_file(folder.state() + name, folder.other() + name);
    }
  }
  return loaded(*value_of(Store::open(folder.other())));
}

}  // namespace

TEST_CASE("committed state is loaded unchanged") {
  const Folder folder;
  {
    const auto store = *Store::open(folder.state());
    CHECK(loaded(*store) == Records{});
    for (const Change& change : a_day()) commit(*store, change);
  }
  const auto store = *Store::open(folder.state());
  const Records records = loaded(*store);
  CHECK(records.revision == 3);
  CHECK(records.next_id == 4);
  CHECK(records.workloads == std::vector{a_workload(2, "b"), a_workload(3, "a")});
  CHECK(records.keys == std::vector{a_key("k1", 1), a_key("k3", 3)});
  CHECK(records.boot_id == "boot-2");
  CHECK(records.baselines.empty());
  CHECK(records.operations ==
        std::vector<Document>{
            {{"freeze", ""}, R"({"frozen":true})"},
            {{"generation", "2"}, a_document(2)},
            {{"operation", "1"}, R"({"number":7,"text":"\"a\\\u0001ä","inner":{"big":18446744073709551615}})"}});
}

TEST_CASE("baselines of one boot add up and another boot replaces them") {
  const Folder folder;
  const auto store = *Store::open(folder.state());
  commit(*store, a_day()[0]);
  Change more;
  more.baselines = {.removed = {{"task", "4711"}}, .put = {{{"cpu", "1"}, "0"}, {{"cpu", "4"}, "2"}}};
  commit(*store, more);
  CHECK(loaded(*store).boot_id == "boot-1");
  CHECK(loaded(*store).baselines ==
        std::vector<Document>{{{"cpu", "1"}, "0"}, {{"cpu", "4"}, "2"}, {{"ways", R"([0,"0"])"}, R"("7ff")"}});
  Change reboot;
  reboot.new_boot_id = "boot-2";
  reboot.baselines.put = {{{"cpu", "5"}, "0"}};
  commit(*store, reboot);
  CHECK(loaded(*store).boot_id == "boot-2");
  CHECK(loaded(*store).baselines == reboot.baselines.put);
}

TEST_CASE("members that another version wrote stay when a document is rewritten") {
  const Folder folder;
  const auto store = *Store::open(folder.state());
  const auto write = [&](const std::string& json) {
    WorkloadRow workload = a_workload(1);
    workload.document = json;
    Change change;
    change.next_id = 2;
    change.put = {workload};
    change.operations.put = {{{"operation", "1"}, json}};
    commit(*store, change);
    const Records records = loaded(*store);
    CHECK(records.operations.front().json == records.workloads.front().document);
    return records.workloads.front().document;
  };
  CHECK(write(R"({"a":1,"new":2,"gone":null,"in":{"b":[1,2],"new":{"c":3},"gone":null}})") ==
        R"({"a":1,"new":2,"in":{"b":[1,2],"new":{"c":3}}})");
  CHECK(write(R"({"a":9,"in":{"b":[3]},"later":true})") ==
        R"({"a":9,"new":2,"in":{"b":[3],"new":{"c":3}},"later":true})");
  CHECK(write(R"({"a":null,"in":null})") == R"({"new":2,"later":true})");
}

TEST_CASE("a uuid may move between workloads in one commit") {
  const Folder folder;
  const auto store = *Store::open(folder.state());
  Change change;
  change.next_id = 3;
  change.put = {a_workload(1, "a"), a_workload(2, "b")};
  commit(*store, change);
  std::swap(change.put[0].uuid, change.put[1].uuid);
  commit(*store, change);
  CHECK(loaded(*store).workloads == change.put);
}

TEST_CASE("only root reads the database") {
  const Folder folder;
  const auto store = *Store::open(folder.state());
  struct stat status = {};
  REQUIRE(::stat(folder.database().c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);
}

TEST_CASE("a second daemon is refused while the first runs") {
  const Folder folder;
  {
    const auto first = *Store::open(folder.state());
    CHECK(error_of(Store::open(folder.state())).code == ErrorCode::Busy);
  }
  CHECK(Store::open(folder.state()));
}

TEST_CASE("a foreign or damaged file is refused and not modified") {
  const FilledFolder folder;
  const std::string good = bytes_of(folder.database());
  REQUIRE(good.size() > 8192);
  std::string torn = good;
  torn.replace(4096, 2000, std::string(2000, '\xa5'));
  std::string foreign = good;
  foreign.replace(68, 4, "none");  // application_id (sqlite.org/fileformat2.html, 1.3)
  std::string newer = good;
  newer.replace(60, 4, std::string("\0\0\0\x63", 4));  // user_version
  struct Row {
    std::string name;
    std::string bytes;
    const char* says;
  };
  for (const Row& row :
       {Row{"text", std::string(9000, 'x'), "corrupt"}, Row{"a byte", "x", "corrupt"},
        Row{"short", good.substr(0, 100), "corrupt"}, Row{"truncated", good.substr(0, 4096), "corrupt"},
        Row{"torn", torn, "corrupt"}, Row{"foreign", foreign, "another program"}, Row{"newer", newer, "newer nrd"}}) {
    CAPTURE(row.name);
    write_bytes(folder.database(), row.bytes);
    CHECK(error_of(Store::open(folder.state())).message.find(row.says) != std::string::npos);
    CHECK(bytes_of(folder.database()) == row.bytes);
  }
  write_bytes(folder.database(), "");
  CHECK(Store::open(folder.state()));
}

TEST_CASE("a symbolic link in place of the database is refused") {
  const Folder folder;
  std::filesystem::create_directory(folder.state());
  std::filesystem::create_symlink("/etc/passwd", folder.database());
  CHECK_FALSE(Store::open(folder.state()));
}

TEST_CASE("a state directory may be a symbolic link") {
  const FilledFolder folder;
  std::filesystem::create_directory_symlink(folder.state(), folder.other());
  const auto store = value_of(Store::open(folder.other()));
  CHECK(loaded(*store).revision == 1);
}

TEST_CASE("a refused database keeps its log") {
  const FilledFolder folder;
  edit(folder.database(), "UPDATE node SET boot_id = 'of a newer nrd'; PRAGMA user_version = 99");
  const std::string database = bytes_of(folder.database());
  const std::string log = bytes_of(folder.database() + "-wal");
  REQUIRE_FALSE(log.empty());
  CHECK(error_of(Store::open(folder.state())).message.find("newer nrd") != std::string::npos);
  CHECK(bytes_of(folder.database()) == database);
  CHECK(bytes_of(folder.database() + "-wal") == log);
}

TEST_CASE("an unknown schema version is refused") {
  const FilledFolder folder;
  edit(folder.database(), "PRAGMA user_version = -1");
  CHECK_FALSE(Store::open(folder.state()));
}

TEST_CASE("a database from before the first release is refused with a remedy") {
  for (const int version : {1, 15}) {
    const FilledFolder folder;
    edit(folder.database(), ("PRAGMA user_version = " + std::to_string(version)).c_str());
    const std::string bytes = bytes_of(folder.database());
    CHECK(error_of(Store::open(folder.state())).message ==
          std::filesystem::canonical(folder.database()).string() +
              " was written by an nrd from before the first release (schema " + std::to_string(version) +
              "); move it and its -wal and -shm away, reboot to reset the hardware, and create the workloads again");
    CHECK(bytes_of(folder.database()) == bytes);
  }
}

TEST_CASE("an invalid row is reported") {
  for (const char* sql : {"UPDATE node SET next_id = 1", "DELETE FROM node", "DROP TABLE baseline"}) {
    CAPTURE(sql);
    const FilledFolder folder;
    edit(folder.database(), sql);
    const auto store = Store::open(folder.state());
    CHECK(error_of(store ? (*store)->load() : Result<Records>(Failure(store.error()))).code == ErrorCode::Store);
  }
}

TEST_CASE("a workload that could not be loaded is not stored") {
  const Folder folder;
  const auto store = *Store::open(folder.state());
  commit(*store, a_day()[0]);
  const Records before = loaded(*store);
  WorkloadRow torn = a_workload(3);
  torn.document.pop_back();
  const WorkloadRow twin = a_workload(3, "a");
  for (const WorkloadRow& workload : {a_workload(0), a_workload(4), torn, twin}) {
    Change change;
    change.next_id = 4;
    change.put = {workload};
    CHECK(store->commit(change).committed == Committed::NotDone);
    CHECK(loaded(*store) == before);
  }
}

TEST_CASE("the next id never goes back") {
  const Folder folder;
  const auto store = *Store::open(folder.state());
  commit(*store, a_day()[0]);
  commit(*store, Change{});
  CHECK(loaded(*store).next_id == 3);
}

TEST_CASE("reopening does not recreate a vanished database") {
  for (const bool is_emptied : {false, true}) {
    CAPTURE(is_emptied);
    const Folder folder;
    FailingVfs disk;
    const auto store = *Store::open(folder.state());
    commit(*store, a_day()[0]);
    disk.fail_at = disk.calls + 1;
    disk.error = SQLITE_IOERR_WRITE;
    REQUIRE(store->commit(a_day()[1]).committed == Committed::Unknown);
    std::filesystem::remove(folder.database());
    if (is_emptied) write_bytes(folder.database(), "");
    CHECK_FALSE(store->reopen());
    CHECK(store->commit(a_day()[1]).committed == Committed::NotDone);
  }
}

// released/NNNN.sql is a dump of a database of schema NNNN.
TEST_CASE("a database of each released schema is opened and has the newest schema then") {
  const auto tables = [](const std::string& path) {
    SqlResult<Connection> connection = Connection::open(path);
    REQUIRE(connection);
    SqlResult<Statement> statement = connection->prepare("SELECT sql FROM sqlite_schema ORDER BY name");
    REQUIRE(statement);
    std::vector<std::string> sql;
    while (statement->next().value()) sql.push_back(statement->text(0));
    return sql;
  };
  const Folder fresh;
  REQUIRE(Store::open(fresh.state()));
  for (int version = kFirstSchema; version <= kSchemaVersion; ++version) {
    CAPTURE(version);
    const Folder folder;
    std::filesystem::create_directory(folder.state());
    edit(folder.database(), bytes_of(NRD_RELEASED "00" + std::to_string(version) + ".sql").c_str());
    const Records records = loaded(*value_of(Store::open(folder.state())));
    CHECK(records.revision == 5);
    CHECK(records.next_id == 4);
    CHECK(records.workloads.size() == 2);
    CHECK(records.keys == std::vector{a_key("k1", 1)});
    CHECK(records.boot_id == "boot-1");
    CHECK(records.baselines.size() == 6);
    CHECK(records.operations.size() == 6);
    CHECK(tables(folder.database()) == tables(fresh.database()));
  }
  CHECK(std::size(kMigrations) == kSchemaVersion - kFirstSchema);
}

TEST_CASE("migration 17 renames the steps of device access") {
  const Folder folder;
  std::filesystem::create_directory(folder.state());
  edit(folder.database(), bytes_of(NRD_RELEASED "0016.sql").c_str());
  edit(folder.database(), R"(INSERT INTO onload VALUES ('operation', '9', '{"steps":[{"act":"close_door"},)"
                          R"({"act":"open_door","message":"\"act\":\"open_door\""}]}'))");
  const Records records = loaded(*value_of(Store::open(folder.state())));
  const auto is_it = [](const Document& document) { return document.id == DocumentId{"operation", "9"}; };
  const auto migrated = std::ranges::find_if(records.operations, is_it);
  REQUIRE(migrated != records.operations.end());
  CHECK(migrated->json == R"({"steps":[{"act":"close_device_access"},)"
                          R"({"act":"open_device_access","message":"\"act\":\"open_door\""}]})");
}

// How the disk fails from the n-th operation on.
struct Fault {
  int error;      // SQLITE_IOERR_WRITE, SQLITE_FULL
  bool for_good;  // until it is repaired
  bool apply;     // the failing operation has its effect all the same
};
constexpr Fault kFaults[] = {{SQLITE_IOERR_WRITE, false, false}, {SQLITE_IOERR_WRITE, false, true},
                             {SQLITE_IOERR_WRITE, true, false},  {SQLITE_IOERR_WRITE, true, true},
                             {SQLITE_FULL, false, false},        {SQLITE_FULL, false, true},
                             {SQLITE_FULL, true, false},         {SQLITE_FULL, true, true}};

std::string text_of(const Fault& fault) {
  return std::to_string(fault.error) + (fault.for_good ? ", for good" : "") + (fault.apply ? ", with its effect" : "");
}

uint64_t turn_of(const Fault& fault) { return static_cast<uint64_t>(&fault - std::begin(kFaults)); }

void break_at(FailingVfs& disk, uint64_t nth, const Fault& fault) {
  disk.calls = 0;
  disk.kinds.clear();
  disk.fail_at = nth;
  disk.error = fault.error;
  disk.for_good = fault.for_good;
  disk.apply = fault.apply;
}

// Which operations of a day on the disk there are.
std::string kinds_of_a_day() {
  const Folder folder;
  FailingVfs disk;
  const auto store = *Store::open(folder.state());
  disk.kinds.clear();
  for (const Change& change : a_day()) commit(*store, change);
  return disk.kinds;
}

std::string kinds_of_an_opening() {
  const Folder folder;
  FailingVfs disk;
  REQUIRE(Store::open(folder.state()));
  return disk.kinds;
}

// Operations on the disk fail, one or more each time. What commit() said must agree with what the store holds, now and
// after a kill; and what reopen() says is not believed from a disk that cannot sync.
TEST_CASE("the commit outcome is correct for every disk failure") {
  unsigned undone = 0;
  unsigned unknown_and_there = 0;
  unsigned unknown_and_not_there = 0;
  const std::string kinds = kinds_of_a_day();
  for (const Fault& fault : kFaults) {
    for (uint64_t nth = 1;; ++nth) {
      if (!is_struck(nth, kinds, turn_of(fault))) continue;
      CAPTURE(text_of(fault));
      CAPTURE(nth);
      const Folder folder;
      FailingVfs disk;
      auto store = *Store::open(folder.state());
      break_at(disk, nth, fault);
      Records expected;
      for (const Change& change : a_day()) {
        const Records before = expected;
        const CommitOutcome outcome = store->commit(change);
        if (outcome.committed == Committed::Unknown) {
          CHECK(store->commit(change).committed == Committed::NotDone);
          if (fault.for_good) {
            const Result<uint64_t> too_early = store->reopen();
            if (too_early) CHECK(*too_early == before.revision);
          }
          disk.fail_at = 0;
          const uint64_t revision = value_of(store->reopen());
          const bool is_there = revision == before.revision + 1;
          if (!is_there) CHECK(revision == before.revision);
          ++(is_there ? unknown_and_there : unknown_and_not_there);
          if (!is_there) CHECK(loaded(*store) == before);
        }
        expected = loaded(*store);
        if (outcome.committed == Committed::Done) CHECK(expected.revision == before.revision + 1);
        if (outcome.committed == Committed::NotDone) {
          ++undone;
          CHECK(expected == before);
          disk.fail_at = 0;  // there is room again
        }
        if (outcome.committed != Committed::Done) CHECK(after_a_kill(folder) == expected);
      }
      const bool struck = disk.calls >= nth;
      disk.fail_at = 0;
      CHECK(after_a_kill(folder) == expected);
      store.reset();
      CHECK(loaded(**Store::open(folder.state())) == expected);
      if (!struck) break;
    }
  }
  CHECK(undone > 4);
  CHECK(unknown_and_there > 4);
  CHECK(unknown_and_not_there > 4);
}

// The log is folded in before a commit. Each operation of the commit that does both fails in turn; those up to the
// first write to the log are the folding, and whatever it does the commit is done.
TEST_CASE("a failed checkpoint does not affect the outcome of a commit") {
  constexpr unsigned kCommitsBeforeFolding = 256;
  Change change;
  change.next_id = 3;
  change.put = {a_workload(1, "a")};
  const auto prepared = [&](const Folder& folder) {
    auto store = *Store::open(folder.state());
    for (unsigned i = 0; i < kCommitsBeforeFolding; ++i) commit(*store, change);
    return store;
  };
  uint64_t folding = 0;
  {
    const Folder folder;
    FailingVfs disk;
    const auto store = prepared(folder);
    disk.calls = 0;
    commit(*store, change);
    const uint64_t both = disk.calls;
    disk.calls = 0;
    commit(*store, change);
    // The first commit to an emptied log writes and syncs its header too.
    folding = both - disk.calls - 2;
  }
  CHECK(folding > 4);
  for (const bool apply : {false, true}) {
    for (const int error : {SQLITE_IOERR_WRITE, SQLITE_FULL}) {
      for (uint64_t nth = 1; nth <= folding; ++nth) {
        CAPTURE(apply);
        CAPTURE(error);
        CAPTURE(nth);
        const Folder folder;
        FailingVfs disk;
        const auto store = prepared(folder);
        break_at(disk, nth, {error, false, apply});
        CHECK(store->commit(change).committed == Committed::Done);
        CHECK(disk.calls >= nth);
        CHECK(loaded(*store).revision == kCommitsBeforeFolding + 1);
        CHECK(after_a_kill(folder) == loaded(*store));
      }
    }
  }
}

TEST_CASE("a directory can be opened after a first opening failed at any point") {
  const std::string kinds = kinds_of_an_opening();
  for (const Fault& fault : kFaults) {
    for (uint64_t nth = 1;; ++nth) {
      if (!is_struck(nth, kinds, turn_of(fault))) continue;
      CAPTURE(text_of(fault));
      CAPTURE(nth);
      const Folder folder;
      FailingVfs disk;
      break_at(disk, nth, fault);
      const bool was_opened = Store::open(folder.state()).has_value();
      const bool struck = disk.calls >= nth;
      disk.fail_at = 0;
      CHECK(loaded(*value_of(Store::open(folder.state()))) == Records{});
      if (!struck) {
        CHECK(was_opened);
        break;
      }
    }
  }
}

}  // namespace nrd::store::store_test
