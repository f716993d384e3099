// GET /v1/config, POST /v1/config/reload, and the service behind them, which the daemon implements.
//
// The configuration holds no secret: keys and passwords are in files of their own, of which it names the paths.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/client.h"
#include "base/json/value.h"

namespace nrd {
enum class ReloadMode;
}
namespace nrd::http {
class Reply;
}
namespace nrd::routing {
struct Call;
}

namespace nrd::v1 {

struct ConfigSetting {
  std::string key;     // "server.debug"
  json::Value value;   // as written in the file; null: none
  std::string source;  // "default", "file", "command_line"
  std::string file;    // of a file
  size_t line = 0;
  bool reload = false;  // whether a reload takes it
};

struct ConfigView {
  std::vector<std::string> files;
  std::vector<ConfigSetting> settings;
};

struct ConfigChange {
  std::string key;
  json::Value from;
  json::Value to;
};

// What became of the workloads that files declare.
struct DeclaredReport {
  size_t created = 0;
  size_t changed = 0;
  size_t deleted = 0;
  std::vector<std::string> problems{};  // what is declared and not granted, one sentence each
};

struct ReloadReport {
  ReloadMode mode{};
  std::vector<ConfigChange> changed;
  std::vector<ConfigChange> restart_required;
  std::optional<DeclaredReport> workloads{};  // nullopt: of a dry run, or not applied yet
};

class ConfigService {
 public:
  virtual ~ConfigService() = default;
  // The configuration in force. Any thread; never null.
  virtual std::shared_ptr<const ConfigView> view() const = 0;
  // Reads all files again. BadRequest: they are wrong; Conflict: workloads have ways that their pool would lose.
  // Nothing has changed then. Any thread; `done` is called on another one.
  virtual void reload(ReloadMode mode, Callback<ReloadReport> done) = 0;
};

void show_config(const routing::Call& call, http::Reply reply);
void reload_config(const routing::Call& call, http::Reply reply);

}  // namespace nrd::v1
