// The workloads of a node by id, in order. Read like a std::map of Workload.
//
// A copy costs a pointer, and revisions share every workload that did not change between them: a request changes one
// or a few of hundreds. Unchanged workloads are equal by their address, so comparing two revisions is cheap as well.
// A sorted array: a request visits all of them dozens of times, and changes them once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/invariant.h"
#include "base/shared.h"
#include "engine/model/workload.h"

namespace nrd {

class Workloads {
  struct Entry {
    WorkloadId id;
    std::shared_ptr<const Workload> workload;
  };
  using Index = std::vector<Entry>;

 public:
  Workloads() = default;
  explicit Workloads(std::vector<Workload> workloads) {
    Index index;
    index.reserve(workloads.size());
    for (Workload& workload : workloads) {
      const WorkloadId id = workload.id;
      index.push_back({id, std::make_shared<const Workload>(std::move(workload))});
    }
    std::ranges::sort(index, {}, &Entry::id);
    index_ = std::move(index);
  }

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
    reference operator*() const { return {at_->id, *at_->workload}; }
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
  Iterator find(WorkloadId id) const {
    const auto at = place_of(id);
    return Iterator(is_at(at, id) ? at : index_.end());
  }
  const Workload& at(WorkloadId id) const {
    const auto at = place_of(id);
    INVARIANT(is_at(at, id));
    return *at->workload;
  }
  bool contains(WorkloadId id) const { return is_at(place_of(id), id); }
  size_t size() const { return index_.size(); }
  bool empty() const { return index_.empty(); }
  // After the last one.
  WorkloadId next_id() const { return {empty() ? 1 : index_.get().back().id.value + 1}; }

  // The workloads that `before` lacks, or has with another content.
  std::vector<const Workload*> changed_since(const Workloads& before) const {
    std::vector<const Workload*> changed;
    auto old = before.index_.begin();
    for (const auto& [id, workload] : index_) {
      while (before.is_before(old, id)) ++old;
      const bool is_same = before.is_at(old, id) && (old->workload == workload || *old->workload == *workload);
      if (!is_same) changed.push_back(workload.get());
    }
    return changed;
  }

  // Each of these copies the array.
  void put(Workload workload) {
    const WorkloadId id = workload.id;
    Entry entry{id, std::make_shared<const Workload>(std::move(workload))};
    Index& index = index_.edit();
    const auto at = place_of(id);
    if (is_at(at, id)) {
      index[static_cast<size_t>(at - index.cbegin())] = std::move(entry);
    } else {
      index.insert(at, std::move(entry));
    }
  }
  void erase(WorkloadId id) {
    std::erase_if(index_.edit(), [id](const Entry& entry) { return entry.id == id; });
  }
  template <typename Predicate>
  void erase_if(Predicate is_erased) {
    std::erase_if(index_.edit(), [&is_erased](const Entry& entry) { return is_erased(*entry.workload); });
  }

  friend bool operator==(const Workloads& a, const Workloads& b) {
    return std::ranges::equal(a.index_.get(), b.index_.get(), [](const Entry& x, const Entry& y) {
      return x.workload == y.workload || (x.id == y.id && *x.workload == *y.workload);
    });
  }

 private:
  // The first that is not before `id`.
  Index::const_iterator place_of(WorkloadId id) const {
    return std::ranges::lower_bound(index_.get(), id, {}, &Entry::id);
  }
  bool is_at(Index::const_iterator at, WorkloadId id) const { return at != index_.end() && at->id == id; }
  bool is_before(Index::const_iterator at, WorkloadId id) const { return at != index_.end() && at->id < id; }

  Shared<Index> index_;
};

}  // namespace nrd
