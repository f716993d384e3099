#include "daemon/onload/parameters.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/ascii.h"
#include "daemon/onload/launch_config.h"
#include "hw/onload/trusted_dir.h"

namespace nrd::daemon {
namespace {

struct Known {
  std::string_view module;
  std::string_view name;
  friend bool operator==(const Known&, const Known&) = default;
};

constexpr auto kTuning = std::to_array<Known>({
    {"onload", "ci_log_options"},
    {"onload", "ci_tp_log"},
    {"onload", "cplane_init_timeout"},
    {"onload", "cplane_route_request_limit"},
    {"onload", "cplane_route_request_timeout_ms"},
    {"onload", "cplane_server_grace_timeout"},
    {"onload", "cplane_server_params"},  // has its own allowlist, api/v1/onload/control_plane_args.h
    {"onload", "cplane_spawn_server"},
    {"onload", "cplane_track_xdp"},
    {"onload", "cplane_use_prefsrc_as_local"},
    {"onload", "epoll_max_stacks"},
    {"onload", "max_packets_per_stack"},
    {"onload", "oo_accelerate_veth"},
    {"onload", "oo_avoid_wakeup_under_pressure"},
    {"onload", "oo_bond_peak_polls"},
    {"onload", "oo_bond_poll_peak"},
    {"onload", "oo_debug_bits"},
    {"onload", "oo_debug_code_level"},
    {"onload", "oof_all_ports_required"},
    {"onload", "oof_shared_keep_thresh"},
    {"onload", "oof_shared_steal_thresh"},
    {"onload", "oof_use_all_local_ip_addresses"},
    {"onload", "periodic_poll"},
    {"onload", "periodic_poll_skew"},
    {"onload", "timesync_period"},
    {"onload", "xdp_headroom"},
    {"sfc_resource", "enable_accel_by_default"},
    {"sfc_resource", "enable_af_xdp_flow_filters"},
    {"sfc_resource", "enable_driverlink"},
    {"sfc_resource", "force_ev_timer"},
    {"sfc_resource", "pio"},
    {"sfc", "auto_config_xps"},
    {"sfc", "interrupt_mode"},
    {"sfc", "irq_adapt_enable"},
    {"sfc", "irq_adapt_high_thresh"},
    {"sfc", "irq_adapt_irqs"},
    {"sfc", "irq_adapt_low_thresh"},
    {"sfc", "irq_set_affinity"},
    {"sfc", "lro"},
    {"sfc", "lro_chain_max"},
    {"sfc", "lro_idle_jiffies"},
    {"sfc", "lro_loss_packets"},
    {"sfc", "lro_slow_start_packets"},
    {"sfc", "lro_table_size"},
    {"sfc", "monitor_interval_ms"},
    {"sfc", "napi_weight"},
    {"sfc", "num_vis"},
    {"sfc", "performance_profile"},
    {"sfc", "phys_port_names"},
    {"sfc", "piobuf_size"},
    {"sfc", "rss_cpus"},
    {"sfc", "rss_numa_local"},
    {"sfc", "rss_use_fixed_key"},
    {"sfc", "rx_alloc_method"},
    {"sfc", "rx_buf_page_sharing"},
    {"sfc", "rx_copybreak"},
    {"sfc", "rx_irq_mod_usec"},
    {"sfc", "rx_recycle_ring_size"},
    {"sfc", "rx_refill_threshold"},
    {"sfc", "rx_ring"},
    {"sfc", "separate_tx_channels"},
    {"sfc", "tx_coalesce_doorbell"},
    {"sfc", "tx_copybreak"},
    {"sfc", "tx_irq_mod_usec"},
    {"sfc", "tx_non_csum_queue"},
    {"sfc", "tx_push_max_fill"},
    {"sfc", "tx_ring"},
    {"sfc", "underreport_skb_truesize"},
    {"sfc", "xdp_alloc_tx_resources"},
});

// The kernel runs these programs as root, so allow only files from the version's tree, which root imported.
constexpr auto kPrograms = std::to_array<Known>(
    {{"onload", "cplane_server_path"}, {"onload", "shrub_controller_path"}, {"sfc_resource", "bpf_link_helper"}});

bool is_in_tree(const std::string& value, const std::string& tree) {
  return value.starts_with(tree + "/") && value.find(' ') == std::string::npos &&
         onload::parts_of(value.substr(tree.size() + 1));
}

Result<void> check(const std::string& module, const std::string& name, const std::string& value,
                   const std::vector<AllowedParameter>& allowed, const std::string& tree) {
  const Known known{module, name};
  if (std::ranges::find(kTuning, known) != kTuning.end()) return {};
  const bool is_allowed = std::ranges::any_of(allowed, [&](const AllowedParameter& its) {
    return its.module == module && its.name == name && (!its.value || *its.value == value);
  });
  if (is_allowed) return {};
  const std::string field = "/parameters/" + module + "/" + name;
  if (std::ranges::find(kPrograms, known) == kPrograms.end()) {
    return fail_at(ErrorCode::BadRequest, field,
                   "not allowed: may grant privileges unless onload.parameters in nrd.toml lists it",
                   "tuning parameters, or those listed in onload.parameters");
  }
  if (is_in_tree(value, tree)) return {};
  return fail_at(ErrorCode::BadRequest, field, "must name a program of the installed version",
                 fmt::format("a file of the version, below {}/", tree));
}

}  // namespace

std::optional<AllowedParameter> parse_allowed_parameter(std::string_view text) {
  const size_t equals = text.find('=');
  const std::string_view full = text.substr(0, equals);
  const size_t dot = full.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  AllowedParameter allowed{std::string(full.substr(0, dot)), std::string(full.substr(dot + 1)), std::nullopt};
  if (!is_word(allowed.module, "_-") || !is_word(allowed.name, "_-")) return std::nullopt;
  if (equals != std::string_view::npos) allowed.value = text.substr(equals + 1);
  return allowed;
}

Result<void> check_parameters(const onload::Parameters& parameters, const std::vector<AllowedParameter>& allowed,
                              const std::string& tree) {
  for (const auto& [module, values] : parameters) {
    for (const auto& [name, value] : values) {
      TRY(check(module, name, value, allowed, tree));
    }
  }
  return {};
}

}  // namespace nrd::daemon
