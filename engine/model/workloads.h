// The workloads of a node by id, in order. Read like a std::map of Workload.
//
// A copy costs a pointer, and revisions share every workload that did not change between them: a request changes one
// or a few of hundreds. Unchanged workloads are equal by their address, so comparing two revisions is cheap as well.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/shared.h"
#include "engine/model/workload.h"

namespace nrd {

class Workloads {
 public:
  using Index = std::map<WorkloadId, std::shared_ptr<const Workload>>;

  class Iterator {
   public:
    using value_type = std::pair<const WorkloadId&, const Workload&>;
    using reference = value_type;
    using difference_type = std::ptrdiff_t;
    using iterator_category = std::input_iterator_tag;
    struct Arrow {
      value_type entry;
      const value_type* operator->() const { return &entry; }
    };

    Iterator() = default;
    explicit Iterator(Index::const_iterator at) : at_(at) {}
    reference operator*() const { return {at_->first, *at_->second}; }
    Arrow operator->() const { return {**this}; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    Iterator operator++(int) { return Iterator(at_++); }
    friend bool operator==(const Iterator&, const Iterator&) = default;

   private:
    Index::const_iterator at_{};
  };

  Iterator begin() const { return Iterator(index_.begin()); }
  Iterator end() const { return Iterator(index_.end()); }
  Iterator find(WorkloadId id) const { return Iterator(index_.find(id)); }
  const Workload& at(WorkloadId id) const { return *index_.at(id); }
  bool contains(WorkloadId id) const { return index_.contains(id); }
  size_t size() const { return index_.size(); }
  bool empty() const { return index_.empty(); }
  // After the last one.
  WorkloadId next_id() const { return {empty() ? 1 : index_.get().rbegin()->first.value + 1}; }

  // The workloads that `before` lacks, or has with another content.
  std::vector<const Workload*> changed_since(const Workloads& before) const {
    std::vector<const Workload*> changed;
    for (const auto& [id, workload] : index_) {
      const auto old = before.index_.find(id);
      const bool is_same = old != before.index_.end() && (old->second == workload || *old->second == *workload);
      if (!is_same) changed.push_back(workload.get());
    }
    return changed;
  }

  // Each of these copies the index; edit() is for many changes at once, and valid until this is copied.
  void put(Workload workload) {
    const WorkloadId id = workload.id;
    index_.edit()[id] = std::make_shared<const Workload>(std::move(workload));
  }
  void erase(WorkloadId id) { index_.edit().erase(id); }
  Index& edit() { return index_.edit(); }

  friend bool operator==(const Workloads& a, const Workloads& b) {
    return std::ranges::equal(a.index_.get(), b.index_.get(), [](const auto& x, const auto& y) {
      return x.second == y.second || (x.first == y.first && *x.second == *y.second);
    });
  }

 private:
  SharedMap<WorkloadId, std::shared_ptr<const Workload>> index_;
};

}  // namespace nrd
