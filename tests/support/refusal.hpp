// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <hocket/error.hpp>
#include <string>

namespace hocket::test {

/// The story of the `errc::invalid_argument` (or other code) that a call throws; a note of what
/// happened instead if it does not.
template <class Call>
std::string refusal(Call&& call, errc code = errc::invalid_argument) {
  try {
    static_cast<void>(call());
  } catch (error const& e) {
    if (e.code() == code) return e.what();
    return "(another code: " + e.code().message() + ") " + e.what();
  }
  return "(accepted)";
}

inline bool is_refused(std::string const& story) { return !story.empty() && story[0] != '('; }

}  // namespace hocket::test
