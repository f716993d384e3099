#include "cli/import_cpu_pooler.h"

#include <doctest/doctest.h>

#include "api/tree/tree.h"

namespace nrd::cli::import_cpu_pooler_test {
namespace {

ImportedPools imported(const std::string& yaml) {
  return imported_pools(tree::of_yaml(yaml, "poolconfig.yaml", tree::KeyCase::AsWritten).value());
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("pools of release 0.1.0 have the kind that they name, whatever their name begins with") {
  const ImportedPools pools = imported(
      "resourceBaseName: nokia.k8s.io\npools:\n  sharedlike:\n    cpus: \"4,5\"\n    pooltype: exclusive\n"
      "  pool2:\n    cpus: 1\n    pooltype: shared\n");
  CHECK_FALSE(pools.report.has_rejected());
  CHECK(has(pools.configuration, "name = \"sharedlike\"\ncpus = \"4-5\"\nkind = \"exclusive\"\n"));
  CHECK(has(pools.configuration, "name = \"pool2\"\ncpus = \"1\"\nkind = \"shared\"\n"));
  CHECK(has(pools.configuration, "# left out  resourceBaseName: "));
  CHECK_FALSE(has(pools.configuration, "default_pool"));
}

TEST_CASE("pools of later releases have the kind of their prefix, and the rest is the default pool") {
  const ImportedPools pools = imported(
      "pools:\n  exclusive-a:\n    cpus: 2-3\n    hyperThreadingPolicy: multiThreaded\n  exclusive-b:\n    cpus: "
      "\"4\"\n"
      "    hyperThreadingPolicy: singleThreaded\n  shared:\n    cpus: 5-6\n  default:\n    cpus: 0-1\n"
      "nodeSelector:\n  kind: fast\n");
  CHECK_FALSE(pools.report.has_rejected());
  CHECK(has(pools.configuration, "cpus = \"2-3\"\nkind = \"exclusive\"\nthreads = \"all\"\n"));
  CHECK(has(pools.configuration, "cpus = \"4\"\nkind = \"exclusive\"\nthreads = \"one\"\n"));
  CHECK(has(pools.configuration, "[cpu]\ndefault_pool = \"default\"\n"));
  CHECK(has(pools.configuration, "name = \"default\"\ncpus = \"0-1\"\nkind = \"shared\"\n"));
  CHECK(has(pools.configuration, "# left out  nodeSelector.kind: install this file on nodes with the label kind=fast"));
}

TEST_CASE("each wrong key is rejected with the reason") {
  struct Row {
    const char* yaml;
    const char* says;
  };
  for (const auto& [yaml, says] :
       {Row{"{}", "rejected  pools: is missing"}, Row{"pools: 3\n", "rejected  pools: is no mapping"},
        Row{"pools: {shared: {}}\n", "rejected  pools.shared.cpus: is missing"},
        Row{"pools: {shared: {cpus: 4-x}}\n", "rejected  pools.shared.cpus: \"4-x\" is no list"},
        Row{"pools: {a: {cpus: 1, pooltype: x}}\n", "rejected  pools.a.pooltype: is neither"},
        Row{"pools: {exclusive: {cpus: 1, hyperThreadingPolicy: x}}\n", "hyperThreadingPolicy: is neither"},
        Row{"pools: {shared: {cpus: 1, nice: 1}}\n", "rejected  pools.shared.nice: unknown key"},
        Row{"pools: {a: {cpus: 1}, b: {cpus: 2}}\n", "rejected  pools.b: is a second default pool, beside a"},
        Row{"pools: {\"a b\": {cpus: 1}}\n", "rejected  pools.a b: the name has"},
        Row{"pools: {shared: {cpus: 1}}\nother: 1\n", "rejected  other: unknown key"}}) {
    CAPTURE(yaml);
    const ImportedPools pools = imported(yaml);
    CHECK(pools.report.has_rejected());
    CHECK_MESSAGE(has(pools.report.text(), says), pools.report.text());
  }
}

}  // namespace nrd::cli::import_cpu_pooler_test
