#include "tests/unit/engine/fixtures.h"

#include <doctest/doctest.h>

#include <future>
#include <utility>
#include <vector>

namespace nrd::testing {

std::string picture(WayMask ways, unsigned width) {
  std::string text;
  for (unsigned way = 0; way < width; ++way) text += ways.contains(WayMask::run(way, 1)) ? '#' : '.';
  return text;
}

TransactionFixture::TransactionFixture(const NodeShape& shape, NodeConfig configured)
    : hardware(shape), config(std::move(configured)) {}

TransactionFixture::~TransactionFixture() = default;

void TransactionFixture::start() {
  transaction = std::make_unique<Transaction>(hardware, store, clock, config, [this] { note_memory_changed(); });
  REQUIRE(transaction->recover());
}

const NodeState& TransactionFixture::state() const { return transaction->state(); }

Result<Workload> TransactionFixture::apply(Command command) {
  const std::vector<Command> commands{std::move(command)};
  return transaction->apply(commands).front().map([](Done done) { return std::move(done.workload); });
}

Result<Workload> TransactionFixture::create(Spec spec) { return apply(CreateWorkload{std::move(spec)}); }

Result<Workload> TransactionFixture::patch(WorkloadId id, SpecPatch patch) {
  return apply(PatchWorkload{id, std::move(patch)});
}

Result<Workload> TransactionFixture::remove(WorkloadId id) { return apply(DeleteWorkload{id}); }

Result<Done> TransactionFixture::dry_run(const Command& command) { return transaction->dry_run(command); }

std::string TransactionFixture::drawn(unsigned clos, unsigned cache) const {
  const auto group = hardware.tree.rdt.classes.find(ClosId{clos});
  return group == hardware.tree.rdt.classes.end() ? "absent" : picture(group->second.ways.at(CacheId{3, cache}), 11);
}

std::string TransactionFixture::cpus(unsigned clos) const {
  const auto group = hardware.tree.rdt.classes.find(ClosId{clos});
  return group == hardware.tree.rdt.classes.end() ? "" : group->second.cpus.to_string();
}

void TransactionFixture::note_memory_changed() {
  memory_changed = true;
  memory_changed.notify_one();
}

void TransactionFixture::finish_memory_change() {
  memory_changed.wait(false);
  memory_changed = false;
  transaction->finish_memory_changes();
}

Result<Done> submit(Engine& engine, Command command) {
  std::promise<Result<Done>> promise;
  engine.submit(std::move(command), [&promise](Result<Done> outcome) { promise.set_value(std::move(outcome)); });
  return promise.get_future().get();
}

}  // namespace nrd::testing
