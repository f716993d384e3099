#include "daemon/hardware.h"

#include "base/file.h"
#include "hw/rdt/rdt.h"

namespace nrd::daemon {
namespace {

constexpr const char* kBootId = "/proc/sys/kernel/random/boot_id";

class Rooms final : public Hardware {
 public:
  explicit Rooms(std::unique_ptr<rdt::Rdt> rdt) : rdt_(std::move(rdt)) {}

  Result<NodeFacts> discover() override {
    const Result<std::optional<std::string>> boot_id = read_file(kBootId);
    if (!boot_id) return Failure(boot_id.error());
    if (!*boot_id) return fail(ErrorCode::Hardware, "the kernel does not say which boot this is", kBootId);
    return rdt_->discover().map(
        [&](rdt::Node node) { return NodeFacts{.boot_id = std::string(trimmed(**boot_id)), .rdt = std::move(node)}; });
  }

  Result<Observed> observe() override {
    return rdt_->observe().map([](rdt::Observed observed) { return Observed{.rdt = std::move(observed)}; });
  }

  Result<void> converge(const Setting& wanted) override { return rdt_->converge(wanted.rdt); }

 private:
  std::unique_ptr<rdt::Rdt> rdt_;
};

}  // namespace

Result<std::unique_ptr<Hardware>> open_hardware() {
  Result<std::unique_ptr<rdt::Rdt>> rdt = rdt::Rdt::start();
  if (!rdt) return Failure(rdt.error());
  return std::make_unique<Rooms>(*std::move(rdt));
}

}  // namespace nrd::daemon
