#include "options.h"

#include <CLI/CLI.hpp>
#include <map>
#include <string>

namespace nrd::simnode {
namespace {

constexpr int kMostCpus = 8192;

Cpus cpus_from(const std::string& list) {
  Cpus cpus;
  if (parse_list(list, kMostCpus, cpus) != 0)
    throw CLI::ValidationError("--offline", "\"" + list + "\" is not a CPU list such as 3,8-11");
  return cpus;
}

std::uint32_t hex_from(const std::string& text) {
  const auto bits = parse_number(text, 16);
  if (!bits || *bits < 0 || *bits > 0xffffffffL) throw CLI::ValidationError("--shareable", text + " is not a hex mask");
  return static_cast<std::uint32_t>(*bits);
}

// "epyc-9654" and the path of a file are both understood.
std::string machine_file(const std::string& name) {
  return name.empty() || name.find('/') != std::string::npos ? name : SIMNODE_MACHINES "/" + name + ".conf";
}

// The help shows the names, and a wrong one is answered with all of them.
template <typename Value>
void add_choice(CLI::App& app, const std::string& name, Value& value, const std::map<std::string, Value>& choices,
                const std::string& text) {
  std::string names;
  for (const auto& [choice, meant] : choices) names += (names.empty() ? "" : "|") + choice;
  app.add_option(name, value, text)->transform(CLI::CheckedTransformer(choices).description(""))->type_name(names);
}

void describe_frequencies(CLI::App& app, Frequencies& freq) {
  add_choice<CpufreqDriver>(app, "--cpufreq", freq.driver,
                            {{"none", CpufreqDriver::None},
                             {"intel_pstate", CpufreqDriver::IntelPstate},
                             {"intel_cpufreq", CpufreqDriver::IntelCpufreq},
                             {"acpi-cpufreq", CpufreqDriver::AcpiCpufreq},
                             {"amd-pstate", CpufreqDriver::AmdPstate},
                             {"amd-pstate-epp", CpufreqDriver::AmdPstateEpp}},
                            "Scaling driver (default: none)");
  app.add_option("--freq-min", freq.min, "Lowest frequency in MHz")->capture_default_str();
  app.add_option("--freq-base", freq.base, "Highest frequency without turbo in MHz")->capture_default_str();
  app.add_option("--freq-max", freq.max, "Highest frequency in MHz")->capture_default_str();
  app.add_option("--freq-step", freq.step, "MHz between the entries of acpi-cpufreq's table")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_option("--freq-applied-after", freq.applied_after,
                 "Milliseconds until the files show a limit that was written")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  app.add_option("--threads", freq.threads, "Threads of a core, neighbours")
      ->capture_default_str()
      ->check(CLI::Range(1, 8));
  add_choice<FreqDomain>(app, "--freq-domain", freq.domain,
                         {{"cpu", FreqDomain::Cpu}, {"core", FreqDomain::Core}, {"socket", FreqDomain::Socket}},
                         "CPUs of one cpufreq policy; a core is two neighbours (default: cpu)");
  add_choice<MinOverMax>(app, "--min-over-max", freq.min_over_max,
                         {{"refuse", MinOverMax::Refuse}, {"clamp", MinOverMax::Clamp}},
                         "A minimum above the maximum: EINVAL, or a request that waits (default: refuse)");
  add_choice<OfflineCpufreq>(app, "--cpufreq-offline", freq.offline,
                             {{"gone", OfflineCpufreq::Gone}, {"busy", OfflineCpufreq::Busy}},
                             "cpufreq of an offline CPU: gone, or there and EBUSY (default: gone)");
  add_choice<MsrPart>(
      app, "--msr", freq.msr,
      {{"none", MsrPart::None},
       {"perf", MsrPart::Perf},
       {"hwp", MsrPart::Hwp},
       {"hwp-off", MsrPart::HwpOff},
       {"amd", MsrPart::Amd}},
      "/dev/cpu/N/msr of a part without HWP, with it, with it but not enabled, or of AMD (default: none)");
}

Kernel kernel_from(const std::string& text) {
  const size_t dot = text.find('.');
  const auto major = parse_number(text.substr(0, dot));
  const auto minor = dot == std::string::npos ? std::nullopt : parse_number(text.substr(dot + 1));
  if (!major || !minor) throw CLI::ValidationError("--kernel", "\"" + text + "\" is not a version such as 6.12");
  return {static_cast<int>(*major), static_cast<int>(*minor)};
}

// What kind of part and kernel it is, beyond numbers of CPUs, ways and classes.
void describe_part(CLI::App& app, Shape& shape) {
  add_choice<Vendor>(app, "--vendor", shape.vendor,
                     {{"host", Vendor::Host},
                      {"intel", Vendor::Intel},
                      {"amd", Vendor::Amd},
                      {"hygon", Vendor::Hygon},
                      {"arm", Vendor::Arm}},
                     "Whose part it is, as far as the kernel says (default: host)");
  app.add_option_function<std::string>(
      "--kernel", [&shape](const std::string& text) { shape.kernel = kernel_from(text); },
      "Version of the kernel whose files are shown (default: 6.12)");
  app.add_option("--nodes-per-socket", shape.nodes_per_socket, "NUMA nodes of a socket")->capture_default_str();
  app.add_option("--memory-nodes", shape.memory_nodes, "NUMA nodes without CPUs")->capture_default_str();
  app.add_flag("--snc", shape.snc, "Sub-NUMA clusters: what a class uses is counted for each NUMA node");
  app.add_option("--cpus-without-l3", shape.cpus_without_l3, "How many of the last CPUs have no L3 cache")
      ->capture_default_str();
  app.add_flag("--cdp-support,!--no-cdp-support", shape.cdp_support, "It could be mounted with CDP (default: yes)");
  app.add_flag("--pseudo-lock", shape.pseudo_lock, "The kernel knows how to pseudo-lock on this part");
  add_choice<Throttle>(app, "--thread-throttle", shape.throttle,
                       {{"none", Throttle::Absent}, {"per-thread", Throttle::PerThread}, {"max", Throttle::Max}},
                       "What threads of a core with different MBA get (default: max on Intel's, none on others)");
  add_choice<IoAlloc>(app, "--io-alloc", shape.io_alloc,
                      {{"none", IoAlloc::Absent}, {"off", IoAlloc::Off}, {"on", IoAlloc::On}},
                      "Devices write into the cache with the highest class: cannot, could, do (default: none)");
  app.add_option("--rmid-limbo", shape.limbo_ms, "Milliseconds before a removed group's counter serves another one")
      ->capture_default_str();
  app.add_option("--mbm-counters", shape.mbm_counters, "Counters of a cache that are assigned to groups; 0: not so")
      ->capture_default_str();
  app.add_flag("--power,!--no-power", shape.power, "CPUs have a limit of the time to leave idle states (default: yes)");
  app.add_flag("--cgroups", shape.cgroups, "Cgroups of version 2 with the controllers cpuset and cpu");
  app.add_flag("--systemd", shape.systemd, "systemd seems to be the init: /run/systemd/system is there");
  app.add_flag("--d-types,!--no-d-types", shape.d_types, "readdir tells the types of entries (default: yes)");
}

void describe(CLI::App& app, Options& options) {
  Shape& shape = options.shape;
  describe_part(app, shape);
  app.set_config("--machine", "", "Name of a description in tests/simnode/machines, or its path; options override it")
      ->transform(&machine_file);
  app.add_option("--sockets", shape.sockets, "Sockets, each one NUMA node")->capture_default_str();
  app.add_option("--cpus", shape.cpus, "CPUs in all")->capture_default_str();
  app.add_option("--ways", shape.ways, "Ways of each L3 cache")->capture_default_str();
  app.add_option("--closids", shape.closids, "Classes of service of L3")->capture_default_str();
  app.add_option("--mb-closids", shape.mb_closids, "Classes of service of MB (default: as L3)");
  app.add_option("--min-cbm-bits", shape.min_cbm_bits, "Fewest ways in a mask (default: as the vendor has it)");
  app.add_flag_callback(
      "--sparse-masks", [&shape] { shape.sparse_masks = true; },
      "Masks may have holes (default: as the vendor has it)");
  app.add_flag_callback(
      "--no-sparse-masks", [&shape] { shape.sparse_masks = false; }, "Masks are one run of ways");
  app.add_option("--caches-per-socket", shape.caches_per_socket, "L3 caches of a socket")->capture_default_str();
  app.add_option("--cache-ids", shape.cache_ids, "Id of each L3 cache, in the order of sockets: 4,0,7,2")
      ->delimiter(',');
  app.add_option("--level", shape.level, "Level of the caches that are allocated; 2: there is no third")
      ->capture_default_str()
      ->check(CLI::Range(2, 3));
  app.add_flag("--cdp", shape.cdp, "resctrl is mounted with masks for code and data apart");
  app.add_flag("--l2-cat", shape.l2_cat, "L2 caches are allocated beside those of L3");
  app.add_option("--l3-kib", shape.l3_kib, "Size of each L3 cache in KiB (default: 1024 for each way)");
  app.add_option("--l2-kib", shape.l2_kib, "Size of each L2 cache in KiB (default: 64 for each way)");
  app.add_option("--l2-ways", shape.l2_ways, "Ways of each L2 cache below an L3 cache")->capture_default_str();
  app.add_option("--l2-cpus", shape.l2_cpus, "CPUs that share an L2 cache, neighbours")->capture_default_str();
  app.add_flag("--l2-cdp", shape.l2_cdp, "resctrl is mounted with masks of L2 for code and data apart");
  add_choice<MbUnit>(
      app, "--mb-unit", shape.mb_unit,
      {{"host", MbUnit::Vendor}, {"percent", MbUnit::Percent}, {"mbps", MbUnit::Mbps}, {"amd", MbUnit::Amd}},
      "What the numbers of MB lines are: as the vendor has them, percent, MB/s, or AMD's (default: host)");
  app.add_option("--mb-step", shape.mb_step, "bandwidth_gran of MB (default: as its unit has it)");
  app.add_flag("--mb,!--no-mb", shape.mb, "Memory bandwidth allocation (default: yes)");
  app.add_flag("--monitoring,!--no-monitoring", shape.monitoring, "What classes use is counted (default: yes)");
  app.add_option("--rmids", shape.rmids, "Groups that can be counted at a time")->capture_default_str();
  app.add_option("--mon-features", shape.mon_features, "What is counted")->delimiter(',')->capture_default_str();
  app.add_flag_callback(
      "--no-rdt", [&shape] { shape.rdt = false; }, "A machine without RDT");
  app.add_option_function<std::string>(
      "--shareable", [&shape](const std::string& text) { shape.shareable = hex_from(text); },
      "Ways also used by other hardware, in hex");
  app.add_option_function<std::string>(
      "--offline", [&shape](const std::string& list) { shape.offline = cpus_from(list); }, "CPUs offline at the start");
  describe_frequencies(app, shape.freq);
  app.add_option("--control", options.control, "Path of the control socket");
  app.add_option("command", options.command, "Command to run inside, and its arguments")->required();
  app.positionals_at_end();
}

}  // namespace

std::variant<Options, int> parse_options(int argc, char** argv) {
  Options options;
  CLI::App app("Runs a command on a simulated node: resctrl, CPU topology and /proc as a machine with RDT has them.");
  describe(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& complaint) {
    return app.exit(complaint);
  }
  if (options.shape.level < 3) options.shape.monitoring = false;  // it counts what L3 caches hold
  return options;
}

}  // namespace nrd::simnode
