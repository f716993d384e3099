#include "faults.h"

#include <sys/stat.h>

#include <cerrno>
#include <csignal>
#include <thread>

namespace nrd::simnode {

void Faults::reset() {
  writes_ = 0;
  log_.clear();
  write_faults_.clear();
  read_faults_.clear();
}

int Faults::count(std::string what, pid_t writer, const std::function<int()>& apply) {
  log_.push_back(std::move(what));
  const auto found = write_faults_.find(++writes_);
  if (found == write_faults_.end()) return apply();
  const Fault fault = found->second;
  write_faults_.erase(found);
  int answer = 0;
  switch (fault.kind) {
    case Fault::Kind::Errno: return fault.error;
    case Fault::Kind::Lie: return 0;
    case Fault::Kind::KillBefore: kill(writer, SIGKILL); return EINTR;
    case Fault::Kind::KillAfter:
      answer = apply();
      kill(writer, SIGKILL);
      return answer;
    case Fault::Kind::Delay:
      // Blocks all callers, as the kernel's single rdtgroup_mutex does.
      std::this_thread::sleep_for(fault.delay);
      return apply();
  }
  return answer;
}

int Faults::take_read_fault(const std::string& path) {
  const auto found = read_faults_.find(path);
  if (found == read_faults_.end()) return 0;
  const int error = found->second;
  read_faults_.erase(found);
  return error;
}

std::optional<mode_t> FaultyTree::mode(const std::string& path) {
  if (!promised_.empty() && path == promised_) {
    promised_.clear();
    return S_IFDIR | 0755;
  }
  return below_.mode(path);
}

int FaultyTree::read(const std::string& path, std::string& content) {
  const int error = faults_.take_read_fault(prefix_ + path);
  return error == 0 ? below_.read(path, content) : error;
}

int FaultyTree::write(const std::string& path, std::string_view text, pid_t writer) {
  return faults_.count("write " + prefix_ + path + " " + std::string(text), writer,
                       [this, &path, text, writer] { return below_.write(path, text, writer); });
}

int FaultyTree::make_folder(const std::string& path, pid_t writer) {
  const int answer = faults_.count("mkdir " + prefix_ + path, writer,
                                   [this, &path, writer] { return below_.make_folder(path, writer); });
  if (answer == 0 && !below_.mode(path)) promised_ = path;
  return answer;
}

int FaultyTree::remove_folder(const std::string& path, pid_t writer) {
  return faults_.count("rmdir " + prefix_ + path, writer,
                       [this, &path, writer] { return below_.remove_folder(path, writer); });
}

}  // namespace nrd::simnode
