// A controller with a preset status that records calls and answers at once with preset results.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/onload/controller.h"
#include "engine/onload/dry_run.h"

namespace nrd::testing {

class FakeController final : public onload::Controller {
 public:
  std::shared_ptr<const onload::Status> status() const override {
    return std::make_shared<const onload::Status>(known);
  }
  void apply(onload::Spec spec, std::optional<uint64_t> if_match, Callback<onload::Accepted> done) override {
    specs.emplace_back(std::move(spec), if_match);
    done(outcome);
  }
  void roll_back(std::optional<uint64_t> to, Callback<onload::Accepted> done) override {
    rolled_back.push_back(to);
    done(outcome);
  }
  void watch(uint64_t since, std::chrono::seconds wait, Callback<std::shared_ptr<const onload::Status>> done) override {
    watched.emplace_back(since, wait);
    done(status());
  }
  void end_watches() override {}
  void set_limits(std::chrono::milliseconds, onload::UsersPolicy) override {}
  void patch(onload::SpecPatch patch, std::optional<uint64_t> if_match, Callback<onload::Accepted> done) override {
    patched.emplace_back(std::move(patch), if_match);
    done(outcome);
  }
  void dry_run(std::optional<onload::Spec> spec, std::optional<uint64_t> if_match,
               Callback<onload::DryRun> done) override {
    dry_runs.emplace_back(std::move(spec), if_match);
    done(planned);
  }
  void drain(onload::Drain how, Callback<onload::Accepted> done) override {
    drains.push_back(how);
    done(outcome);
  }
  void undrain(Callback<onload::Accepted> done) override { done(outcome); }
  void cancel(uint64_t operation, Callback<onload::Accepted> done) override {
    cancelled.push_back(operation);
    done(outcome);
  }
  void restart_control_plane(Callback<onload::Accepted> done) override { done(outcome); }
  void set_freeze(onload::Freeze freeze, Callback<void> done) override {
    known.freeze = std::move(freeze);
    done({});
  }
  void find_users(Callback<onload::InUse> done) override { done(use); }
  void refresh(Callback<void> done) override { done({}); }
  void verify(Callback<onload::Verification> done) override { done(verification); }
  void list_versions(Callback<std::vector<onload::Version>> done) override { done(versions); }
  void import(std::string name, std::string source, Callback<onload::Version> done) override {
    imported.emplace_back(name, std::move(source));
    done(onload::Version{.name = std::move(name)});
  }
  void remove_version(std::string name, Callback<void> done) override {
    removed_versions.push_back(std::move(name));
    done({});
  }
  void read_stacks(Callback<std::vector<onload::Stack>> done) override { done(stacks); }
  void read_interfaces(Callback<std::vector<onload::Interface>> done) override { done(interfaces); }

  void set_interface(std::string name, onload::InterfaceSwitch what, onload::SwitchState to,
                     Callback<onload::Interface> done) override {
    turned.emplace_back(name, what, to);
    done(interface);
  }

  onload::Status known;
  std::vector<std::tuple<std::string, onload::InterfaceSwitch, onload::SwitchState>> turned;
  Result<onload::Interface> interface = onload::Interface{};
  onload::InUse use;
  Result<onload::Accepted> outcome = onload::Accepted{};
  std::vector<std::pair<onload::Spec, std::optional<uint64_t>>> specs;
  std::vector<std::optional<uint64_t>> rolled_back;
  std::vector<std::pair<uint64_t, std::chrono::seconds>> watched;
  std::vector<std::pair<onload::SpecPatch, std::optional<uint64_t>>> patched;
  std::vector<std::pair<std::optional<onload::Spec>, std::optional<uint64_t>>> dry_runs;
  std::vector<onload::Drain> drains;
  std::vector<uint64_t> cancelled;
  onload::DryRun planned;
  onload::Verification verification;
  std::vector<onload::Version> versions;
  std::vector<std::pair<std::string, std::string>> imported;
  std::vector<std::string> removed_versions;
  std::vector<onload::Stack> stacks;
  std::vector<onload::Interface> interfaces;
};

}  // namespace nrd::testing
