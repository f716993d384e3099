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
#include "tests/unit/store/failing_vfs.h"

using namespace nrd;
using namespace nrd::store;
using nrd::testing::FailingVfs;

namespace {

class Folder {
 public:
  Folder() {
    std::string name = "/tmp/nrd-store-XXXXXX";
    path_ = ::mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string state() const { return path_ + "/state"; }
  std::string database() const { return state() + "/nrd.db"; }

 private:
  std::string path_;
};

WorkloadRecord a_workload(uint64_t id, const std::string& uuid = "") {
  return {.id = WorkloadId{id},
          .uuid = uuid,
          .origin = "REST",
          .core_ids = {"4-7", "9", "4"},
          .max_ways = 3,
          .min_ways = 1,
          .pool = "besteffort",
          .clos = ClosId{2},
          .ways = {{CacheId{0}, WayMask(0x30)}, {CacheId{7}, WayMask(0xffffffff)}},
          .created = Time(std::chrono::milliseconds(1700000000123)),
          .updated = Time(std::chrono::milliseconds(1700000000456))};
}

std::vector<Change> a_day() {
  Change first;
  first.next_id = 3;
  first.put = {a_workload(1, "a"), a_workload(2)};
  first.new_boot_id = "boot-1";
  first.ways_baselines = {{ClosId{0}, CacheId{0}, WayMask(0x7ff)}, {ClosId{2}, CacheId{0}, WayMask(0x7ff)}};
  first.cpu_baselines = {{CpuId{4}, ClosId{0}}};
  Change second;
  second.next_id = 4;
  second.put = {a_workload(3, "a")};
  second.removed = {WorkloadId{1}};
  Change third;
  third.next_id = 4;
  third.put = {a_workload(2, "b")};
  third.new_boot_id = "boot-2";
  return {first, second, third};
}

Records loaded(Store& store) {
  Result<Records> records = store.load();
  REQUIRE(records);
  return *records;
}

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

}  // namespace

TEST_CASE("what was committed is loaded again as it was") {
  const Folder folder;
  {
    const auto store = *Store::open(folder.state());
    CHECK(loaded(*store) == Records{});
    for (const Change& change : a_day()) REQUIRE(store->commit(change).committed == Committed::Done);
  }
  const auto store = *Store::open(folder.state());
  const Records records = loaded(*store);
  CHECK(records.revision == 3);
  CHECK(records.next_id == 4);
  CHECK(records.workloads == std::vector{a_workload(2, "b"), a_workload(3, "a")});
  CHECK(records.baselines == Baselines{.boot_id = "boot-2", .ways = {}, .cpus = {}});
}

TEST_CASE("baselines of one boot add up and another boot replaces them") {
  const Folder folder;
  const auto store = *Store::open(folder.state());
  REQUIRE(store->commit(a_day()[0]).committed == Committed::Done);
  Change more;
  more.next_id = 3;
  more.cpu_baselines = {{CpuId{1}, ClosId{0}}};
  REQUIRE(store->commit(more).committed == Committed::Done);
  CHECK(loaded(*store).baselines.boot_id == "boot-1");
  CHECK(loaded(*store).baselines.ways.size() == 2);
  CHECK(loaded(*store).baselines.cpus == std::vector{CpuBaseline{CpuId{1}, ClosId{0}}, CpuBaseline{CpuId{4}, ClosId{0}}});
}

TEST_CASE("only root reads the database") {
  const Folder folder;
  const auto store = *Store::open(folder.state());
  struct stat status = {};
  REQUIRE(::stat(folder.database().c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);
}

TEST_CASE("a second opener is refused while the first lives") {
  const Folder folder;
  {
    const auto first = *Store::open(folder.state());
    const auto second = Store::open(folder.state());
    REQUIRE_FALSE(second);
    CHECK(second.error().code == ErrorCode::Busy);
  }
  CHECK(Store::open(folder.state()));
}

TEST_CASE("a file that is not ours or not whole is refused and stays as it is") {
  const Folder folder;
  { REQUIRE((*Store::open(folder.state()))->commit(a_day()[0]).committed == Committed::Done); }
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
  for (const Row& row : {Row{"text", std::string(9000, 'x'), "corrupt"}, Row{"a byte", "x", "corrupt"},
                         Row{"short", good.substr(0, 100), "corrupt"}, Row{"truncated", good.substr(0, 4096), "corrupt"},
                         Row{"torn", torn, "corrupt"}, Row{"foreign", foreign, "another program"},
                         Row{"newer", newer, "newer nrd"}}) {
    CAPTURE(row.name);
    write_bytes(folder.database(), row.bytes);
    const auto store = Store::open(folder.state());
    REQUIRE_FALSE(store);
    CHECK(store.error().message.find(row.says) != std::string::npos);
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

TEST_CASE("a row that makes no sense is reported, not guessed at") {
  const Folder folder;
  { REQUIRE((*Store::open(folder.state()))->commit(a_day()[0]).committed == Committed::Done); }
  sqlite3* other = nullptr;
  REQUIRE(sqlite3_open(folder.database().c_str(), &other) == SQLITE_OK);
  REQUIRE(sqlite3_exec(other, "UPDATE node SET next_id = 1", nullptr, nullptr, nullptr) == SQLITE_OK);
  sqlite3_close(other);
  const auto store = *Store::open(folder.state());
  const auto records = store->load();
  REQUIRE_FALSE(records);
  CHECK(records.error().code == ErrorCode::Store);
}

TEST_CASE("the migrations lead to the schema") {
  const auto tables = [](const std::string& path) {
    Connection connection;
    REQUIRE(Connection::open(path, connection).ok());
    Statement statement;
    REQUIRE(connection.prepare("SELECT sql FROM sqlite_schema ORDER BY name", statement).ok());
    std::vector<std::string> sql;
    while (statement.next()) sql.push_back(statement.text(0));
    return sql;
  };
  const Folder folder;
  REQUIRE(Store::open(folder.state()));
  const std::string whole = folder.state() + "/whole.db";
  {
    Connection connection;
    REQUIRE(Connection::open(whole, connection).ok());
    REQUIRE(connection.execute(kSchema).ok());
  }
  CHECK(tables(folder.database()) == tables(whole));
  CHECK(std::size(kMigrations) == kSchemaVersion);
}

// Every operation on the disk fails once, or from then on, with and without having had its effect. What commit() said
// must agree with what the store holds when it is opened again.
TEST_CASE("whatever the disk does, the outcome of a commit is the truth") {
  unsigned unknowns = 0;
  for (const int error : {SQLITE_IOERR_WRITE, SQLITE_FULL}) {
    for (const bool for_good : {false, true}) {
      for (const bool apply : {false, true}) {
        for (uint64_t nth = 1;; ++nth) {
          CAPTURE(error);
          CAPTURE(for_good);
          CAPTURE(apply);
          CAPTURE(nth);
          const Folder folder;
          FailingVfs disk;
          auto store = *Store::open(folder.state());
          disk.calls = 0;
          disk.fail_at = nth;
          disk.error = error;
          disk.for_good = for_good;
          disk.apply = apply;
          Records expected;
          for (const Change& change : a_day()) {
            const Records before = expected;
            const CommitOutcome outcome = store->commit(change);
            disk.for_good = for_good && outcome.committed == Committed::Done;
            if (outcome.committed != Committed::Done) disk.fail_at = 0;
            if (outcome.committed == Committed::Unknown) {
              ++unknowns;
              CHECK(store->commit(change).committed == Committed::NotDone);
              const Result<uint64_t> revision = store->reopen();
              REQUIRE_MESSAGE(revision, (revision ? "" : revision.error().message + revision.error().detail));
              const bool is_old_or_new = *revision == before.revision || *revision == before.revision + 1;
              CHECK(is_old_or_new);
            }
            expected = loaded(*store);
            if (outcome.committed == Committed::Done) CHECK(expected.revision == before.revision + 1);
            if (outcome.committed == Committed::NotDone) CHECK(expected == before);
          }
          const uint64_t calls = disk.calls;
          disk.fail_at = 0;
          store.reset();
          CHECK(loaded(**Store::open(folder.state())) == expected);
          if (calls < nth) break;
        }
      }
    }
  }
  CHECK(unknowns > 4);
}
