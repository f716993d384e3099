#include "engine/onload/enum_names.h"

#include <array>

namespace nrd::onload {
namespace {

template <typename Enum>
struct Word {
  Enum value;
  std::string_view word;
};

template <typename Enum>
struct Words;

template <>
struct Words<State> {
  static constexpr std::array<Word<State>, 3> all = {
      {{State::Unmanaged, "unmanaged"}, {State::Unloaded, "unloaded"}, {State::Loaded, "loaded"}}};
};
template <>
struct Words<Sfc> {
  static constexpr std::array<Word<Sfc>, 2> all = {{{Sfc::External, "external"}, {Sfc::Managed, "managed"}}};
};
template <>
struct Words<UsersPolicy> {
  static constexpr std::array<Word<UsersPolicy>, 4> all = {{{UsersPolicy::Fail, "fail"},
                                                            {UsersPolicy::Wait, "wait"},
                                                            {UsersPolicy::Term, "term"},
                                                            {UsersPolicy::Kill, "kill"}}};
};
template <>
struct Words<OnFailure> {
  static constexpr std::array<Word<OnFailure>, 2> all = {
      {{OnFailure::Rollback, "rollback"}, {OnFailure::Stop, "stop"}}};
};
template <>
struct Words<Verdict> {
  static constexpr std::array<Word<Verdict>, 3> all = {
      {{Verdict::Pending, "pending"}, {Verdict::Verified, "verified"}, {Verdict::Failed, "failed"}}};
};
template <>
struct Words<Act> {
  static constexpr std::array<Word<Act>, 10> all = {{{Act::CloseDeviceAccess, "close_door"},
                                                     {Act::EndUsers, "end_users"},
                                                     {Act::StopControlPlane, "stop_control_plane"},
                                                     {Act::Remove, "remove"},
                                                     {Act::Switch, "switch"},
                                                     {Act::Insert, "insert"},
                                                     {Act::SetParameter, "set_parameter"},
                                                     {Act::Configure, "configure"},
                                                     {Act::Verify, "verify"},
                                                     {Act::OpenDeviceAccess, "open_door"}}};
};
template <>
struct Words<Progress> {
  static constexpr std::array<Word<Progress>, 4> all = {{{Progress::Running, "running"},
                                                         {Progress::Done, "done"},
                                                         {Progress::Failed, "failed"},
                                                         {Progress::Interrupted, "interrupted"}}};
};
template <>
struct Words<Outcome> {
  static constexpr std::array<Word<Outcome>, 4> all = {{{Outcome::Running, "running"},
                                                        {Outcome::Succeeded, "succeeded"},
                                                        {Outcome::RolledBack, "rolled_back"},
                                                        {Outcome::Failed, "failed"}}};
};
template <>
struct Words<OperationKind> {
  static constexpr std::array<Word<OperationKind>, 4> all = {
      {{OperationKind::Change, "change"},
       {OperationKind::Drain, "drain"},
       {OperationKind::Undrain, "undrain"},
       {OperationKind::RestartControlPlane, "restart_control_plane"}}};
};
template <>
struct Words<InterfaceSwitch> {
  static constexpr std::array<Word<InterfaceSwitch>, 2> all = {
      {{InterfaceSwitch::Acceleration, "acceleration"}, {InterfaceSwitch::Afxdp, "afxdp"}}};
};
template <>
struct Words<SwitchState> {
  static constexpr std::array<Word<SwitchState>, 2> all = {{{SwitchState::Off, "off"}, {SwitchState::On, "on"}}};
};

template <typename Enum>
std::string_view find(Enum value) {
  for (const auto& entry : Words<Enum>::all) {
    if (entry.value == value) return entry.word;
  }
  return {};
}

}  // namespace

std::string_view word_of(State state) { return find(state); }
std::string_view word_of(Sfc sfc) { return find(sfc); }
std::string_view word_of(UsersPolicy policy) { return find(policy); }
std::string_view word_of(OnFailure what) { return find(what); }
std::string_view word_of(Verdict verdict) { return find(verdict); }
std::string_view word_of(Act act) { return find(act); }
std::string_view word_of(Progress progress) { return find(progress); }
std::string_view word_of(Outcome outcome) { return find(outcome); }
std::string_view word_of(OperationKind kind) { return find(kind); }
std::string_view word_of(InterfaceSwitch what) { return find(what); }
std::string_view word_of(SwitchState turned) { return find(turned); }

template <typename Enum>
std::optional<Enum> parse(std::string_view word) {
  for (const auto& entry : Words<Enum>::all) {
    if (entry.word == word) return entry.value;
  }
  return std::nullopt;
}

template <typename Enum>
std::string all_words() {
  std::string text;
  for (const auto& entry : Words<Enum>::all) text += (text.empty() ? "" : ", ") + std::string(entry.word);
  return text;
}

template std::optional<State> parse(std::string_view);
template std::optional<Sfc> parse(std::string_view);
template std::optional<UsersPolicy> parse(std::string_view);
template std::optional<OnFailure> parse(std::string_view);
template std::optional<Verdict> parse(std::string_view);
template std::optional<Act> parse(std::string_view);
template std::optional<Progress> parse(std::string_view);
template std::optional<Outcome> parse(std::string_view);
template std::optional<OperationKind> parse(std::string_view);
template std::optional<InterfaceSwitch> parse(std::string_view);
template std::optional<SwitchState> parse(std::string_view);
template std::string all_words<State>();
template std::string all_words<Sfc>();
template std::string all_words<UsersPolicy>();
template std::string all_words<OnFailure>();

}  // namespace nrd::onload
