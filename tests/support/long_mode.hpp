// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstdlib>

namespace hocket::test {

/// Whether the nightly tier runs: HOCKET_TEST_LONG=1.
inline bool is_long_mode() {
  char const* const wanted = std::getenv("HOCKET_TEST_LONG");
  return wanted != nullptr && *wanted == '1';
}

}  // namespace hocket::test
