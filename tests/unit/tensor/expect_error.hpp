// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <doctest/doctest.h>

#include <hocket/error.hpp>
#include <string>

/// Calls `f` and checks the code and the whole text of the error it throws.
template <class F>
void expect_error(hocket::errc code, std::string const& text, F&& f) {
  try {
    f();
  } catch (hocket::error const& e) {
    CHECK(e.code() == code);
    CHECK(std::string(e.what()) == text);
    return;
  }
  FAIL_CHECK("no error, expected: ", text);
}
