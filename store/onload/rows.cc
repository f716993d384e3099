#include "store/onload/rows.h"

#include <utility>

#include "store/columns.h"

namespace nrd::store {
namespace {

constexpr const char* kChange = "change";

std::optional<Time> optional_time(const Statement& row, int column) {
  return row.is_null(column) ? std::nullopt : std::optional(from_ms(row.integer(column)));
}

std::optional<bool> optional_bool(const Statement& row, int column) {
  return row.is_null(column) ? std::nullopt : std::optional(row.integer(column) != 0);
}

std::optional<int64_t> optional_number(const std::optional<bool>& value) {
  return value ? std::optional<int64_t>(*value ? 1 : 0) : std::nullopt;
}

std::optional<int64_t> optional_ms(const std::optional<Time>& time) {
  return time ? std::optional(to_ms(*time)) : std::nullopt;
}

class Reader {
 public:
  Reader(Connection& connection, std::string& complaint) : connection_(connection), complaint_(complaint) {}

  OnloadRecords read() {
    each_row("SELECT frozen, reason FROM onload", [this](const Statement& row) {
      records_.frozen = row.integer(0) != 0;
      records_.reason = row.text(1);
    });
    each_row("SELECT 1 FROM onload_drained", [this](const Statement&) { records_.drained = true; });
    read_generations();
    read_operations();
    read_allocations();
    read_interfaces();
    return std::move(records_);
  }

 private:
  template <typename ReadRow>
  void each_row(const char* sql, ReadRow read_row) {
    Statement statement;
    if (const SqlError error = connection_.prepare(sql, statement); !error.ok()) return complain(error.text);
    while (statement.next()) read_row(statement);
    if (!statement.error().ok()) complain(statement.error().text);
  }
  void complain(const std::string& what) {
    if (complaint_.empty()) complaint_ = what;
  }

  void read_generations() {
    std::map<int64_t, OnloadGenerationRecord> by_number;
    each_row(
        "SELECT number, state, version, sfc, users, drain_s, on_failure, created_ms, verdict, verified_ms"
        " FROM onload_generation",
        [&](const Statement& row) {
          by_number[row.integer(0)] = {.number = as_u64(row.integer(0)),
                                       .state = row.text(1),
                                       .version = row.text(2),
                                       .sfc = row.text(3),
                                       .users = row.text(4),
                                       .drain = std::chrono::seconds(row.integer(5)),
                                       .on_failure = row.text(6),
                                       .created = from_ms(row.integer(7)),
                                       .verdict = row.text(8),
                                       .verified = optional_time(row, 9)};
        });
    each_row("SELECT generation, module, name, value FROM onload_parameter", [&](const Statement& row) {
      by_number[row.integer(0)].parameters[row.text(1)][row.text(2)] = row.text(3);
    });
    each_row("SELECT generation, word FROM onload_control_plane ORDER BY generation, position",
             [&](const Statement& row) { by_number[row.integer(0)].control_plane.push_back(row.text(1)); });
    for (auto& [number, generation] : by_number) {
      if (generation.number == 0)
        complain("parameters of generation " + std::to_string(number) + ", which there is not");
      records_.generations.push_back(std::move(generation));
    }
  }

  void read_operations() {
    std::map<int64_t, OnloadOperationRecord> by_id;
    each_row("SELECT id, generation, fallback, outcome, started_ms, finished_ms, cause, message FROM onload_operation",
             [&](const Statement& row) {
               OnloadOperationRecord& operation = by_id[row.integer(0)];
               operation = {.id = as_u64(row.integer(0)),
                            .generation = as_u64(row.integer(1)),
                            .outcome = row.text(3),
                            .started = from_ms(row.integer(4)),
                            .finished = optional_time(row, 5),
                            .cause = row.text(6),
                            .message = row.text(7)};
               if (!row.is_null(2)) operation.fallback = as_u64(row.integer(2));
             });
    each_row(
        "SELECT operation, act, subject, progress, started_ms, finished_ms, cause, message, kernel"
        " FROM onload_step ORDER BY operation, position",
        [&](const Statement& row) {
          by_id[row.integer(0)].steps.push_back({.act = row.text(1),
                                                 .subject = row.text(2),
                                                 .progress = row.text(3),
                                                 .started = from_ms(row.integer(4)),
                                                 .finished = optional_time(row, 5),
                                                 .cause = row.text(6),
                                                 .message = row.text(7),
                                                 .kernel = row.text(8)});
        });
    each_row("SELECT operation, errand, users, drain_s FROM onload_errand", [&](const Statement& row) {
      OnloadOperationRecord& operation = by_id[row.integer(0)];
      operation.errand = row.text(1);
      operation.users = row.text(2);
      operation.drain = std::chrono::seconds(row.integer(3));
    });
    each_row("SELECT operation, pci, mac, name FROM onload_noted_interface ORDER BY operation, name",
             [&](const Statement& row) {
               by_id[row.integer(0)].interfaces.push_back({row.text(1), row.text(2), row.text(3)});
             });
    for (auto& [id, operation] : by_id) {
      if (operation.id == 0) complain("steps of operation " + std::to_string(id) + ", which there is not");
      records_.operations.push_back(std::move(operation));
    }
  }

