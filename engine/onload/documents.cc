#include "engine/onload/documents.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <tuple>

#include "base/json/fields.h"
#include "engine/onload/spec_fields.h"

namespace nrd {

template <>
inline constexpr auto json::kFields<onload::Generation> = std::tuple(Field("number", &onload::Generation::number),
                                                                     Field("spec", &onload::Generation::spec),
                                                                     Field("created", &onload::Generation::created),
                                                                     Field("verdict", &onload::Generation::verdict),
                                                                     Field("verified", &onload::Generation::verified));

template <>
inline constexpr auto json::kFields<onload::Step> = std::tuple(
    Field("act", &onload::Step::act), Field("subject", &onload::Step::subject).or_default(),
    Field("progress", &onload::Step::progress), Field("started", &onload::Step::started),
    Field("finished", &onload::Step::finished), Field("cause", &onload::Step::cause).or_default(),
    Field("message", &onload::Step::message).or_default(), Field("kernel", &onload::Step::kernel).or_default());

template <>
inline constexpr auto json::kFields<onload::NotedInterface> = std::tuple(Field("pci", &onload::NotedInterface::pci),
                                                                         Field("mac", &onload::NotedInterface::mac),
                                                                         Field("name", &onload::NotedInterface::name));

template <>
inline constexpr auto json::kFields<onload::Operation> = std::tuple(
    Field("id", &onload::Operation::id), Field("generation", &onload::Operation::generation),
    Field("fallback", &onload::Operation::fallback), Field("outcome", &onload::Operation::outcome),
    Field("started", &onload::Operation::started), Field("finished", &onload::Operation::finished),
    Field("cause", &onload::Operation::cause).or_default(), Field("message", &onload::Operation::message).or_default(),
    Field("steps", &onload::Operation::steps).or_default(), Field("kind", &onload::Operation::kind),
    Field("users", &onload::Operation::users).or_default(), Field("drain_s", &onload::Operation::drain).or_default(),
    Field("interfaces", &onload::Operation::interfaces).or_default());

template <>
inline constexpr auto json::kFields<onload::Allocation> = std::tuple(
    Field("id", &onload::Allocation::id), Field("owner", &onload::Allocation::owner),
    Field("generation", &onload::Allocation::generation), Field("version", &onload::Allocation::version),
    Field("created", &onload::Allocation::created), Field("origin", &onload::Allocation::origin).or_default());

template <>
inline constexpr auto json::kFields<onload::InterfaceSpec> = std::tuple(
    Field("pci", &onload::InterfaceSpec::pci), Field("mac", &onload::InterfaceSpec::mac),
    Field("accelerated", &onload::InterfaceSpec::accelerated), Field("registered", &onload::InterfaceSpec::registered));

}  // namespace nrd

namespace nrd::onload {
namespace {

constexpr const char* kFreeze = "freeze";
constexpr const char* kDrained = "drained";  // without content: it exists while new users are blocked
constexpr const char* kGeneration = "generation";
constexpr const char* kOperation = "operation";
constexpr const char* kAllocation = "allocation";
constexpr const char* kInterface = "interface";

std::string key_of(const Freeze&) { return {}; }
std::string key_of(const Generation& generation) { return std::to_string(generation.number); }
std::string key_of(const Operation& operation) { return std::to_string(operation.id); }
std::string key_of(const Allocation& allocation) { return std::to_string(allocation.id); }
std::string key_of(const InterfaceSpec& spec) { return fmt::format("{} {}", spec.pci, spec.mac); }

template <typename Item>
void put(store::DocumentChange& change, const char* kind, const Item& item) {
  change.put.push_back({{kind, key_of(item)}, json::to_json(item)});
}

template <typename Item>
void put_all(store::DocumentChange& change, const char* kind, const std::vector<Item>& items) {
  for (const Item& item : items) put(change, kind, item);
}

void remove_all(store::DocumentChange& change, const char* kind, const std::vector<uint64_t>& numbers) {
  for (const uint64_t number : numbers) change.removed.push_back({kind, std::to_string(number)});
}

template <typename Item>
Result<Item> item_of(const store::Document& document) {
  Item item = TRY(json::from_json<Item>(document.json));
  if (key_of(item) == document.id.key) return item;
  return fail(ErrorCode::Store, "the document belongs to key \"" + key_of(item) + "\"");
}

template <typename Item>
Result<void> add(std::vector<Item>& items, const store::Document& document) {
  items.push_back(TRY(item_of<Item>(document)));
  return {};
}

Result<void> add(Stored& stored, const store::Document& document) {
  const std::string& kind = document.id.kind;
  if (kind == kFreeze) stored.freeze = TRY(item_of<Freeze>(document));
  if (kind == kDrained) stored.drained = true;
  if (kind == kGeneration) return add(stored.generations, document);
  if (kind == kOperation) return add(stored.operations, document);
  if (kind == kAllocation) return add(stored.allocations, document);
  if (kind == kInterface) return add(stored.interfaces, document);
  return {};
}

}  // namespace

store::DocumentChange to_documents(const Change& change) {
  store::DocumentChange documents;
  if (change.freeze) put(documents, kFreeze, *change.freeze);
  if (change.drained == true) documents.put.push_back({{kDrained, {}}, "{}"});
  if (change.drained == false) documents.removed.push_back({kDrained, {}});
  remove_all(documents, kGeneration, change.removed_generations);
  remove_all(documents, kOperation, change.removed_operations);
  remove_all(documents, kAllocation, change.removed_allocations);
  put_all(documents, kGeneration, change.generations);
  put_all(documents, kOperation, change.operations);
  put_all(documents, kAllocation, change.allocations);
  put_all(documents, kInterface, change.interfaces);
  return documents;
}

Result<Stored> from_documents(const std::vector<store::Document>& documents) {
  Stored stored;
  for (const store::Document& document : documents) {
    if (const Result<void> added = add(stored, document); !added) {
      return fail(
          ErrorCode::Store, "the store contains an invalid record of Onload; restore a backup",
          fmt::format("{} {}: {} {}", document.id.kind, document.id.key, added.error().field, added.error().message));
    }
  }
  std::ranges::sort(stored.generations, {}, &Generation::number);  // the store orders numbers as texts
  std::ranges::sort(stored.operations, {}, &Operation::id);
  std::ranges::sort(stored.allocations, {}, &Allocation::id);
  return stored;
}

}  // namespace nrd::onload
