#include "cli/import_rmd/import_rmd.h"

#include <sys/stat.h>

#include <cstdio>

#include "cli/answer.h"
#include "cli/import_rmd/import_workloads.h"
#include "cli/import_rmd/rmd_access.h"
#include "cli/import_rmd/rmd_policies.h"
#include "cli/import_rmd/rmd_settings.h"

namespace nrd::cli {
namespace {

// RMD read the first of these that exists, and used its defaults if none did.
Result<json::Value> read_config(const RmdDirectory& rmd, Report& report) {
  for (const char* name : {"rmd.json", "rmd.toml", "rmd.yaml", "rmd.yml"}) {
    std::optional<json::Value> config = TRY(rmd.read_tree(name));
    if (config) return *std::move(config);
  }
  report.left_out(rmd.place_of("rmd.toml"), "not found; RMD used its defaults, and nrd uses its own");
  return json::Value::object({});
}

// Check all names before creating the first file, since they span several directories.
Result<void> refuse_existing(const RmdImport& moving) {
  std::string existing;
  for (const auto& [directory, files] : moving.files()) {
    for (const NewFile& file : files) {
      const std::string path = moving.path_of(directory.empty() ? file.name : directory + "/" + file.name);
      struct stat status {};
      if (::lstat(path.c_str(), &status) == 0) existing += (existing.empty() ? "" : ", ") + path;
    }
  }
  if (existing.empty()) return {};
  return fail(ErrorCode::Store, existing + ": already exists; use --force to replace it, or another --output");
}

// Write nrd.toml last: it names the other files, so it must not exist before they do.
Result<void> write_all(const RmdImport& moving, const std::string& output, Existing existing) {
  TRY(write_new_files(output, {}));
  for (const auto& [directory, files] : moving.files()) {
    if (directory.empty()) continue;
    TRY(write_new_files(output + "/" + directory, files, existing));
  }
  return write_new_files(output, moving.files().at(""), existing);
}

Result<void> import_configuration(const ImportRmd& wanted) {
  const std::string output = absolute_path(wanted.output);
  const RmdDirectory rmd = TRY(RmdDirectory::open(wanted.directory));
  RmdImport moving = TRY(moved_configuration(rmd, output, read_cache_ways()));
  if (!wanted.force) {
    TRY(refuse_existing(moving));
  }
  TRY(write_all(moving, output, wanted.force ? Existing::Replace : Existing::Refuse));
  print(moving.report().text());
  print("\nCreated {}/nrd.toml. Check it with: nrd --config {}/nrd.toml --check-config\n", output, output);
  return {};
}

}  // namespace

Result<RmdImport> moved_configuration(const RmdDirectory& rmd, const std::string& output,
                                      const std::optional<CacheWays>& cache) {
  Report first;
  json::Value config = TRY(read_config(rmd, first));
  RmdImport moving(std::move(config), output);
  moving.report() = std::move(first);
  move_server(moving);
  TRY(move_access(moving, rmd));
  move_pools(moving, cache);
  TRY(move_policies(moving, rmd));
  TRY(move_cpu_map(moving, rmd));
  move_log(moving);
  leave_the_rest(moving);
  moving.add_file("", {"nrd.toml", moving.configuration(), kPublic});
  return moving;
}

OrStop<> import_rmd(const Client& client, const ImportRmd& wanted) {
  if (wanted.directory.empty() && wanted.workloads.empty()) {
    return stop(kUsage, "nothing to import; give RMD's directory or --workloads FILE");
  }
  if (!wanted.directory.empty()) {
    TRY(or_stop(import_configuration(wanted)));
  }
  return wanted.workloads.empty() ? OrStop<>() : import_workloads(client, wanted.workloads);
}

}  // namespace nrd::cli
