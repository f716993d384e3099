#include "engine/onload/record.h"

#include <string>

#include "engine/onload/enum_names.h"

namespace nrd::onload {
namespace {

Failure unknown(const std::string& what, uint64_t number) {
  return fail(ErrorCode::Store,
              "the store has records unknown to this version of nrd; install the version that wrote them",
              what + " " + std::to_string(number));
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

std::optional<Step> from_record(const store::OnloadStepRecord& row) {
  const auto act = parse<Act>(row.act);
  const auto progress = parse<Progress>(row.progress);
  if (!act || !progress) return std::nullopt;
  return Step{*act, row.subject, *progress, row.started, row.finished, row.cause, row.message, split(row.kernel)};
}

}  // namespace

store::OnloadGenerationRecord to_record(const Generation& generation) {
  const Spec& spec = generation.spec;
  return {.number = generation.number,
          .state = std::string(word_of(spec.state)),
          .version = spec.version,
          .sfc = std::string(word_of(spec.sfc)),
          .users = std::string(word_of(spec.users)),
          .drain = spec.drain,
          .on_failure = std::string(word_of(spec.on_failure)),
          .parameters = spec.parameters,
          .control_plane = spec.control_plane,
          .created = generation.created,
          .verdict = std::string(word_of(generation.verdict)),
          .verified = generation.verified};
}

store::OnloadOperationRecord to_record(const Operation& operation) {
  store::OnloadOperationRecord row{.id = operation.id,
                                   .generation = operation.generation,
                                   .fallback = operation.fallback,
                                   .outcome = std::string(word_of(operation.outcome)),
                                   .started = operation.started,
                                   .finished = operation.finished,
                                   .cause = operation.cause,
                                   .message = operation.message,
                                   .errand = std::string(word_of(operation.kind)),
                                   .users = std::string(word_of(operation.users)),
                                   .drain = operation.drain};
  for (const Step& step : operation.steps) {
    row.steps.push_back({std::string(word_of(step.act)), step.subject, std::string(word_of(step.progress)),
                         step.started, step.finished, step.cause, step.message, joined(step.kernel)});
  }
  for (const NotedInterface& noted : operation.interfaces) row.interfaces.push_back({noted.pci, noted.mac, noted.name});
  return row;
}

store::OnloadInterfaceRecord to_record(const InterfaceSpec& spec) {
  return {.pci = spec.pci, .mac = spec.mac, .accelerated = spec.accelerated, .registered = spec.registered};
}

InterfaceSpec from_record(const store::OnloadInterfaceRecord& row) {
  return {.pci = row.pci, .mac = row.mac, .accelerated = row.accelerated, .registered = row.registered};
}

Result<Generation> from_record(const store::OnloadGenerationRecord& row) {
  const auto state = parse<State>(row.state);
  const auto sfc = parse<Sfc>(row.sfc);
  const auto users = parse<UsersPolicy>(row.users);
  const auto on_failure = parse<OnFailure>(row.on_failure);
  const auto verdict = parse<Verdict>(row.verdict);
  if (!state || !sfc || !users || !on_failure || !verdict) return unknown("generation", row.number);
  return Generation{.number = row.number,
                    .spec = {.state = *state,
                             .version = row.version,
                             .sfc = *sfc,
                             .parameters = row.parameters,
                             .control_plane = row.control_plane,
                             .users = *users,
                             .drain = row.drain,
                             .on_failure = *on_failure},
                    .created = row.created,
                    .verdict = *verdict,
                    .verified = row.verified};
}

Result<Operation> from_record(const store::OnloadOperationRecord& row) {
  const auto outcome = parse<Outcome>(row.outcome);
  const auto kind = parse<OperationKind>(row.errand);
  const auto users = parse<UsersPolicy>(row.users);
  if (!outcome || !kind || !users) return unknown("operation", row.id);
  Operation operation{.id = row.id,
                      .generation = row.generation,
                      .fallback = row.fallback,
                      .outcome = *outcome,
                      .started = row.started,
                      .finished = row.finished,
                      .cause = row.cause,
                      .message = row.message,
                      .kind = *kind,
                      .users = *users,
                      .drain = row.drain};
  for (const store::OnloadStepRecord& step : row.steps) {
    std::optional<Step> known = from_record(step);
    if (!known) return unknown("operation", row.id);
    operation.steps.push_back(*std::move(known));
  }
  for (const auto& [pci, mac, name] : row.interfaces) operation.interfaces.push_back({pci, mac, name});
  return operation;
}

}  // namespace nrd::onload
