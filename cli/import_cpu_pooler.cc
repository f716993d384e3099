#include "cli/import_cpu_pooler.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "api/tree/tree.h"
#include "base/ascii.h"
#include "base/cpu_set.h"
#include "base/split.h"
#include "cli/new_files.h"
#include "cli/user_file.h"

namespace nrd::cli {
namespace {

using json::Value;

constexpr size_t kLongestPoolerFile = size_t{1} << 20;

struct Pool {
  std::string name;
  std::string cpus;
  std::string kind;  // empty: that of the name
  std::string threads;
};

bool is_pool_name(const std::string& name) {
  constexpr size_t kLongest = 64;
  return name.size() <= kLongest && is_word(name, "._-");
}

void read_cpus(const std::string& key, const std::string& text, Pool& pool, Report& report) {
  const Result<CpuSet> cpus = CpuSet::parse(text);
  if (!cpus || cpus->empty())
    return report.rejected(key, fmt::format("\"{}\" is no list of CPUs such as \"4-7,9\"", text));
  pool.cpus = cpus->to_string();
  report.taken(key, fmt::format("cpus = \"{}\"", pool.cpus));
}

void read_kind(const std::string& key, const std::string& text, Pool& pool, Report& report) {
  if (text != "exclusive" && text != "shared") return report.rejected(key, "is neither exclusive nor shared");
  pool.kind = text;
  report.taken(key, fmt::format("kind = \"{}\"", text));
}

void read_threads(const std::string& key, const std::string& text, Pool& pool, Report& report) {
  if (text == "singleThreaded") {
    pool.threads = "one";
    return report.taken(key, "threads = \"one\"");
  }
  if (text != "multiThreaded") return report.rejected(key, "is neither singleThreaded nor multiThreaded");
  pool.threads = "all";
  report.changed(key, "threads = \"all\"; add the other threads of the cores to cpus, which CPU Pooler adds by itself");
}

Pool read_pool(const std::string& name, const Value& members, Report& report) {
  Pool pool{.name = name, .cpus = {}, .kind = {}, .threads = {}};
  const std::string at = "pools." + name;
  if (!is_pool_name(name)) report.rejected(at, "the name has other characters than letters, digits, dots, - and _");
  if (!members.find("cpus")) report.rejected(at + ".cpus", "is missing");
  for (const auto& [member, value] : members.members()) {
    const std::string key = at + "." + member;
    const std::string text = text_in(value);
    if (member == "cpus") {
      read_cpus(key, text, pool, report);
    } else if (member == "pooltype" || member == "poolType") {
      read_kind(key, text, pool, report);
    } else if (member == "hyperThreadingPolicy") {
      read_threads(key, text, pool, report);
    } else {
      report.rejected(key, "unknown key");
    }
  }
  return pool;
}

// The kind of a pool without one, by its name; empty: it is the default pool.
std::string kind_by_name(const std::string& name) {
  for (const char* kind : {"exclusive", "shared"}) {
    if (name.starts_with(kind)) return kind;
  }
  return {};
}

std::string section_of(const Pool& pool) {
  std::string text =
      fmt::format("\n[[cpu.pools]]\nname = \"{}\"\ncpus = \"{}\"\nkind = \"{}\"\n", pool.name, pool.cpus, pool.kind);
  if (pool.kind == "exclusive" && !pool.threads.empty()) text += fmt::format("threads = \"{}\"\n", pool.threads);
  return text;
}

void read_pools(const Value& pools, std::string& sections, std::string& default_pool, Report& report) {
  if (!pools.is_object()) return report.rejected("pools", "is no mapping of pools");
  for (const auto& [name, members] : pools.members()) {
    Pool pool = read_pool(name, members, report);
    if (pool.kind.empty()) pool.kind = kind_by_name(name);
    if (pool.kind.empty()) {
      pool.kind = "shared";
      if (!default_pool.empty()) report.rejected("pools." + name, "is a second default pool, beside " + default_pool);
      default_pool = name;
      report.taken("pools." + name, fmt::format("cpu.default_pool = \"{}\"", name));
    }
    sections += section_of(pool);
  }
}

void read_selector(const Value& selector, Report& report) {
  for (const auto& [label, value] : selector.members()) {
    report.left_out("nodeSelector." + label,
                    fmt::format("install this file on nodes with the label {}={}", label, text_in(value)));
  }
  if (!selector.is_object()) report.rejected("nodeSelector", "is no mapping of labels");
}

std::string commented(const std::string& text) {
  std::string lines;
  for (const std::string_view line : split(text, "\n")) lines += "# " + std::string(line) + "\n";
  return lines;
}

// The name of the file, with another ending.
std::string name_of(const std::string& file) {
  const std::string name = file.substr(file.rfind('/') + 1);
  return name.substr(0, name.rfind('.')) + ".toml";
}

}  // namespace

ImportedPools imported_pools(const Value& config) {
  ImportedPools imported;
  std::string sections, default_pool;
  if (!config.find("pools")) imported.report.rejected("pools", "is missing");
  for (const auto& [key, value] : config.members()) {
    if (key == "pools") {
      read_pools(value, sections, default_pool, imported.report);
    } else if (key == "nodeSelector") {
      read_selector(value, imported.report);
    } else if (key == "resourceBaseName") {
      imported.report.left_out(key, "names of resources are the Kubernetes client's");
    } else {
      imported.report.rejected(key, "unknown key");
    }
  }
  imported.configuration = commented(imported.report.text());
  if (!default_pool.empty()) imported.configuration += fmt::format("\n[cpu]\ndefault_pool = \"{}\"\n", default_pool);
  imported.configuration += sections;
  return imported;
}

OrStop<> import_cpu_pooler(const ImportCpuPooler& wanted) {
  if (wanted.files.size() > 1 && wanted.output.empty())
    return stop(kUsage, "each file is for other nodes: with several, --output names a directory");
  std::vector<NewFile> files;
  for (const std::string& file : wanted.files) {
    const std::optional<std::string> text = TRY(or_stop(read_user_file(file, kLongestPoolerFile)));
    if (!text) return stop(kNoSuch, file + ": no such file");
    const Value config = TRY(or_stop(tree::of_yaml(*text, file, tree::KeyCase::AsWritten)));
    ImportedPools imported = imported_pools(config);
    if (imported.report.has_rejected()) return stop(kRefused, file + ":\n" + imported.report.text());
    files.push_back({name_of(file), std::move(imported.configuration), kPublic});
  }
  if (wanted.output.empty()) {
    print(files.front().content);
    return {};
  }
  return or_stop(
      write_new_files(absolute_path(wanted.output), files, wanted.force ? Existing::Replace : Existing::Refuse));
}

}  // namespace nrd::cli
