// The names of enumerators in the API and the store.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/onload/spec.h"

namespace nrd::onload {

// One overload per enumeration of spec.h; parse() returns nullopt for an unknown name.
std::string_view word_of(State state);
std::string_view word_of(Sfc sfc);
std::string_view word_of(UsersPolicy policy);
std::string_view word_of(OnFailure what);
std::string_view word_of(Verdict verdict);
std::string_view word_of(Act act);
std::string_view word_of(Progress progress);
std::string_view word_of(Outcome outcome);
std::string_view word_of(OperationKind kind);
std::string_view word_of(InterfaceSwitch what);
std::string_view word_of(SwitchState turned);

template <typename Enum>
std::optional<Enum> parse(std::string_view word);

// All names, for error messages: "fail, wait, term, kill".
template <typename Enum>
std::string all_words();

}  // namespace nrd::onload