  void read_allocations() {
    each_row("SELECT id, pid, start, boot_id, generation, version, created_ms FROM onload_allocation ORDER BY id",
             [this](const Statement& row) {
               const Owner owner{
                   .pid = static_cast<pid_t>(row.integer(1)), .start = as_u64(row.integer(2)), .boot_id = row.text(3)};
               records_.allocations.push_back({.id = as_u64(row.integer(0)),
                                               .owner = owner,
                                               .generation = as_u64(row.integer(4)),
                                               .version = row.text(5),
                                               .created = from_ms(row.integer(6))});
             });
  }

  void read_interfaces() {
    each_row("SELECT pci, mac, accelerated, registered FROM onload_interface ORDER BY pci, mac",
             [this](const Statement& row) {
               records_.interfaces.push_back({.pci = row.text(0),
                                              .mac = row.text(1),
                                              .accelerated = optional_bool(row, 2),
                                              .registered = optional_bool(row, 3)});
             });
  }

  Connection& connection_;
  std::string& complaint_;
  OnloadRecords records_;
};

}  // namespace

SqlError OnloadStatements::prepare(Connection& connection) {
  const std::pair<Statement*, const char*> all[] = {
      {&freeze_, "UPDATE onload SET frozen = ?, reason = ?"},
      {&drain_, "INSERT OR IGNORE INTO onload_drained (only_row) VALUES (1)"},
      {&undrain_, "DELETE FROM onload_drained"},
      {&errand_, "INSERT INTO onload_errand (operation, errand, users, drain_s) VALUES (?, ?, ?, ?)"},
      {&drop_generation_, "DELETE FROM onload_generation WHERE number = ?"},
      {&drop_operation_, "DELETE FROM onload_operation WHERE id = ?"},
      {&generation_,
       "INSERT INTO onload_generation (number, state, version, sfc, users, drain_s, on_failure, created_ms, verdict,"
       " verified_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"},
      {&parameter_, "INSERT INTO onload_parameter (generation, module, name, value) VALUES (?, ?, ?, ?)"},
      {&control_plane_, "INSERT INTO onload_control_plane (generation, position, word) VALUES (?, ?, ?)"},
      {&operation_,
       "INSERT INTO onload_operation (id, generation, fallback, outcome, started_ms, finished_ms, cause, message)"
       " VALUES (?, ?, ?, ?, ?, ?, ?, ?)"},
      {&step_,
       "INSERT INTO onload_step (operation, position, act, subject, progress, started_ms, finished_ms, cause, message,"
       " kernel) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"},
      {&allocation_,
       "INSERT INTO onload_allocation (id, pid, start, boot_id, generation, version, created_ms)"
       " VALUES (?, ?, ?, ?, ?, ?, ?)"},
      {&drop_allocation_, "DELETE FROM onload_allocation WHERE id = ?"},
      {&interface_, "INSERT OR REPLACE INTO onload_interface (pci, mac, accelerated, registered) VALUES (?, ?, ?, ?)"},
      {&noted_interface_, "INSERT INTO onload_noted_interface (operation, pci, mac, name) VALUES (?, ?, ?, ?)"}};
  for (const auto& [statement, sql] : all) {
    if (SqlError error = connection.prepare(sql, *statement); !error.ok()) return error;
  }
  return {};
}

SqlError OnloadStatements::write(const OnloadChange& change) {
  SqlError error;
  if (change.freeze) error = freeze_.bind(1, change.freeze->first ? 1 : 0).bind(2, change.freeze->second).run();
  if (error.ok() && change.drained) error = (*change.drained ? drain_ : undrain_).run();
  for (const uint64_t number : change.removed_generations) {
    if (error.ok()) error = drop_generation_.bind(1, as_i64(number)).run();
  }
  for (const uint64_t id : change.removed_operations) {
    if (error.ok()) error = drop_operation_.bind(1, as_i64(id)).run();
  }
  for (const OnloadGenerationRecord& generation : change.generations) {
    if (error.ok()) error = write(generation);
  }
  for (const OnloadOperationRecord& operation : change.operations) {
    if (error.ok()) error = write(operation);
  }
  for (const uint64_t id : change.removed_allocations) {
    if (error.ok()) error = drop_allocation_.bind(1, as_i64(id)).run();
  }
  for (const OnloadAllocationRecord& allocation : change.allocations) {
    if (error.ok()) error = write(allocation);
  }
  for (const OnloadInterfaceRecord& interface : change.interfaces) {
    if (error.ok()) error = write(interface);
  }
  return error;
}

SqlError OnloadStatements::write(const OnloadAllocationRecord& allocation) {
  allocation_.bind(1, as_i64(allocation.id)).bind(2, allocation.owner.pid).bind(3, as_i64(allocation.owner.start));
  allocation_.bind(4, allocation.owner.boot_id).bind(5, as_i64(allocation.generation)).bind(6, allocation.version);
  return allocation_.bind(7, to_ms(allocation.created)).run();
}

SqlError OnloadStatements::write(const OnloadInterfaceRecord& interface) {
  interface_.bind(1, interface.pci).bind(2, interface.mac);
  bind_optional(interface_, 3, optional_number(interface.accelerated));
  bind_optional(interface_, 4, optional_number(interface.registered));
  return interface_.run();
}

SqlError OnloadStatements::write(const OnloadGenerationRecord& generation) {
  const int64_t number = as_i64(generation.number);
  SqlError error = drop_generation_.bind(1, number).run();
  if (!error.ok()) return error;
  generation_.bind(1, number).bind(2, generation.state).bind(3, generation.version).bind(4, generation.sfc);
  generation_.bind(5, generation.users).bind(6, generation.drain.count()).bind(7, generation.on_failure);
  generation_.bind(8, to_ms(generation.created)).bind(9, generation.verdict);
  bind_optional(generation_, 10, optional_ms(generation.verified));
  error = generation_.run();
  for (const auto& [module, values] : generation.parameters) {
    for (const auto& [name, value] : values) {
      if (error.ok()) error = parameter_.bind(1, number).bind(2, module).bind(3, name).bind(4, value).run();
    }
  }
  for (size_t i = 0; i < generation.control_plane.size(); ++i) {
    if (!error.ok()) break;
    error = control_plane_.bind(1, number).bind(2, static_cast<int64_t>(i)).bind(3, generation.control_plane[i]).run();
  }
  return error;
}

SqlError OnloadStatements::write(const OnloadOperationRecord& operation) {
  const int64_t id = as_i64(operation.id);
  SqlError error = drop_operation_.bind(1, id).run();
  if (!error.ok()) return error;
  operation_.bind(1, id).bind(2, as_i64(operation.generation));
  bind_optional(operation_, 3, operation.fallback ? std::optional(as_i64(*operation.fallback)) : std::nullopt);
  operation_.bind(4, operation.outcome).bind(5, to_ms(operation.started));
  bind_optional(operation_, 6, optional_ms(operation.finished));
  error = operation_.bind(7, operation.cause).bind(8, operation.message).run();
  if (error.ok() && operation.errand != kChange) {
    error =
        errand_.bind(1, id).bind(2, operation.errand).bind(3, operation.users).bind(4, operation.drain.count()).run();
  }
  for (size_t i = 0; i < operation.steps.size(); ++i) {
    if (!error.ok()) break;
    const OnloadStepRecord& step = operation.steps[i];
    step_.bind(1, id).bind(2, static_cast<int64_t>(i)).bind(3, step.act).bind(4, step.subject).bind(5, step.progress);
    step_.bind(6, to_ms(step.started));
    bind_optional(step_, 7, optional_ms(step.finished));
    error = step_.bind(8, step.cause).bind(9, step.message).bind(10, step.kernel).run();
  }
  for (const auto& [pci, mac, name] : operation.interfaces) {
    if (error.ok()) error = noted_interface_.bind(1, id).bind(2, pci).bind(3, mac).bind(4, name).run();
  }
  return error;
}

OnloadRecords read_onload(Connection& connection, std::string& complaint) {
  return Reader(connection, complaint).read();
}

}  // namespace nrd::store
