// The words for what is kept and shown: one word each plan.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/onload/spec.h"

namespace nrd::onload {

// Each has an overload for every enumeration of spec.h; parse() is nullopt for a word that is none.
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
std::string_view word_of(Turned turned);

template <typename Enum>
std::optional<Enum> parse(std::string_view word);

// All of them, for a refusal: "fail, wait, term, kill".
template <typename Enum>
std::string all_words();

}  // namespace nrd::onload
