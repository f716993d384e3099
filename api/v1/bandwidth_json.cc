#include "api/v1/bandwidth_json.h"

#include <string>

#include "api/rmd/texts.h"

namespace nrd::v1 {
namespace {

using json::Value;

constexpr const char* kField = "/rdt/mba";
constexpr uint64_t kMostPercent = 100;
constexpr uint64_t kMostMbps = 4294967290;  // RMD's
constexpr uint64_t kMbpsOfEighth = 125;     // an eighth of a GB/s
constexpr const char* kBothUnits = "both units";

// nullopt if absent or 0, which RMD's clients write for an unset field.
Result<std::optional<uint32_t>> parse_value(const Value& mba, const char* key, uint64_t most) {
  const Value* value = mba.find(key);
  if (!value || is_absent(*value)) return std::optional<uint32_t>();
  const std::optional<uint64_t> number = value->as_unsigned();
  if (number && *number <= most) return std::optional(static_cast<uint32_t>(*number));
  return rmd::bandwidth_out_of_range(json::pointer(kField, key), shown(*value), most);
}

}  // namespace

Result<BandwidthFields> parse_bandwidth(const Value& body, Null null) {
  constexpr std::string_view kExample = "an object such as {\"percentage\": 50} or {\"mbps\": 5000}";
  const Value* rdt = body.find("rdt");
  if (!rdt) return BandwidthFields{};
  const Value* mba = rdt->is_object() ? rdt->find("mba") : rdt;
  if (!mba) return BandwidthFields{};
  if (mba->is_null()) return BandwidthFields{.is_named = null == Null::Removes, .request = {}};
  TRY(require_object(kField, *mba, kExample));
  TRY(check_keys(*mba, kField, {"percentage", "mbps"}));
  const auto percentage = TRY(parse_value(*mba, "percentage", kMostPercent));
  const auto mbps = TRY(parse_value(*mba, "mbps", kMostMbps));
  if (percentage && mbps) {
    return Failure(Error{.code = ErrorCode::BadRequest,
                         .field = kField,
                         .message = "has both percentage and mbps",
                         .detail = {},
                         .allowed = "either percentage or mbps",
                         .subject = kBothUnits});
  }
  if (percentage) {
    return BandwidthFields{.is_named = true, .request = MbaRequest{MbaRequest::Unit::Percentage, *percentage}};
  }
  if (mbps) return BandwidthFields{.is_named = true, .request = MbaRequest{MbaRequest::Unit::Mbps, *mbps}};
  return BandwidthFields{};
}

Error naming_the_unit(const NodeState& state, Error error) {
  if (error.subject != kBothUnits) return error;
  const std::optional<rdt::MbaInfo>& mba = state.facts.rdt.capabilities.mba_info;
  error.subject = !mba ? "none" : mba->unit == rdt::MbaUnit::Percent ? "percentage" : "mbps";
  if (mba) error.allowed = error.subject;
  return error;
}

void render(json::Writer& w, const std::optional<MbaRequest>& request) {
  w.begin_object();
  if (request) {
    w.key(request->unit == MbaRequest::Unit::Percentage ? "percentage" : "mbps").number(uint64_t{request->value});
  }
  w.end_object();
}

void render(json::Writer& w, const std::map<CacheId, rdt::Bandwidth>& granted) {
  w.begin_object();
  for (const auto& [cache, limit] : granted) {
    w.key(std::to_string(cache.value)).begin_object();
    const bool is_percent = limit.unit == rdt::MbaUnit::Percent;
    const uint64_t factor = limit.unit == rdt::MbaUnit::EighthsOfGbps ? kMbpsOfEighth : 1;
    w.key(is_percent ? "percentage" : "mbps").number(factor * limit.value);
    w.end_object();
  }
  w.end_object();
}

}  // namespace nrd::v1
