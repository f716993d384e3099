// The files of resctrl that have to do with monitoring, over the rules of monitoring.h: mon_groups and mon_data of each
// class, all below mon_groups, and info/L3_MON.
#pragma once

#include "monitoring.h"
#include "tree.h"

namespace nrd::simnode {

class MonitorTree : public Tree {
 public:
  MonitorTree(const Machine& machine, Resctrl& resctrl)
      : machine_(machine), resctrl_(resctrl), monitoring_(machine, resctrl) {}

  // Whether `path` is for this tree to answer, whether there is such a file or not. Nothing is where nothing is
  // counted.
  bool owns(const std::string& path) const;
  Monitoring& monitoring() { return monitoring_; }

  std::optional<mode_t> mode(const std::string& path) override;
  std::vector<std::string> list(const std::string& folder) override;
  int read(const std::string& path, std::string& content) override;
  int write(const std::string& path, std::string_view text, pid_t writer) override;
  int make_folder(const std::string& path, pid_t writer) override;
  int remove_folder(const std::string& path, pid_t writer) override;

 private:
  std::optional<std::string> content(const std::string& path);
  std::string all_counters() const;
  std::map<std::string, std::set<int>> counted_folders() const;  // and the domains that each is the sum of
  std::string sum(const std::string& group, const std::set<int>& domains, const std::string& counter);
  std::optional<std::string> info(const std::string& file) const;
  std::vector<std::string> groups_in(const std::string& folder);

  const Machine& machine_;
  Resctrl& resctrl_;
  Monitoring monitoring_;
  std::optional<long> threshold_;  // max_threshold_occupancy, once it was written
};

}  // namespace nrd::simnode
