#include "hw/onload/kernel_log.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/socket.h>

#include <array>
#include <ostream>

#include "tests/unit/hw_onload_modules/folder.h"

namespace nrd::onload::kernel_log_test {

using nrd::testing::Folder;

namespace {

const std::vector<std::string> kModules{"onload", "sfc"};

bool kept(const std::string& text) { return is_about({.sequence = 1, .by_kernel = true, .text = text}, kModules); }

// One read gives one record, as /dev/kmsg does.
class Records {
 public:
  Records() {
    std::array<int, 2> ends{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()) == 0);
    writer_ = UniqueFd(ends[0]);
    reader_ = UniqueFd(ends[1]);
  }
  UniqueFd take_reader() { return std::move(reader_); }
  void write(uint64_t sequence, const std::string& text, unsigned priority = 3) {
    const std::string record = std::to_string(priority) + "," + std::to_string(sequence) + ",54060341,-;" + text + "\n";
    REQUIRE(::send(writer_.get(), record.data(), record.size(), 0) == static_cast<ssize_t>(record.size()));
  }
  void close() { writer_ = UniqueFd(); }

 private:
  UniqueFd writer_;
  UniqueFd reader_;
};

std::vector<uint64_t> numbers_of(const std::vector<LogLine>& lines) {
  std::vector<uint64_t> numbers;
  for (const LogLine& line : lines) numbers.push_back(line.sequence);
  return numbers;
}

}  // namespace

TEST_CASE("a record has a number, a facility and a text") {
  CHECK(parse_record("3,1203,54060341,-;[onload] hello; world\n").value() ==
        LogLine{1203, true, 3, "[onload] hello; world"});
  CHECK(parse_record("30,7,1,-,caller=T123;onload_cp_server[12]: up\n").value() ==
        LogLine{7, false, 6, "onload_cp_server[12]: up"});
  CHECK(parse_record("6,8,1,c;sfc: link up\n SUBSYSTEM=pci\n DEVICE=+pci:0000:01:00.0\n").value() ==
        LogLine{8, true, 6, "sfc: link up"});
  CHECK(parse_record("6,9,1,-;\n").value() == LogLine{9, true, 6, ""});
  CHECK(parse_record("6,18446744073709551615,1,-;x\n").value().sequence == ~uint64_t{0});
}

TEST_CASE("malformed records are skipped") {
  for (const char* record :
       {"", "\n", "3", "3,", "3,4", "3,4,5", "3,4,5,-", "3,4,5,-\n", "3,4,5,-;cut off", "x,4,5,-;t\n", "3,x,5,-;t\n",
        "3,4,x,-;t\n", "-3,4,5,-;t\n", "3,4,5,-\nx;t\n", "3,18446744073709551616,5,-;t\n", ",,,;\n"}) {
    INFO("record \"" << record << "\"");
    CHECK(parse_record(record) == std::nullopt);
  }
}

TEST_CASE("a line contains no control characters and is bounded") {
  CHECK(parse_record("3,1,1,-;a\x1b[31mb\xc2\x9b"
                     "c\n")
            .value()
            .text == "a?[31mb?c");
  CHECK(parse_record("3,1,1,-;" + std::string(9000, 'x') + "\n").value().text == std::string(512, 'x'));
}

TEST_CASE("lines about Onload and the modules of interest are kept") {
  for (const char* text :
       {"[sfc efrm] init_sfc_resource: ERROR: failed to find syscall table", "[onload] Onload 9.0.2",
        "[sfc efhw] hardware init failed (eth0, attempts 1, rc=-95)", "[sfc_char] loaded",
        "onload: Unknown symbol efrm_vi (err -2)", "sfc 0000:01:00.0 eth0: link up",
        "sfc: version magic '6.1.0 SMP' should be '6.1.0-56-amd64 SMP'", "onload: loading out-of-tree module",
        "Loading of unsigned module is rejected", "Lockdown: nrd: unsigned module loading is restricted"}) {
    INFO("line \"" << text << "\"");
    CHECK(kept(text));
  }
  for (const char* text : {"", "onload", "sfcx: hello", "usb 1-1: new device", "e1000e: onload: no", "[onload]: x",
                           "[onload][1]: x", "a[4711]: segfault at 0 in [onload] ERROR: x", "feed[7]: Lockdown: x"}) {
    INFO("line \"" << text << "\"");
    CHECK_FALSE(kept(text));
  }
}

