// The members of Onload's spec and of what clients ask for beside it, each listed once (base/json/fields.h): for
// requests, answers and the store.
#pragma once

#include <tuple>

#include "base/json/fields.h"
#include "engine/onload/enum_names.h"
#include "engine/onload/operation_planner.h"
#include "engine/onload/spec.h"

namespace nrd::onload {

inline constexpr json::Rules kDrainSeconds{.expected = "seconds", .most = 86400, .required = false};
inline constexpr json::Rules kNotRequired{.required = false};

}  // namespace nrd::onload

namespace nrd {

template <>
inline constexpr const char* json::kExample<onload::Spec> =
    "an object such as {\"state\": \"loaded\", \"version\": \"9.0\"}";
template <>
inline constexpr auto json::kFields<onload::Spec> = std::tuple(
    Field("state", &onload::Spec::state),
    Field("version", &onload::Spec::version, {.expected = "the name of a version", .most = 64, .unset = Unset::Null})
        .or_default(),
    Field("sfc", &onload::Spec::sfc, onload::kNotRequired),
    Field("parameters", &onload::Spec::parameters, {.expected = "an object of modules"}).or_default(),
    Field("control_plane", &onload::Spec::control_plane, {.expected = "an array of strings", .required = false}),
    Field("users_policy", &onload::Spec::users, onload::kNotRequired).stored_as("users"),
    Field("drain_seconds", &onload::Spec::drain, onload::kDrainSeconds).stored_as("drain_s"),
    Field("on_failure", &onload::Spec::on_failure, onload::kNotRequired));

template <>
inline constexpr auto json::kFields<onload::Drain> =
    std::tuple(Field("users_policy", &onload::Drain::users, onload::kNotRequired),
               Field("drain_seconds", &onload::Drain::drain, onload::kDrainSeconds));

template <>
inline constexpr const char* json::kExample<onload::Freeze> = "an object such as {\"frozen\": true}";
template <>
inline constexpr auto json::kFields<onload::Freeze> = std::tuple(
    Field("frozen", &onload::Freeze::frozen),
    Field("reason", &onload::Freeze::reason, {.expected = "a string of at most 200 bytes", .most = 200}).or_default());

}  // namespace nrd
