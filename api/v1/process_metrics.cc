#include "api/v1/process_metrics.h"

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <memory>
#include <utility>

#include "base/file.h"
#include "base/number.h"
#include "base/split.h"

namespace nrd::v1 {
namespace {

using metrics::Family;
using metrics::Kind;
using metrics::one;

// Without the descriptor of the listing itself. nullopt if the folder cannot be read.
std::optional<double> open_descriptors() {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir("/proc/self/fd"), ::closedir);
  if (!folder) return std::nullopt;
  double count = -1;
  while (const dirent* entry = ::readdir(folder.get())) count += entry->d_name[0] == '.' ? 0 : 1;
  return count;
}

std::optional<double> most_descriptors() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return std::nullopt;
  return static_cast<double>(limit.rlim_cur);
}

std::optional<ProcessStat> own_stat() {
  const auto text = read_file("/proc/self/stat");
  if (!text || !*text) return std::nullopt;
  return parse_process_stat(**text, static_cast<double>(::sysconf(_SC_CLK_TCK)),
                            static_cast<double>(::sysconf(_SC_PAGESIZE)));
}

}  // namespace

std::optional<ProcessStat> parse_process_stat(std::string_view text, double ticks_per_second, double page_bytes) {
  const size_t name_end = text.rfind(')');  // the name may contain blanks and brackets
  if (name_end == text.npos) return std::nullopt;
  constexpr size_t kFirst = 3;  // the number of the field behind the name
  constexpr size_t kLast = 24;
  const std::vector<std::string_view> fields = split(text.substr(name_end + 1), " \n");
  if (fields.size() <= kLast - kFirst) return std::nullopt;
  const auto field = [&fields](size_t number) {
    return static_cast<double>(parse_number<uint64_t>(fields[number - kFirst]).value_or(0));
  };
  return ProcessStat{.cpu_seconds = (field(14) + field(15)) / ticks_per_second,
                     .threads = field(20),
                     .virtual_bytes = field(23),
                     .resident_bytes = field(24) * page_bytes};
}

void add_process(std::vector<Family>& families, double start_time) {
  const std::optional<ProcessStat> stat = own_stat();
  const auto of_stat = [&stat](double ProcessStat::*member) {
    return stat ? std::optional<double>((*stat).*member) : std::nullopt;
  };
  families.push_back(one(Kind::Counter, "process_cpu_seconds_total", "CPU time of nrd in user and kernel mode",
                         of_stat(&ProcessStat::cpu_seconds)));
  families.push_back(one(Kind::Gauge, "process_resident_memory_bytes", "Resident memory of nrd",
                         of_stat(&ProcessStat::resident_bytes)));
  families.push_back(
      one(Kind::Gauge, "process_virtual_memory_bytes", "Virtual memory of nrd", of_stat(&ProcessStat::virtual_bytes)));
  families.push_back(one(Kind::Gauge, "process_threads", "Threads of nrd", of_stat(&ProcessStat::threads)));
  families.push_back(one(Kind::Gauge, "process_open_fds", "Open file descriptors of nrd", open_descriptors()));
  families.push_back(one(Kind::Gauge, "process_max_fds", "Limit of open file descriptors of nrd", most_descriptors()));
  families.push_back(
      one(Kind::Gauge, "process_start_time_seconds", "Start of nrd in seconds since the epoch", start_time));
}

}  // namespace nrd::v1
