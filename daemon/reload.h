// Reloads the configuration: reads and checks everything, then changes everything, or nothing.
//
//   any thread       reload()  ->  queue  ->  main thread: serve()  ->  declared workloads  ->  `done`
//
// One after the other, on the main thread, which also checks the files of TLS and access for changes. Keys that a
// reload cannot take keep their value; the report and the journal name them.
#pragma once

#include <deque>
#include <functional>
#include <mutex>
#include <set>
#include <string>

#include "api/v1/config.h"
#include "base/published.h"
#include "daemon/config.h"

namespace nrd {
class Engine;
}

namespace nrd::daemon {

class DeclaredWorkloads;
class HttpFrontend;
class LaunchBackend;

// Keys that differ between two configurations.
struct ConfigDifference {
  std::vector<v1::ConfigChange> changed;
  std::vector<v1::ConfigChange> restart_required;
  LoadedConfig effective;  // the next one; keys that need a restart have their present value
};
ConfigDifference difference_of(const LoadedConfig& present, const LoadedConfig& next);

v1::ConfigView view_of(const LoadedConfig& loaded);

class Reloader final : public v1::ConfigService {
 public:
  // `wake` makes the main thread call serve().
  Reloader(ConfigSource source, LoadedConfig present, std::function<void()> wake);

  std::shared_ptr<const v1::ConfigView> view() const override { return view_.get(); }
  void reload(ReloadMode mode, Callback<v1::ReloadReport> done) override;

  // What a reload changes.
  struct Parts {
    Engine& engine;
    LaunchBackend& launch;
    HttpFrontend& frontend;
    DeclaredWorkloads& declared;
  };
  // The main thread: answers the waiting requests, or has them answered once the declared workloads are applied.
  void serve(const Parts& parts);
  // The main thread: reloads on SIGHUP. The journal has the result.
  void reload_now(const Parts& parts);
  // Refuses waiting and later requests.
  void stop();

 private:
  struct Request {
    ReloadMode mode;
    Callback<v1::ReloadReport> done;
  };
  Result<v1::ReloadReport> run(const Parts& parts, ReloadMode mode);
  Result<v1::ReloadReport> take(const Parts& parts, ReloadMode mode, const LoadedConfig& next);

  const ConfigSource source_;
  const std::function<void()> wake_;
  LoadedConfig present_;  // of the main thread
  Published<v1::ConfigView> view_;

  std::mutex lock_;
  std::deque<Request> waiting_;  // guarded by lock_
  bool stopping_ = false;        // guarded by lock_
};

}  // namespace nrd::daemon
