// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstddef>
#include <exception>
#include <hocket/group/request.hpp>
#include <span>
#include <utility>

namespace hocket::matching {

/// What one member gets in a collective whose members have all come and agree; `parts` in group
/// order. Of a call of another process `in` (or the attachments) is what it gives this member.
void fill(request& to, std::span<request* const> parts);
/// Carries out a collective of one process whose members have all come and agree: `parts` in group
/// order. Throws what allocation throws, and errc::mismatch for what only all parts together tell.
void transfer(std::span<request* const> parts);
/// Carries out a matched pair of messages.
void transfer(request& send, request& recv);

/// A part with the dimensions of the whole: [k] beside [n, k] becomes [1, k].
[[nodiscard]] tensor part_like(tensor const& part, tensor const& whole, split_plan const& plan,
                               int r);

/// About how many bytes `transfer` will copy: small ones are moved by whoever completes the match.
[[nodiscard]] std::size_t bytes_of(std::span<request* const> parts);

/// The failure that an exception of `transfer` means for every part.
[[nodiscard]] detail::failure failure_of(request const& r, std::exception_ptr const& e);

template <class F>
[[nodiscard]] detail::failure outcome_of(request const& r, F&& act) noexcept {
  try {
    std::forward<F>(act)();
  } catch (...) {
    return failure_of(r, std::current_exception());
  }
  return {};
}

}  // namespace hocket::matching
