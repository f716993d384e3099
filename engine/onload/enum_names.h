// The names of enumerators in the API and the store.
#pragma once

#include <array>
#include <utility>

#include "base/json/fields.h"
#include "engine/onload/spec.h"
#include "hw/onload/types.h"

namespace nrd {

template <>
inline constexpr auto json::kNames<onload::State> =
    std::array{std::pair{onload::State::Unmanaged, "unmanaged"}, std::pair{onload::State::Unloaded, "unloaded"},
               std::pair{onload::State::Loaded, "loaded"}};
template <>
inline constexpr auto json::kNames<onload::Sfc> =
    std::array{std::pair{onload::Sfc::External, "external"}, std::pair{onload::Sfc::Managed, "managed"}};
template <>
inline constexpr auto json::kNames<onload::UsersPolicy> =
    std::array{std::pair{onload::UsersPolicy::Fail, "fail"}, std::pair{onload::UsersPolicy::Wait, "wait"},
               std::pair{onload::UsersPolicy::Term, "term"}, std::pair{onload::UsersPolicy::Kill, "kill"}};
template <>
inline constexpr auto json::kNames<onload::OnFailure> =
    std::array{std::pair{onload::OnFailure::Rollback, "rollback"}, std::pair{onload::OnFailure::Stop, "stop"}};
template <>
inline constexpr auto json::kNames<onload::Verdict> =
    std::array{std::pair{onload::Verdict::Pending, "pending"}, std::pair{onload::Verdict::Verified, "verified"},
               std::pair{onload::Verdict::Failed, "failed"}};
template <>
inline constexpr auto json::kNames<onload::Act> =
    std::array{std::pair{onload::Act::CloseDeviceAccess, "close_device_access"},
               std::pair{onload::Act::EndUsers, "end_users"},
               std::pair{onload::Act::StopControlPlane, "stop_control_plane"},
               std::pair{onload::Act::Remove, "remove"},
               std::pair{onload::Act::Switch, "switch"},
               std::pair{onload::Act::Insert, "insert"},
               std::pair{onload::Act::SetParameter, "set_parameter"},
               std::pair{onload::Act::Configure, "configure"},
               std::pair{onload::Act::Verify, "verify"},
               std::pair{onload::Act::OpenDeviceAccess, "open_device_access"}};
template <>
inline constexpr auto json::kNames<onload::Progress> =
    std::array{std::pair{onload::Progress::Running, "running"}, std::pair{onload::Progress::Done, "done"},
               std::pair{onload::Progress::Failed, "failed"}, std::pair{onload::Progress::Interrupted, "interrupted"}};
template <>
inline constexpr auto json::kNames<onload::Outcome> =
    std::array{std::pair{onload::Outcome::Running, "running"}, std::pair{onload::Outcome::Succeeded, "succeeded"},
               std::pair{onload::Outcome::RolledBack, "rolled_back"}, std::pair{onload::Outcome::Failed, "failed"}};
template <>
inline constexpr auto json::kNames<onload::OperationKind> =
    std::array{std::pair{onload::OperationKind::Change, "change"}, std::pair{onload::OperationKind::Drain, "drain"},
               std::pair{onload::OperationKind::Undrain, "undrain"},
               std::pair{onload::OperationKind::RestartControlPlane, "restart_control_plane"}};
template <>
inline constexpr auto json::kNames<onload::InterfaceSwitch> =
    std::array{std::pair{onload::InterfaceSwitch::Acceleration, "acceleration"},
               std::pair{onload::InterfaceSwitch::Afxdp, "afxdp"}};
template <>
inline constexpr auto json::kNames<onload::SwitchState> =
    std::array{std::pair{onload::SwitchState::Off, "off"}, std::pair{onload::SwitchState::On, "on"}};

}  // namespace nrd
