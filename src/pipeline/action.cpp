// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <hocket/error.hpp>
#include <hocket/pipeline/action.hpp>
#include <utility>

namespace hocket {
namespace {

constexpr std::array<std::string_view, 9> names{"F",      "B",      "I",      "W",   "SEND_F",
                                                "RECV_F", "SEND_B", "RECV_B", "user"};
constexpr auto user_index = static_cast<std::size_t>(action_kind::user);

bool is_letter(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The kind with that name; `user` if there is none.
action_kind kind_named(std::string_view name) noexcept {
  auto const* const found = std::find(names.begin(), names.begin() + user_index, name);
  return static_cast<action_kind>(found - names.begin());
}

// At most 40 bytes of any text, printable.
std::string shown(std::string_view text) {
  constexpr std::size_t shown_max = 40;
  std::string out;
  for (char const c : text.substr(0, shown_max))
    out += c >= ' ' && c <= '~' ? std::string(1, c)
                                : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  return text.size() <= shown_max ? out : out + "...";
}

[[noreturn]] void refuse(std::string_view text, std::string_view why) {
  throw error(errc::invalid_argument, fmt::format("\"{}\" {}", shown(text), why));
}

// The number that the digits spell, all of them.
int number_of(std::string_view digits, std::string_view text, char const* what) {
  int number = 0;
  auto const [stop, failure] =
      std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (failure != std::errc())
    refuse(text, fmt::format("has a {} that does not fit into 31 bits", what));
  return number;
}

}  // namespace

std::string_view name_of(action_kind kind) noexcept {
  return names[std::min(static_cast<std::size_t>(kind), user_index)];
}

action::action(int stage, action_kind kind, int microbatch)
    : stage_(stage), kind_(kind), microbatch_(microbatch) {
  if (kind >= action_kind::user)
    throw error(errc::invalid_argument, "a user-defined action needs its name");
  if (stage < 0 || microbatch < 0)
    throw error(errc::invalid_argument,
                fmt::format("{} of stage {} and microbatch {}: neither may be negative",
                            name_of(kind), stage, microbatch));
}

action::action(int stage, std::string name, int microbatch)
    : stage_(stage), kind_(action_kind::user), microbatch_(microbatch), name_(std::move(name)) {
  if (stage < 0 || microbatch < no_microbatch)
    throw error(errc::invalid_argument,
                fmt::format("user-defined action of stage {} and microbatch {}: the first must be "
                            "at least 0, the second at least -1 (none)",
                            stage, microbatch));
  if (name_.empty() || name_.size() > name_length_max || !std::ranges::all_of(name_, is_letter))
    refuse(name_, fmt::format("is not 1 to {} letters and underscores, as the name of a "
                              "user-defined action is",
                              name_length_max));
  if (kind_named(name_) != action_kind::user)
    refuse(name_, "is the name of a known action, not of a user-defined one");
}

action action::parse(std::string_view text) {
  auto const* const begin = text.data();
  auto const* const end = begin + text.size();
  auto const* const letters = std::find_if_not(begin, end, is_digit);
  auto const* const digits = std::find_if_not(letters, end, is_letter);
  if (letters == begin) refuse(text, "does not begin with a stage; an action is written as 2F0");
  if (letters == digits) refuse(text, "has no name behind the stage; an action is written as 2F0");
  if (!std::all_of(digits, end, is_digit))
    refuse(text, fmt::format("has more than a microbatch behind the name; an action is written "
                             "as 2F0"));
  int const stage = number_of({begin, letters}, text, "stage");
  std::string_view const name(letters, digits);
  int const microbatch =
      digits == end ? no_microbatch : number_of({digits, end}, text, "microbatch");
  auto const kind = kind_named(name);
  if (kind == action_kind::user) return {stage, std::string(name), microbatch};
  if (microbatch == no_microbatch) refuse(text, fmt::format("has no microbatch behind {}", name));
  return {stage, kind, microbatch};
}

std::string_view action::name() const noexcept {
  return kind_ == action_kind::user ? std::string_view(name_) : name_of(kind_);
}

int action::peer_stage() const noexcept {
  bool const up = kind_ == action_kind::send_forward || kind_ == action_kind::recv_backward;
  return up ? stage_ + 1 : stage_ - 1;
}

std::string to_string(action const& a) {
  if (a.microbatch() == action::no_microbatch) return fmt::format("{}{}", a.stage(), a.name());
  return fmt::format("{}{}{}", a.stage(), a.name(), a.microbatch());
}

}  // namespace hocket