TEST_CASE("an Onload error is recognised by level, facility and leading tag") {
  const auto is_one = [](const std::string& record) { return is_error(parse_record(record).value()); };
  CHECK(is_one("3,1,1,-;[onload] onload_module_init: ERROR: failed (-5)\n"));
  CHECK(is_one("3,1,1,-;[onload] ERROR: failed to create control plane protocol instance: rc=-2\n"));
  CHECK(is_one("2,1,1,-;[sfc efrm] init_sfc_resource: ERROR: failed to find syscall table\n"));
  // A program that calls itself "[onload] ERROR:" crashes, and the kernel names it (arch/x86/mm/fault.c, KERN_INFO).
  CHECK_FALSE(is_one("6,1,1,-;[onload] ERROR:[4711]: segfault at 0 ip 0 sp 0 error 4 in x[1000+2000]\n"));
  CHECK_FALSE(is_one("4,1,1,-;[onload] ERROR: (4711): attempted to duplicate a private mapping with mremap\n"));
  CHECK_FALSE(is_one("11,1,1,-;[onload] ERROR: written to /dev/kmsg\n"));
  CHECK_FALSE(is_one("3,1,1,-;Out of memory: Killed process 4711 ([onload] ERROR:)\n"));
  CHECK_FALSE(is_one("3,1,1,-;e1000e: [onload] ERROR: x\n"));
  CHECK_FALSE(is_one("3,1,1,-;[onload] up\n"));
}

TEST_CASE("crash messages of the kernel are not taken as a cause") {
  CHECK(is_evidence(parse_record("4,1,1,-;onload: Unknown symbol x (err -2)\n").value()));
  CHECK(is_evidence(parse_record("5,1,1,-;Lockdown: nrd: unsigned module loading is restricted\n").value()));
  CHECK_FALSE(is_evidence(parse_record("6,1,1,-;onload: ibt=off[4711]: segfault at 0\n").value()));
  CHECK_FALSE(is_evidence(parse_record("12,1,1,-;onload: Unknown symbol x (err -2)\n").value()));
}

TEST_CASE("a program's line counts only with a tag") {
  CHECK(is_about({.by_kernel = false, .text = "onload_cp_server[7]: ready"}, kModules));
  CHECK_FALSE(is_about({.by_kernel = false, .text = "[onload] ERROR: x"}, kModules));
  CHECK_FALSE(is_about({.by_kernel = false, .text = "onload: Unknown symbol x (err -2)"}, kModules));
  CHECK_FALSE(is_about({.by_kernel = false, .text = "Lockdown: not really"}, kModules));
}

TEST_CASE("reading continues where it stopped") {
  Records records;
  KernelLog log(records.take_reader());
  CHECK(log.read(kModules).value().empty());
  records.write(5, "[onload] one");
  records.write(6, "usb 1-1: new device");
  records.write(7, "sfc: two", 6);
  CHECK(log.read(kModules).value() == std::vector<LogLine>{{5, true, 3, "[onload] one"}, {7, true, 6, "sfc: two"}});
  CHECK(log.read(kModules).value().empty());
  records.write(8, "[onload] three");
  records.close();
  CHECK(numbers_of(log.read(kModules).value()) == std::vector<uint64_t>{8});
  CHECK(log.read(kModules).value().empty());
}

TEST_CASE("only the last lines are kept") {
  Records records;
  KernelLog log(records.take_reader());
  std::vector<uint64_t> last;
  for (uint64_t sequence = 0; sequence < 100; ++sequence) {
    records.write(sequence, "[onload] line");
    if (sequence >= 100 - KernelLog::kKeptLimit) last.push_back(sequence);
  }
  CHECK(numbers_of(log.read(kModules).value()) == last);
}

TEST_CASE("a log is opened at its end, and a missing one is an error") {
  Folder folder;
  folder.put("kmsg", "3,1,1,-;[onload] before\n");
  KernelLog log = KernelLog::open(folder.path("kmsg")).value();
  CHECK(log.read(kModules).value().empty());
  folder.put("kmsg", "3,1,1,-;[onload] before\n3,2,1,-;[onload] after\n");
  CHECK(numbers_of(log.read(kModules).value()) == std::vector<uint64_t>{2});
  const Result<KernelLog> gone = KernelLog::open(folder.path("gone"));
  REQUIRE_FALSE(gone.has_value());
  CHECK(gone.error().message == "cannot read the kernel log");
  folder.folder("folder");
  KernelLog no_log(UniqueFd(::open(folder.path("folder").c_str(), O_RDONLY | O_CLOEXEC)));
  CHECK_FALSE(no_log.read(kModules).has_value());
}

}  // namespace nrd::onload::kernel_log_test
