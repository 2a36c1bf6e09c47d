// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace hocket {

/// What a rank does in one step of a schedule. The letters are those of PyTorch's pipelining.
enum class action_kind : std::uint8_t {
  forward,          ///< F: runs the stage
  backward,         ///< B: both gradients at once; I and W are its halves
  backward_input,   ///< I: the gradient for the stage before
  backward_weight,  ///< W: the gradient of the weights; nobody waits for it
  send_forward,     ///< SEND_F: the stage's output goes to the next stage
  recv_forward,     ///< RECV_F: the stage's input comes from the stage before
  send_backward,    ///< SEND_B: the gradient of the stage's input goes to the stage before
  recv_backward,    ///< RECV_B: the gradient of the stage's output comes from the next stage
  user,             ///< a step of the application, known by its name
};

/// "F", "SEND_F"; "user" for a user-defined one.
[[nodiscard]] std::string_view name_of(action_kind kind) noexcept;

/// One step of one rank: what is done, for which stage, on which microbatch. An ordered value.
///
/// The action belongs to the stage it names, sends and receives too: `2SEND_F5` is stage 2 giving
/// its output for microbatch 5 to stage 3, which has `3RECV_F5`; `2SEND_B5` gives a gradient to
/// stage 1, which has `1RECV_B5`.
class action {
 public:
  /// For a user-defined action that concerns no single microbatch.
  static constexpr int no_microbatch = -1;
  /// Longest name of a user-defined action.
  static constexpr std::size_t name_length_max = 32;

  /// Any kind but `user`. A negative number is `errc::invalid_argument`.
  action(int stage, action_kind kind, int microbatch);
  /// A user-defined one. The name has letters and underscores, and is none of the names above; else
  /// `errc::invalid_argument`.
  action(int stage, std::string name, int microbatch = no_microbatch);
  /// Reads the text form: stage, name, microbatch, as in `2F0`, `3SEND_F1`, `1UNSHARD`. A name
  /// that is not one of the above is a user-defined action. `errc::invalid_argument` says what is
  /// wrong with the text.
  [[nodiscard]] static action parse(std::string_view text);

  [[nodiscard]] int stage() const noexcept { return stage_; }            ///< counted from 0
  [[nodiscard]] action_kind kind() const noexcept { return kind_; }      ///< what is done
  [[nodiscard]] int microbatch() const noexcept { return microbatch_; }  ///< or `no_microbatch`
  /// "F", "SEND_F", or the user's name.
  [[nodiscard]] std::string_view name() const noexcept;

  /// F, B, I or W.
  [[nodiscard]] bool is_compute() const noexcept { return kind_ <= action_kind::backward_weight; }
  /// SEND_F, RECV_F, SEND_B or RECV_B.
  [[nodiscard]] bool is_communication() const noexcept { return is_send() || is_recv(); }
  /// SEND_F or SEND_B.
  [[nodiscard]] bool is_send() const noexcept {
    return kind_ == action_kind::send_forward || kind_ == action_kind::send_backward;
  }
  /// RECV_F or RECV_B.
  [[nodiscard]] bool is_recv() const noexcept {
    return kind_ == action_kind::recv_forward || kind_ == action_kind::recv_backward;
  }
  /// The other stage of a send or receive; meaningless for other kinds.
  [[nodiscard]] int peer_stage() const noexcept;

  friend bool operator==(action const&, action const&) = default;
  friend auto operator<=>(action const&, action const&) = default;

 private:
  int stage_;
  action_kind kind_;
  int microbatch_;
  std::string name_;  // of a user-defined action
};

/// The text form, which `action::parse` reads: "2F0".
[[nodiscard]] std::string to_string(action const& a);

}  // namespace hocket
